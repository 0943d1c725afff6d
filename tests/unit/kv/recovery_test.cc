#include "kv/recovery.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct Fixture {
    explicit Fixture(RecoveryConfig config = {}) : recovery(self, config) {}

    // A key that `self` owns, the n-th one.
    SegmentKey own(std::uint64_t n) const {
        for (std::uint64_t number = 0;; ++number)
            if (placement->owns(self, key(number)) && n-- == 0) return key(number);
    }
    std::vector<Recovery::Asks> ask() { return recovery.handle_timeout(now, holdings, *placement); }

    const PeerId self{3};
    std::shared_ptr<const Placement> placement = placement_of(6, {5});
    MapHoldings holdings;
    TimePoint now{seconds{100}};
    Recovery recovery;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(recovery)

BOOST_AUTO_TEST_CASE(owners_are_asked_first_and_then_everybody_in_reach) {
    Fixture f;
    f.recovery.handle_lost(f.now, f.own(0));
    BOOST_TEST(f.recovery.next_timeout() == f.now);
    const auto owners = f.placement->owners(f.own(0));
    const auto first = f.ask();
    for (const Recovery::Asks& asks : first) BOOST_TEST(std::ranges::find(owners, asks.to) != owners.end());
    for (const Recovery::Asks& asks : first) {
        BOOST_TEST(asks.to != f.self);
        BOOST_TEST(asks.to != PeerId{5});
    }
    BOOST_TEST(f.recovery.next_timeout() == f.now + seconds{1});
    f.now += seconds{1};
    const auto second = f.ask();
    std::vector<std::uint64_t> asked;
    for (const Recovery::Asks& asks : second) asked.push_back(asks.to.value);
    BOOST_TEST(asked == (std::vector<std::uint64_t>{1, 2, 4, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_asks_at_longer_intervals_and_gives_up) {
    Fixture f;
    f.recovery.handle_lost(f.now, f.own(0));
    const TimePoint start = f.now;
    std::size_t tries = 0;
    while (f.recovery.next_timeout() != time_never) {
        f.now = f.recovery.next_timeout();
        tries += f.ask().empty() ? 0 : 1;
    }
    BOOST_TEST(tries >= 10U);
    BOOST_TEST(f.now - start > std::chrono::minutes{15});
    BOOST_TEST(f.now - start < std::chrono::minutes{40});
    BOOST_TEST(f.recovery.waiting() == 0U);
    BOOST_TEST(f.recovery.recovered() == 0U);
}

BOOST_AUTO_TEST_CASE(restored_or_disowned_keys_are_not_asked_for) {
    Fixture f;
    f.recovery.handle_lost(f.now, f.own(0));
    f.recovery.handle_lost(f.now, f.own(1));
    f.holdings.put({f.own(1), 0, 100});
    std::uint64_t foreign = 0;
    while (f.placement->owns(f.self, key(foreign))) ++foreign;
    f.recovery.handle_lost(f.now, key(foreign));
    f.recovery.handle_stored(f.own(0));
    BOOST_TEST(f.ask().empty());
    BOOST_TEST(f.recovery.waiting() == 0U);
    BOOST_TEST(f.recovery.recovered() == 1U);
    BOOST_TEST(f.recovery.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(an_empty_disk_costs_bounded_questions_one_at_a_time) {
    Fixture f({.keys_max = 1500});
    for (std::uint64_t n = 0; n < 4000; ++n)
        if (f.placement->owns(f.self, key(n))) f.recovery.handle_lost(f.now, key(n));
    BOOST_TEST(f.recovery.waiting() <= 1500U);
    std::size_t asked = 0;
    for (TimePoint until = f.now + milliseconds{900}; f.recovery.next_timeout() < until;) {
        const TimePoint last = f.now;
        f.now = f.recovery.next_timeout();
        if (asked > 0) BOOST_TEST(f.now - last >= milliseconds{100});
        for (const Recovery::Asks& asks : f.ask()) {
            BOOST_TEST(asks.keys.size() <= question_items_max);
            asked += asks.keys.size();
        }
    }
    // One other owner each, of which one in five is out of reach.
    BOOST_TEST(asked > 900U);
    BOOST_TEST(asked <= 1500U);
}

BOOST_AUTO_TEST_SUITE_END()
