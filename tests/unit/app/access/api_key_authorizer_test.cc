#include "app/access/api_key_authorizer.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;

namespace {

const io::crypto::OpenSslCrypto crypto;
const io::clock::SystemClock system_clock;
const std::string warm_up_secret(32, 'w');

ApiKey key_of(std::uint32_t id) {
    ApiKey key{{id}, {}};
    key.secret.fill(static_cast<std::uint8_t>(id));
    return key;
}

ApiKeyEntry entry_of(std::uint32_t id, std::string tenant, bool admin = false) {
    return {{id}, std::move(tenant), hash_api_key(crypto, key_of(id), {}), admin};
}

// Key 1 is acme's, 2 an admin's, 3 both beta's and an admin's.
ApiKeyFile sample() {
    ApiKeyFile file;
    file.tenants = {{"acme", std::vector<std::string>{"small"}, {}, wire::Priority::high}, {"beta", {}, {}, {}}};
    file.keys = {entry_of(1, "acme"), entry_of(2, "", true), entry_of(3, "beta", true)};
    return file;
}

struct Fixture {
    explicit Fixture(ApiKeyFile file = sample()) : authorizer(crypto, system_clock, warm_up_secret, std::move(file)) {}

    static io::http::HttpRequest request(const std::string& name = {}, const std::string& value = {}) {
        io::http::HttpRequest request;
        // Where a request comes from says nothing once there are keys.
        request.remote = *parse_endpoint("127.0.0.1:5000");
        if (!name.empty()) request.headers.add(name, value);
        return request;
    }
    static io::http::HttpRequest with_key(std::uint32_t id) {
        return request("Authorization", "Bearer " + format_api_key(key_of(id)));
    }

    // The status that a request is refused with; 0 when it comes in.
    int check(const io::http::HttpRequest& request, std::string_view method, std::string_view path) {
        const auto caller = authorizer.check(request, *find_route(method, path).route);
        return caller ? 0 : caller.error().status;
    }
    int chat(const io::http::HttpRequest& request) { return check(request, "POST", "/v1/chat/completions"); }

    ApiKeyAuthorizer authorizer;
};

ApiKeyFile limited(const router::TenantLimits& limits) {
    ApiKeyFile file = sample();
    file.tenants[0].limits = limits;
    return file;
}

const Caller acme{"acme", wire::Priority::high};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(api_key_authorizer, Fixture)

BOOST_AUTO_TEST_CASE(a_key_says_the_tenant_and_its_priority) {
    const auto caller = authorizer.check(with_key(1), *find_route("POST", "/v1/completions").route);
    BOOST_TEST_REQUIRE(caller.has_value());
    BOOST_TEST(caller.value().tenant == "acme");
    BOOST_TEST(caller.value().priority == wire::Priority::high);
}

BOOST_AUTO_TEST_CASE(without_a_key_of_the_file_everything_but_probes_is_401) {
    for (const io::http::HttpRequest& stranger :
         {request(), with_key(4), request("authorization", "Bearer "), request("authorization", "Bearer none"),
          request("authorization", "Basic " + format_api_key(key_of(1))), request("authorization", ""),
          request("authorization", format_api_key(key_of(1)))}) {
        BOOST_TEST(chat(stranger) == 401);
        BOOST_TEST(check(stranger, "GET", "/v1/models") == 401);
        BOOST_TEST(check(stranger, "GET", "/exaserve/v1/members") == 401);
        BOOST_TEST(check(stranger, "POST", "/exaserve/v1/leave") == 401);
        BOOST_TEST(check(stranger, "GET", "/health") == 0);
        BOOST_TEST(check(stranger, "GET", "/metrics") == 0);
    }
}

BOOST_AUTO_TEST_CASE(an_operator_is_told_what_the_gate_would_say_to_a_tenant) {
    BOOST_TEST(authorizer.permits("acme", "small").has_value());
    BOOST_TEST(authorizer.permits("beta", "large").has_value());
    const auto refused = authorizer.permits("acme", "large");
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == authorizer.admit(acme, "large", 1).error().status);
    BOOST_TEST(refused.error().code.value() == authorizer.admit(acme, "large", 1).error().code.value());
    BOOST_TEST(refused.error().message.find("tenant 'acme' may not use the model 'large'") != std::string::npos);
    const auto unknown = authorizer.permits("nobody", "small");
    BOOST_TEST_REQUIRE(!unknown.has_value());
    BOOST_TEST(unknown.error().param.value() == "tenant");
}

BOOST_AUTO_TEST_CASE(the_right_id_with_another_secret_is_401) {
    ApiKey guess = key_of(1);
    guess.secret[31] ^= 0x80;
    BOOST_TEST(chat(request("authorization", "Bearer " + format_api_key(guess))) == 401);
}

BOOST_AUTO_TEST_CASE(the_key_comes_in_the_headers_that_clients_use) {
    const std::string text = format_api_key(key_of(1));
    for (const char* scheme : {"Bearer ", "bearer ", "BEARER  "})
        BOOST_TEST(chat(request("authorization", scheme + text)) == 0, scheme);
    BOOST_TEST(chat(request("api-key", text)) == 0);
    BOOST_TEST(chat(request("X-API-Key", text)) == 0);
}

BOOST_AUTO_TEST_CASE(a_bad_authorization_is_not_mended_by_another_header) {
    io::http::HttpRequest both = request("authorization", "Bearer none");
    both.headers.add("api-key", format_api_key(key_of(1)));
    BOOST_TEST(chat(both) == 401);
}

BOOST_AUTO_TEST_CASE(only_an_admins_key_operates_the_cluster_and_sees_it) {
    for (const auto& [method, path] :
         {std::pair("POST", "/exaserve/v1/leave"), {"POST", "/exaserve/v1/keys"}, {"GET", "/exaserve/v1/status"}}) {
        BOOST_TEST(check(with_key(1), method, path) == 403, path);
        BOOST_TEST(check(with_key(2), method, path) == 0, path);
        BOOST_TEST(check(with_key(3), method, path) == 0, path);
    }
}

BOOST_AUTO_TEST_CASE(an_admins_key_without_a_tenant_uses_no_model) {
    BOOST_TEST(chat(with_key(2)) == 403);
    BOOST_TEST(chat(with_key(3)) == 0);
}

BOOST_AUTO_TEST_CASE(at_other_doors_a_clients_key_names_its_tenant_and_nothing_else_does) {
    BOOST_TEST(authorizer.tenant_of_key(format_api_key(key_of(1))).value() == "acme");
    BOOST_TEST(authorizer.tenant_of_key(format_api_key(key_of(3))).value() == "beta");
    ApiKey forged = key_of(1);
    forged.secret[0] ^= 1;
    for (const std::string& text : {format_api_key(key_of(2)), format_api_key(key_of(9)), format_api_key(forged),
                                    std::string(), std::string("acme")})
        BOOST_TEST(!authorizer.tenant_of_key(text).has_value());
}

BOOST_AUTO_TEST_CASE(the_peers_own_warm_up_needs_no_key_and_reaches_nothing_else) {
    const std::string replica = to_string(ReplicaId{PeerId{1}, DeploymentId{2}, 3});
    const io::http::HttpRequest own = request("x-exaserve-warm-up", warm_up_secret + " " + replica);
    BOOST_TEST(chat(own) == 0);
    BOOST_TEST(check(own, "GET", "/v1/models") == 401);
    BOOST_TEST(check(own, "POST", "/exaserve/v1/leave") == 401);
    const io::http::HttpRequest forged = request("x-exaserve-warm-up", std::string(32, 'x') + " " + replica);
    BOOST_TEST(chat(forged) == 401);
    BOOST_TEST(chat(request("x-exaserve-warm-up", warm_up_secret + " nothing")) == 401);
}

BOOST_AUTO_TEST_CASE(a_model_of_others_is_403_and_not_shown) {
    BOOST_TEST(authorizer.admit(acme, "small", 1).has_value());
    BOOST_TEST(authorizer.may_use(acme, "small"));
    const auto refused = authorizer.admit(acme, "large", 1);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == 403);
    BOOST_TEST(!authorizer.may_use(acme, "large"));
    BOOST_TEST(authorizer.admit(Caller{"beta"}, "large", 1).has_value());
}

BOOST_AUTO_TEST_CASE(above_the_rate_is_429_with_the_time_to_wait) {
    ApiKeyAuthorizer slow(crypto, system_clock, "", limited({2, 0, 0, 60}));
    BOOST_TEST(slow.admit(acme, "small", 1).has_value());
    BOOST_TEST(slow.admit(acme, "small", 1).has_value());
    const auto refused = slow.admit(acme, "small", 1);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == 429);
    BOOST_TEST(refused.error().code.value() == "rate_limit_exceeded");
    BOOST_TEST(refused.error().retry_after_ms.value() > 20'000U);
    BOOST_TEST(refused.error().retry_after_ms.value() <= 30'000U);
    BOOST_TEST(slow.admit(Caller{"beta"}, "small", 1).has_value());
}

BOOST_AUTO_TEST_CASE(tokens_of_answers_count_against_the_rate) {
    ApiKeyAuthorizer slow(crypto, system_clock, "", limited({0, 100, 0, 60}));
    BOOST_TEST(slow.admit(acme, "small", 10).has_value());
    slow.spend("acme", 1'000);
    const auto refused = slow.admit(acme, "small", 10);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().type == "tokens");
    BOOST_TEST(refused.error().retry_after_ms.value() > 500'000U);
}

BOOST_AUTO_TEST_CASE(a_used_up_quota_is_429_that_no_retry_mends) {
    ApiKeyAuthorizer slow(crypto, system_clock, "", limited({0, 0, 100, 60}));
    BOOST_TEST(slow.admit(acme, "small", 10).has_value());
    slow.spend("acme", 90);
    const auto refused = slow.admit(acme, "small", 10);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == 429);
    BOOST_TEST(refused.error().retry_is_useless);
}

BOOST_AUTO_TEST_CASE(a_new_file_counts_at_once_and_forgets_no_use) {
    authorizer.replace(limited({1, 0, 0, 60}));
    BOOST_TEST(authorizer.admit(acme, "small", 1).has_value());
    authorizer.replace(limited({1, 0, 0, 60}));
    BOOST_TEST(!authorizer.admit(acme, "small", 1).has_value());
    ApiKeyFile without = sample();
    without.keys.erase(without.keys.begin());
    authorizer.replace(without);
    BOOST_TEST(chat(with_key(1)) == 401);
    without.tenants.erase(without.tenants.begin());
    authorizer.replace(without);
    const auto refused = authorizer.admit(acme, "small", 1);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().status == 401);
    authorizer.spend("acme", 5);
}

BOOST_AUTO_TEST_CASE(threads_that_ask_while_the_file_changes_see_one_whole_file_and_lose_no_token) {
    constexpr int requests = 2'000;
    authorizer.replace(limited({0, 0, 1'000'000, 60}));
    std::atomic<int> refused = 0;
    {
        std::vector<std::jthread> askers;
        for (int i = 0; i < 2; ++i)
            askers.emplace_back([&] {
                for (int request = 0; request < requests; ++request) {
                    refused += chat(with_key(1)) != 0;
                    refused += !authorizer.admit(acme, "small", 1);
                    authorizer.spend("acme", 2);
                }
            });
        for (std::uint32_t change = 1; change <= 200; ++change) {
            ApiKeyFile file = limited({0, 0, 1'000'000, change});
            file.tenants.insert(file.tenants.begin(), {"aaa", {}, {}, {}});
            authorizer.replace(change % 2 == 0 ? file : limited({0, 0, 1'000'000, change}));
        }
    }
    BOOST_TEST(refused == 0);
    BOOST_TEST(authorizer.use().back().use.tokens == 2U * requests * 3U);
}

BOOST_AUTO_TEST_SUITE_END()
