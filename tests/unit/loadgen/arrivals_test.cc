#include "loadgen/arrivals.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};

std::vector<double> gaps_us(Arrivals& arrivals, int count) {
    std::vector<double> gaps;
    TimePoint last = arrivals.peek()->due;
    for (int i = 0; i < count; ++i) {
        arrivals.pop();
        const TimePoint due = arrivals.peek()->due;
        gaps.push_back(static_cast<double>((due - last).count()));
        last = due;
    }
    return gaps;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(arrivals)

BOOST_AUTO_TEST_CASE(fixed_ones_come_at_equal_times_even_when_a_microsecond_does_not_divide_them) {
    Arrivals arrivals(ArrivalKind::fixed, 30'000, start, 1);
    const TimePoint first = arrivals.peek()->due;
    BOOST_TEST(first >= start);
    BOOST_TEST(first <= start + 34us);
    for (int i = 0; i < 30'000; ++i) arrivals.pop();
    BOOST_TEST(std::abs(((arrivals.peek()->due - first) - 1s).count()) <= 1);
}

BOOST_AUTO_TEST_CASE(poisson_gaps_have_the_mean_and_the_spread_of_an_exponential) {
    Arrivals arrivals(ArrivalKind::poisson, 100, start, 7);
    const auto gaps = gaps_us(arrivals, 50'000);
    double sum = 0;
    double squares = 0;
    for (const double gap : gaps) {
        sum += gap;
        squares += gap * gap;
    }
    const double mean = sum / static_cast<double>(gaps.size());
    const double deviation = std::sqrt(squares / static_cast<double>(gaps.size()) - mean * mean);
    BOOST_TEST(mean == 10'000, boost::test_tools::tolerance(0.03));
    BOOST_TEST(deviation == 10'000, boost::test_tools::tolerance(0.03));
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_arrivals) {
    Arrivals a(ArrivalKind::poisson, 10, start, 3);
    Arrivals b(ArrivalKind::poisson, 10, start, 3);
    Arrivals c(ArrivalKind::poisson, 10, start, 4);
    BOOST_TEST(gaps_us(a, 20) == gaps_us(b, 20));
    BOOST_TEST(a.peek()->due != c.peek()->due);
}

BOOST_AUTO_TEST_CASE(a_new_rate_counts_from_its_moment_on_and_forgets_no_arrival_that_was_due) {
    Arrivals arrivals(ArrivalKind::fixed, 1, start, 1);
    const TimePoint first = arrivals.peek()->due;
    arrivals.pop();
    const TimePoint now = first + 500ms;
    arrivals.set_rate(1000, now);
    BOOST_TEST((arrivals.peek()->due - now) == 500us);
    const TimePoint due = arrivals.peek()->due;
    arrivals.set_rate(1, due + 1s);
    BOOST_TEST(arrivals.peek()->due == due);
}

BOOST_AUTO_TEST_CASE(a_trace_is_played_at_its_speed_and_shared_by_threads) {
    std::vector<TraceRow> rows;
    for (std::uint32_t i = 0; i < 5; ++i) rows.push_back({i * 10s, {i, i + 1}});
    std::vector<std::uint32_t> seen;
    for (std::size_t thread = 0; thread < 2; ++thread) {
        Arrivals arrivals(rows, thread, 2, 2, start);
        for (; arrivals.peek(); arrivals.pop()) {
            const auto arrival = *arrivals.peek();
            seen.push_back(arrival.lengths->prompt_tokens);
            BOOST_TEST(arrival.due == start + arrival.lengths->prompt_tokens * 5s);
        }
    }
    BOOST_TEST(seen == (std::vector<std::uint32_t>{0, 2, 4, 1, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
