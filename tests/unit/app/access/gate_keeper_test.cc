#include "app/access/gate_keeper.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "io/crypto/openssl_crypto.h"
#include "scratch.h"

using namespace exa;
using namespace exa::app;

namespace {

const io::OpenSslCrypto crypto;
const io::SystemClock system_clock;
const Caller acme{"acme"};

ApiKeyFile sample() {
    ApiKeyFile file;
    file.tenants = {{"acme", {}, {}, {}}};
    file.tenants[0].limits.tokens_per_day = 100;
    return file;
}

struct Fixture : exa::test::Scratch {
    // One life of a peer: its gate, which `live` uses.
    template <class Live>
    void life(Live live) {
        KeyGate gate(crypto, system_clock, "", sample());
        const GateKeeper keeper(ApiKeyWatch(path / "none"), gate, *directory, log);
        live(gate);
    }

    std::optional<DataDir> directory = DataDir::open(path, PeerId{1}).value();
    NullLog log;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gate_keeper, Fixture)

BOOST_AUTO_TEST_CASE(a_restart_brings_no_new_quota) {
    life([](KeyGate& gate) {
        BOOST_TEST(gate.admit(acme, "m", 10).has_value());
        gate.spend("acme", 50);
    });
    life([](KeyGate& gate) {
        BOOST_TEST(gate.use().at(0).use.tokens == 60U);
        gate.spend("acme", 40);
        BOOST_TEST(gate.admit(acme, "m", 1).error().status == 429);
    });
    life([](KeyGate& gate) { BOOST_TEST(gate.admit(acme, "m", 1).error().status == 429); });
}

BOOST_AUTO_TEST_CASE(damaged_use_stops_nothing) {
    BOOST_TEST(directory->replace("tenant-use", "acme").has_value());
    life([](KeyGate& gate) { BOOST_TEST(gate.admit(acme, "m", 10).has_value()); });
    life([](KeyGate& gate) { BOOST_TEST(gate.use().at(0).use.tokens == 10U); });
}

BOOST_AUTO_TEST_SUITE_END()
