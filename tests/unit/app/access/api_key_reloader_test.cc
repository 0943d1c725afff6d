#include "app/access/api_key_reloader.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "io/crypto/openssl_crypto.h"
#include "scratch.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;
using namespace exa::app::shared;

namespace {

const io::crypto::OpenSslCrypto crypto;
const io::clock::SystemClock system_clock;
const Caller acme{"acme"};

ApiKeyFile sample() {
    ApiKeyFile file;
    file.tenants = {{"acme", {}, {}, {}}};
    file.tenants[0].limits.tokens_per_day = 100;
    return file;
}

struct Fixture : exa::test::Scratch {
    // One life of a peer: its authorizer, which `live` uses.
    template <class Live>
    void life(Live live) {
        ApiKeyAuthorizer authorizer(crypto, system_clock, "", sample());
        const ApiKeyReloader reloader(ApiKeyWatch(path / "none"), authorizer, *directory, log);
        live(authorizer);
    }

    std::optional<DataDir> directory = DataDir::open(path, PeerId{1}).value();
    NullLog log;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(api_key_reloader, Fixture)

BOOST_AUTO_TEST_CASE(a_restart_brings_no_new_quota) {
    life([](ApiKeyAuthorizer& authorizer) {
        BOOST_TEST(authorizer.admit(acme, "m", 10).has_value());
        authorizer.spend("acme", 50);
    });
    life([](ApiKeyAuthorizer& authorizer) {
        BOOST_TEST(authorizer.use().at(0).use.tokens == 60U);
        authorizer.spend("acme", 40);
        BOOST_TEST(authorizer.admit(acme, "m", 1).error().status == 429);
    });
    life([](ApiKeyAuthorizer& authorizer) { BOOST_TEST(authorizer.admit(acme, "m", 1).error().status == 429); });
}

BOOST_AUTO_TEST_CASE(damaged_use_stops_nothing) {
    BOOST_TEST(directory->replace("tenant-use", "acme").has_value());
    life([](ApiKeyAuthorizer& authorizer) { BOOST_TEST(authorizer.admit(acme, "m", 10).has_value()); });
    life([](ApiKeyAuthorizer& authorizer) { BOOST_TEST(authorizer.use().at(0).use.tokens == 10U); });
}

BOOST_AUTO_TEST_SUITE_END()
