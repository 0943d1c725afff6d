#include "model/errc.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "base/result.h"

BOOST_AUTO_TEST_SUITE(errc)

BOOST_AUTO_TEST_CASE(every_code_has_a_message_of_its_own) {
    std::set<std::string> messages;
    for (int code = 1; code <= static_cast<int>(exa::model::errc::message_invalid); ++code)
        messages.insert(make_error_code(static_cast<exa::model::errc>(code)).message());
    BOOST_TEST(messages.size() == static_cast<std::size_t>(exa::model::errc::message_invalid));
    for (const std::string& message : messages) BOOST_TEST(message.find("unknown") == std::string::npos, message);
}

BOOST_AUTO_TEST_CASE(an_error_shows_its_detail_before_its_message) {
    const exa::Error found = exa::error(exa::model::errc::gguf_truncated, "offset 0x10: tensor 'x'");
    BOOST_TEST(found.message() == "offset 0x10: tensor 'x': the GGUF file is truncated");
}

BOOST_AUTO_TEST_SUITE_END()
