#include "kv/fetch_cost.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr TimePoint now{seconds{100}};
constexpr std::uint64_t mb = 1'000'000;

// Ten milliseconds a segment of a megabyte, four readers.
FetchCost measured() {
    FetchCost cost(4);
    cost.handle_read(mb, milliseconds{10});
    return cost;
}

FetchTerms terms(Duration compute, Duration left = seconds{1000}) {
    return {now + left, compute};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fetch_cost)

BOOST_AUTO_TEST_CASE(everything_is_read_until_a_rate_is_known) {
    FetchCost cost(4);
    BOOST_TEST(!cost.bytes_per_second().has_value());
    BOOST_TEST(cost.worth(now, terms(milliseconds{1}), 12, mb, 1000 * mb) == 12U);
    cost.handle_read(0, seconds{1});
    BOOST_TEST(!cost.bytes_per_second().has_value());
}

BOOST_AUTO_TEST_CASE(the_rate_is_that_of_all_readers_and_follows_what_is_measured) {
    FetchCost cost = measured();
    BOOST_TEST(*cost.bytes_per_second() == 400e6, boost::test_tools::tolerance(1e-9));
    for (int i = 0; i < 100; ++i) cost.handle_read(mb, milliseconds{40});
    BOOST_TEST(*cost.bytes_per_second() == 100e6, boost::test_tools::tolerance(1e-3));
}

BOOST_AUTO_TEST_CASE(segments_cheaper_to_compute_are_declined) {
    FetchCost cost = measured();
    // A read of several takes a quarter of its own time each.
    BOOST_TEST(cost.worth(now, terms(milliseconds{11}), 8, mb, 0) == 8U);
    BOOST_TEST(cost.worth(now, terms(milliseconds{3}), 8, mb, 0) == 8U);
    BOOST_TEST(cost.worth(now, terms(milliseconds{2}), 8, mb, 0) == 0U);
    BOOST_TEST(cost.worth(now, {now + seconds{9}, {}}, 8, mb, 0) == 8U);
}

BOOST_AUTO_TEST_CASE(bytes_ahead_in_the_queue_count) {
    FetchCost cost = measured();
    // A second of a queue: worth it for many, not for few.
    BOOST_TEST(cost.worth(now, terms(milliseconds{100}), 4, mb, 400 * mb) == 0U);
    BOOST_TEST(cost.worth(now, terms(milliseconds{100}), 40, mb, 400 * mb) == 40U);
}

BOOST_AUTO_TEST_CASE(only_segments_that_arrive_before_the_deadline_are_read) {
    FetchCost cost = measured();
    BOOST_TEST(cost.worth(now, terms(seconds{1}, milliseconds{101}), 100, mb, 0) == 40U);
    BOOST_TEST(cost.worth(now, terms(seconds{1}, milliseconds{5}), 100, mb, 0) == 0U);
    BOOST_TEST(cost.worth(now, terms(seconds{1}, milliseconds{-5}), 100, mb, 0) == 0U);
}

BOOST_AUTO_TEST_CASE(one_in_many_declined_questions_is_granted) {
    FetchCost cost = measured();
    std::size_t tried = 0;
    for (std::uint32_t i = 0; i < 10 * FetchCost::try_anyway; ++i) tried += cost.worth(now, terms({}), 5, mb, 0);
    BOOST_TEST(tried == 10U);
}

BOOST_AUTO_TEST_SUITE_END()
