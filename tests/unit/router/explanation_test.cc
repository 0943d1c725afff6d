#include "router/explanation.h"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace exa::router;

BOOST_AUTO_TEST_SUITE(explanation)

BOOST_AUTO_TEST_CASE(every_word_of_an_explanation_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(PositionSource::client_id); ++i)
        names.insert(to_string(static_cast<PositionSource>(i)));
    for (int i = 0; i <= static_cast<int>(Reason::last_resort); ++i) names.insert(to_string(static_cast<Reason>(i)));
    for (int i = 0; i <= static_cast<int>(Eligibility::breaker_open); ++i)
        names.insert(to_string(static_cast<Eligibility>(i)));
    BOOST_TEST(names.size() == 3u + 7u + 9u);
    BOOST_TEST(names.count("unknown") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
