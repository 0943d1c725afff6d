#include "sim/checks/fingerprint.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::sim;
using membership::Liveness;

namespace {

const Belief held{PeerId{5}, Generation{3}, Incarnation{2}, Liveness::suspect, 7, 1, false};

// Whether it goes back from `held` to what `change` makes of it.
template <class Change>
bool back(Change change) {
    Belief after = held;
    change(after);
    return goes_back({held}, {after}) == PeerId{5};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fingerprints)

BOOST_AUTO_TEST_CASE(less_of_anything_goes_back) {
    BOOST_TEST(back([](Belief& belief) { belief.generation = Generation{2}; }));
    BOOST_TEST(back([](Belief& belief) { belief.incarnation = Incarnation{1}; }));
    BOOST_TEST(back([](Belief& belief) { belief.liveness = Liveness::alive; }));
    BOOST_TEST(back([](Belief& belief) { belief.version = 6; }));
    BOOST_TEST(back([](Belief& belief) { belief.life = 2; }));
    BOOST_TEST(goes_back({held}, {}) == PeerId{5});
}

BOOST_AUTO_TEST_CASE(more_of_anything_does_not) {
    BOOST_TEST(!back([](Belief&) {}));
    BOOST_TEST(!back([](Belief& belief) { belief.liveness = Liveness::dead; }));
    BOOST_TEST(!back([](Belief& belief) { belief.version = 8; }));
    // A refutation ends a suspicion, and a new life begins with its first version.
    BOOST_TEST(!back([](Belief& belief) {
        belief.incarnation = Incarnation{3};
        belief.liveness = Liveness::alive;
    }));
    BOOST_TEST(!back([](Belief& belief) { belief = {PeerId{5}, Generation{4}, {}, Liveness::alive, 1, 9, false}; }));
}

BOOST_AUTO_TEST_CASE(who_is_new_is_no_progress) {
    Belief other = held;
    other.peer = PeerId{6};
    BOOST_TEST(goes_back({held}, {held, other}) == PeerId{6});
}

BOOST_AUTO_TEST_SUITE_END()
