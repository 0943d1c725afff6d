#include "exaserve/api_keys.h"

#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "app/access/api_key_file.h"
#include "app/shared/text_file.h"
#include "exaserve/exit_code.h"
#include "io/crypto/openssl_crypto.h"
#include "scratch.h"

using namespace exa;
using namespace exa::cli;

namespace {

struct Scratch : exa::test::Scratch {
    ApiKeysOptions options(ApiKeysAction action) const {
        ApiKeysOptions options;
        options.action = action;
        options.file = file_path;
        return options;
    }
    std::string text() const {
        return app::shared::read_text_file(file_path, app::access::api_key_file_bytes_max).value();
    }
    app::access::ApiKeyFile file() const { return app::access::parse_api_key_file(text()).value(); }

    const std::string file_path = path / "keys";
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cli_api_keys, Scratch)

BOOST_AUTO_TEST_CASE(a_made_key_is_printed_and_the_file_knows_it_by_its_hash_only) {
    ApiKeysOptions create = options(ApiKeysAction::create);
    create.tenant = "acme";
    const std::string printed = ask(create, Style::plain).value();
    BOOST_TEST_REQUIRE(printed.ends_with('\n'));
    const auto key = app::access::parse_api_key(printed.substr(0, printed.size() - 1));
    BOOST_TEST_REQUIRE(key.has_value());
    BOOST_TEST_REQUIRE(file().keys.size() == 1U);
    BOOST_TEST(file().keys[0].tenant == "acme");
    BOOST_TEST(app::access::matches(io::crypto::OpenSslCrypto(), file().keys[0].hash, *key));
    BOOST_TEST(text().find(to_hex(key->secret)) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_the_operator_wrote_stays_through_create_and_revoke) {
    const std::string before = "# ours\n[tenants.acme]\nrequests_per_minute = 5  # few\n";
    std::ofstream(file_path) << before;
    ApiKeysOptions create = options(ApiKeysAction::create);
    create.tenant = "acme";
    create.target.json = true;
    const auto made = boost::json::parse(ask(create, Style::plain).value());
    BOOST_TEST(text().starts_with(before));
    ApiKeysOptions revoke = options(ApiKeysAction::revoke);
    revoke.id = made.at("id").as_string();
    BOOST_TEST(ask(revoke, Style::plain).has_value());
    BOOST_TEST(text().starts_with(before));
    BOOST_TEST(file().keys.empty());
    BOOST_TEST(file().tenants.at(0).limits.requests_per_minute == 5U);
}

BOOST_AUTO_TEST_CASE(the_list_shows_ids_and_limits_and_no_hash) {
    std::ofstream(file_path) << "[tenants.acme]\nmodels = ['m']\ntokens_per_day = 77\npriority = 'low'\n";
    ApiKeysOptions create = options(ApiKeysAction::create);
    create.admin = true;
    BOOST_TEST(ask(create, Style::plain).has_value());
    ApiKeysOptions list = options(ApiKeysAction::list);
    const std::string shown = ask(list, Style::plain).value();
    for (const std::string& part : {to_string(file().keys.at(0).id), std::string("acme"), std::string("77")})
        BOOST_TEST(shown.find(part) != std::string::npos, part);
    BOOST_TEST(shown.find("sha256") == std::string::npos);
    list.target.json = true;
    const auto json = boost::json::parse(ask(list, Style::plain).value());
    BOOST_TEST(json.at("tenants").at(0).at("tokens_per_day").as_int64() == 77);
    BOOST_TEST(json.at("tenants").at(0).at("tokens_per_minute").is_null());
    BOOST_TEST(json.at("keys").at(0).at("admin").as_bool());
}

BOOST_AUTO_TEST_CASE(wrong_usage_changes_nothing) {
    BOOST_TEST(ask(options(ApiKeysAction::list), Style::plain).error().exit_code == exit_usage);  // there is no file
    BOOST_TEST(ask(options(ApiKeysAction::create), Style::plain).error().exit_code == exit_usage);
    ApiKeysOptions bad_name = options(ApiKeysAction::create);
    bad_name.tenant = "a b";
    BOOST_TEST(ask(bad_name, Style::plain).error().exit_code == exit_usage);
    BOOST_TEST(ask(bad_name, Style::plain).error().message ==
               "--tenant: 'a b' is no name of a tenant, which is 1 to 63 letters, digits, '-', '_' or '.'");
    ApiKeysOptions revoke = options(ApiKeysAction::revoke);
    revoke.id = "0000000a";
    BOOST_TEST(ask(revoke, Style::plain).error().exit_code == exit_usage);
    BOOST_TEST(!std::filesystem::exists(file_path));
    std::ofstream(file_path) << "[tenants.a]\nlimit = 1\n";
    ApiKeysOptions create = options(ApiKeysAction::create);
    create.tenant = "a";
    BOOST_TEST(ask(create, Style::plain).error().exit_code == exit_usage);
    BOOST_TEST(text() == "[tenants.a]\nlimit = 1\n");
}

BOOST_AUTO_TEST_SUITE_END()
