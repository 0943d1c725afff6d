#include "app/shared/shared_view.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::shared;

BOOST_AUTO_TEST_SUITE(shared_view)

BOOST_AUTO_TEST_CASE(threads_get_a_view_whose_rings_are_drawn) {
    router::test::Cluster cluster(3);
    ControlView next;
    next.routing = cluster.routing_view();
    BOOST_TEST_REQUIRE(!next.routing->pools().front().ring->is_drawn());
    SharedView view;
    view.store(std::make_shared<const ControlView>(next));
    BOOST_TEST(view.load()->routing->pools().front().ring->is_drawn());
}

BOOST_AUTO_TEST_CASE(a_view_without_a_routing_view_is_stored_all_the_same) {
    SharedView view;
    view.store(std::make_shared<const ControlView>());
    BOOST_TEST(view.load()->routing == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
