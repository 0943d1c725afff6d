#include "app/attach_replicas.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "app/attach/backend.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(attach_replicas)

using namespace exa;
using namespace exa::app;
using namespace exa::app::attach;
using namespace exa::app::config;
using namespace exa::app::replica;

namespace {

NullLog log;

PeerConfig attach_config() {
    PeerConfig config;
    config.model.engine = EngineKind::attach;
    config.model.name = "m";
    config.attach.urls = {"http://a:1", "http://b:2"};
    config.model.in_flight_limit = 5;
    return config;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_server_is_a_replica_that_is_not_ready_and_declares_no_numerics) {
    const auto replicas = make_attached_replicas(attach_config(), PeerId{7}, log);
    BOOST_TEST_REQUIRE(replicas.has_value());
    BOOST_TEST_REQUIRE(replicas.value().size() == 2U);
    for (std::uint16_t slot = 0; slot < 2; ++slot) {
        const LocalReplica& replica = *replicas.value()[slot];
        BOOST_TEST(replica.record.id.slot == slot);
        BOOST_TEST(replica.record.model == "m");
        BOOST_TEST(replica.record.numerics == "");
        BOOST_TEST(replica.record.in_flight_limit == 5U);
        BOOST_TEST(replica.state.load() == wire::ReplicaState::warming);
    }
}

BOOST_AUTO_TEST_CASE(one_server_named_twice_is_one_replica) {
    PeerConfig config = attach_config();
    config.attach.urls = {"http://a:1", "http://A:1/", "http://b:1", "http://a:1/prefix"};
    const auto replicas = make_attached_replicas(config, PeerId{7}, log);
    BOOST_TEST_REQUIRE(replicas.has_value());
    BOOST_TEST(replicas.value().size() == 3U);
    for (std::uint16_t slot = 0; slot < replicas.value().size(); ++slot)
        BOOST_TEST(replicas.value()[slot]->record.id.slot == slot);
}

BOOST_AUTO_TEST_CASE(the_servers_key_is_one_line_of_a_file) {
    PeerConfig config = attach_config();
    config.attach.api_key_file = std::tmpnam(nullptr);
    const auto key_of = [&](const std::string& text) -> std::string {
        std::ofstream(config.attach.api_key_file) << text;
        const auto replicas = make_attached_replicas(config, PeerId{7}, log);
        if (!replicas) return "refused";
        return dynamic_cast<const AttachBackend&>(*replicas.value()[0]->backend).server().api_key;
    };
    BOOST_TEST(key_of("sk-1\n") == "sk-1");
    BOOST_TEST(key_of("sk-1\r\n") == "sk-1");
    BOOST_TEST(key_of("") == "refused");
    BOOST_TEST(key_of("two\nlines\n") == "refused");
    std::remove(config.attach.api_key_file.c_str());
    BOOST_TEST(!make_attached_replicas(config, PeerId{7}, log).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
