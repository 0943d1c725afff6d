#include "gateway/receiver.h"

#include <boost/test/unit_test.hpp>

#include "engine/errc.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(gateway_receiver)

using namespace exa;
using wire::EndCode;
using wire::ReplicaState;

namespace {

wire::ReplicaRecord record() {
    wire::ReplicaRecord record;
    record.model = "m";
    record.version = "2";
    return record;
}

wire::Open open_for(std::string model) {
    wire::Open open;
    open.model = std::move(model);
    return open;
}

}  // namespace

BOOST_AUTO_TEST_CASE(model_version_and_tenant_are_checked_again) {
    wire::ReplicaRecord replica = record();
    BOOST_TEST(!gateway::check(open_for("m"), &replica, ReplicaState::ready).has_value());
    BOOST_TEST(gateway::check(open_for("other"), &replica, ReplicaState::ready) == EndCode::wrong_version);
    wire::Open open = open_for("m");
    open.version = "1";
    BOOST_TEST(gateway::check(open, &replica, ReplicaState::ready) == EndCode::wrong_version);
    open.version = "2";
    BOOST_TEST(!gateway::check(open, &replica, ReplicaState::ready).has_value());
    replica.tenant_pool = "acme";
    BOOST_TEST(gateway::check(open, &replica, ReplicaState::ready) == EndCode::wrong_version);
    open.tenant = "acme";
    BOOST_TEST(!gateway::check(open, &replica, ReplicaState::ready).has_value());
}

BOOST_AUTO_TEST_CASE(only_replicas_that_serve_are_asked) {
    const wire::ReplicaRecord replica = record();
    const auto of = [&](ReplicaState state) { return gateway::check(open_for("m"), &replica, state); };
    BOOST_TEST(of(ReplicaState::draining) == EndCode::draining);
    BOOST_TEST(of(ReplicaState::stopped) == EndCode::draining);
    for (const ReplicaState state : {ReplicaState::created, ReplicaState::loading, ReplicaState::failed})
        BOOST_TEST(of(state) == EndCode::not_found);
    for (const ReplicaState state : {ReplicaState::ready, ReplicaState::degraded, ReplicaState::warming})
        BOOST_TEST(!of(state).has_value());
    BOOST_TEST(gateway::check(open_for("m"), nullptr, ReplicaState::ready) == EndCode::not_found);
}

BOOST_AUTO_TEST_CASE(a_refusal_says_why) {
    const auto code = [](engine::errc why) { return gateway::refusal(error(why, "x"), {}).code; };
    BOOST_TEST(code(engine::errc::busy) == EndCode::busy);
    BOOST_TEST(code(engine::errc::deadline) == EndCode::deadline);
    BOOST_TEST(code(engine::errc::prompt_too_long) == EndCode::too_long);
}

BOOST_AUTO_TEST_SUITE_END()
