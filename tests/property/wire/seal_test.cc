// The replay window against a plain set of what was taken.
#include "wire/seal.h"

#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <set>

using exa::wire::ReplayWindow;

BOOST_AUTO_TEST_SUITE(seal_property)

BOOST_AUTO_TEST_CASE(the_window_knows_exactly_what_a_set_would) {
    const bool held = rc::check([] {
        ReplayWindow window;
        std::set<std::uint64_t> taken;
        std::uint64_t last = 0;
        const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1100, 1200));
        for (const int step : steps) {
            const std::uint64_t counter =
                step < 0 && last < static_cast<std::uint64_t>(-step) ? 0 : last + static_cast<std::uint64_t>(step);
            const bool too_old = last >= ReplayWindow::window && counter <= last - ReplayWindow::window;
            const bool fresh = counter != 0 && !too_old && !taken.contains(counter);
            RC_ASSERT(window.is_fresh(counter) == fresh);
            if (!fresh) continue;
            window.take(counter);
            taken.insert(counter);
            last = std::max(last, counter);
        }
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
