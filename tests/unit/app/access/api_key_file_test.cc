#include "app/access/api_key_file.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "app/shared/errc.h"
#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;
using namespace exa::app::shared;

namespace {

const std::string hash = "sha256:" + std::string(32, '1') + ":" + std::string(64, '2');

std::string key_text(const std::string& id, const std::string& more) {
    return "[[keys]]\nid = \"" + id + "\"\nhash = \"" + hash + "\"\n" + more;
}

const std::string sample =
    "# ours\n[tenants.acme]\nmodels = [\"exact\", \"llama-*\"]\nrequests_per_minute = 600\ntokens_per_minute = "
    "100_000\n"
    "tokens_per_day = 20_000_000\nburst_seconds = 30\npriority = \"low\"  # batch\n\n[tenants.beta]\n\n" +
    key_text("0000000b", "tenant = \"acme\"\n") + "\n# of the night shift\n" + key_text("0000000a", "admin = true\n");

std::string failure(const std::string& text) {
    const auto file = parse_api_key_file(text);
    return file ? "" : file.error().detail;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(api_key_file)

BOOST_AUTO_TEST_CASE(tenants_and_keys_read_as_they_are_written) {
    const auto file = parse_api_key_file(sample);
    BOOST_TEST_REQUIRE(file.has_value());
    BOOST_TEST_REQUIRE(file.value().tenants.size() == 2U);
    const Tenant& acme = file.value().tenants[0];
    BOOST_TEST(acme.name == "acme");
    BOOST_TEST(acme.limits == (router::TenantLimits{600, 100'000, 20'000'000, 30}));
    BOOST_TEST(acme.priority == wire::Priority::low);
    const Tenant& beta = file.value().tenants[1];
    BOOST_TEST(beta.limits == router::TenantLimits{});
    BOOST_TEST(beta.priority == wire::Priority::normal);
    BOOST_TEST_REQUIRE(file.value().keys.size() == 2U);
    BOOST_TEST(file.value().keys[0].id == ApiKeyId{0xa});
    BOOST_TEST(file.value().keys[0].admin);
    BOOST_TEST(file.value().keys[0].tenant.empty());
    BOOST_TEST(file.value().keys[1].tenant == "acme");
    BOOST_TEST(!file.value().keys[1].admin);
    BOOST_TEST(parse_api_key_file("").has_value());
}

BOOST_AUTO_TEST_CASE(models_are_names_or_beginnings_and_none_named_means_all) {
    const auto file = parse_api_key_file(sample).value();
    BOOST_TEST(may_use(file.tenants[0], "exact"));
    BOOST_TEST(!may_use(file.tenants[0], "exactly"));
    BOOST_TEST(may_use(file.tenants[0], "llama-7b"));
    BOOST_TEST(!may_use(file.tenants[0], "llama"));
    BOOST_TEST(may_use(file.tenants[1], "anything"));
    const auto none = parse_api_key_file("[tenants.shut]\nmodels = []\n").value();
    BOOST_TEST(!may_use(none.tenants[0], "anything"));
}

BOOST_AUTO_TEST_CASE(errors_name_line_key_and_range) {
    BOOST_TEST(failure("[tenants.a]\nrequests_per_minute = 0\n") ==
               "line 2: tenants.a.requests_per_minute is not a whole number from 1 to 100000000");
    BOOST_TEST(failure("[tenants.a]\nburst_seconds = 3601\n").starts_with("line 2: tenants.a.burst_seconds"));
    BOOST_TEST(failure("[tenants.a]\ntokens_per_day = -1\n").starts_with("line 2: tenants.a.tokens_per_day"));
    BOOST_TEST(failure("[tenants.a]\nrequest_per_minute = 1\n") ==
               "line 2: unknown key 'tenants.a.request_per_minute'");
    BOOST_TEST(failure("[tenants.a]\npriority = 'urgent'\n") ==
               "line 2: tenants.a.priority is not high, normal or low");
    BOOST_TEST(failure("[tenants.a]\nmodels = 'm'\n") == "line 2: tenants.a.models is not a list of strings");
    BOOST_TEST(failure("[tenants.a]\nmodels = ['m', 3]\n") == "line 2: tenants.a.models is not a list of strings");
    BOOST_TEST(failure("[tenants.'a b']\n").starts_with("line 1: tenant 'a b' is not"));
    BOOST_TEST(failure("tenant = 1\n").starts_with("line 1: unknown key 'tenant'"));
    BOOST_TEST(failure("tenants = 1\n") == "line 1: tenants is not a table");
    BOOST_TEST(failure("keys = ['sk-1']\n") == "line 1: keys is not a list of tables");
    BOOST_TEST(failure("[tenants\n").starts_with("line 1: "));
    BOOST_TEST(failure(key_text("0000000A", "admin = true\n")) ==
               "line 2: keys.id is not 8 hexadecimal digits in lower case");
    BOOST_TEST(failure(key_text("0000000a", "")) == "line 1: keys.tenant is missing, and the key is no admin's");
    BOOST_TEST(failure(key_text("0000000a", "tenant = 'b'\n")) == "line 4: keys.tenant 'b' is not in the file");
    BOOST_TEST(failure(key_text("0000000a", "admin = true\n") + key_text("0000000a", "admin = true\n"))
                   .ends_with("two keys have the id 0000000a"));
}

BOOST_AUTO_TEST_CASE(a_key_in_place_of_its_hash_is_refused_and_not_shown) {
    const std::string text = failure("[[keys]]\nid = '0000000a'\nadmin = true\nhash = 'sk-exa-secret'\n");
    BOOST_TEST(text == "line 4: keys.hash is not sha256:<32 digits>:<64 digits>");
}

BOOST_AUTO_TEST_CASE(an_added_key_leaves_the_rest_of_the_text_alone) {
    std::string text = sample;
    for (const std::string tenant : {"beta", "new.one", "other"}) {
        const ApiKeyEntry key{{static_cast<std::uint32_t>(text.size())}, tenant, *parse_api_key_hash(hash), false};
        const std::string more = with_api_key(text, parse_api_key_file(text).value(), key);
        BOOST_TEST(more.starts_with(text));
        const auto file = parse_api_key_file(more);
        BOOST_TEST_REQUIRE(file.has_value());
        BOOST_TEST(file.value().keys.back().tenant == tenant);
        BOOST_TEST(file.value().keys.back().hash == key.hash);
        text = more;
    }
    BOOST_TEST(parse_api_key_file(text).value().tenants.size() == 4U);
    const std::string fresh = with_api_key("", {}, {{1}, "", *parse_api_key_hash(hash), true});
    BOOST_TEST(parse_api_key_file(fresh).value().keys.at(0).admin);
}

BOOST_AUTO_TEST_CASE(a_revoked_key_takes_its_own_lines_with_it_and_no_others) {
    const auto first = without_api_key(sample, ApiKeyId{0xb});
    BOOST_TEST_REQUIRE(first.has_value());
    BOOST_TEST(first.value() + "" ==
               sample.substr(0, sample.find("[[keys]]")) + sample.substr(sample.find("\n# of the night")));
    const auto second = without_api_key(first.value(), ApiKeyId{0xa});
    BOOST_TEST_REQUIRE(second.has_value());
    BOOST_TEST(second.value().ends_with("# of the night shift\n"));
    BOOST_TEST(parse_api_key_file(second.value()).value().keys.empty());
}

BOOST_AUTO_TEST_CASE(keys_that_stand_close_together_are_told_apart) {
    const std::string close =
        key_text("0000000a", "admin = true\n") + key_text("0000000b", "admin = true\n") + "[tenants.last]\n";
    for (const std::uint32_t id : {0xaU, 0xbU}) {
        const auto left = without_api_key(close, ApiKeyId{id});
        BOOST_TEST_REQUIRE(left.has_value());
        const auto file = parse_api_key_file(left.value()).value();
        BOOST_TEST(file.tenants.size() == 1U);
        BOOST_TEST(file.keys.at(0).id.value == (0xaU ^ 0xbU ^ id));
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_is_written_otherwise_is_left_to_its_author) {
    const std::string inline_key = "keys = [{id = \"0000000a\", admin = true, hash = \"" + hash + "\"}]\n";
    BOOST_TEST_REQUIRE(failure(inline_key) == "");
    const auto left = without_api_key(inline_key, ApiKeyId{0xa});
    BOOST_TEST_REQUIRE(!left.has_value());
    BOOST_TEST(left.error().code == errc::usage);
}

BOOST_AUTO_TEST_SUITE_END()
