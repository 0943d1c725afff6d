#include "openai/field_table.h"

#include <boost/test/unit_test.hpp>

#include "openai/json.h"
#include "support/print.h"

namespace {

namespace openai = exa::openai;
using openai::Endpoint;
using openai::Neutral;
using openai::Range;
using openai::Treatment;

}  // namespace

BOOST_AUTO_TEST_SUITE(field_table)

BOOST_AUTO_TEST_CASE(a_field_is_found_by_name_and_endpoint) {
    BOOST_TEST((openai::find_field("echo", Endpoint::completions)->treatment == Treatment::honoured));
    BOOST_TEST((openai::find_field("echo", Endpoint::chat)->treatment == Treatment::refused));
    BOOST_TEST(openai::find_field("echo", Endpoint::embeddings) == nullptr);
    BOOST_TEST(openai::find_field("made_up", Endpoint::chat) == nullptr);
    BOOST_TEST(openai::range_of("temperature").max == 2.0);
}

BOOST_AUTO_TEST_CASE(a_range_may_begin_above_its_least) {
    const Range closed{0, 2};
    BOOST_TEST(closed.holds(0));
    BOOST_TEST(!closed.holds(2.01));
    BOOST_TEST(to_string(closed) == "from 0 to 2");
    const Range open{0, 10, true};
    BOOST_TEST(!open.holds(0));
    BOOST_TEST(open.holds(10));
    BOOST_TEST(to_string(open) == "above 0 and at most 10");
    BOOST_TEST(to_string(Range{1, 2147483647}) == "from 1 to 2147483647");
    BOOST_TEST(to_string(Range{}) == "");
}

BOOST_AUTO_TEST_CASE(what_asks_for_nothing_can_be_told) {
    BOOST_TEST(to_string(Neutral{}) == "");
    BOOST_TEST(to_string(Neutral{.number = -1}) == "-1");
    BOOST_TEST(to_string(Neutral{.texts = "none|auto"}) == "none or auto");
    BOOST_TEST(to_string(Neutral{.beside = "tool_choice"}) == "any value beside `tool_choice`: \"none\"");
}

BOOST_AUTO_TEST_CASE(the_path_of_what_is_refused_leads_through_its_object) {
    const auto value = openai::parse_object(R"({"tool_calls":[{}]})", 1024).value();
    const auto refused = refuse_unsupported(openai::Fields(value.get_object(), "messages[3]"), Endpoint::messages);
    BOOST_TEST(refused.error().param.value() == "messages[3].tool_calls");
}

BOOST_AUTO_TEST_SUITE_END()
