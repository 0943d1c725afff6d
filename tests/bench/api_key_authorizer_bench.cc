// What an API key costs an entry: check, admit and spend of a request with a key of 10,000, against the same of a door
// without keys, in nanoseconds of the processor a request. Rounds of the two alternate, the medians are compared.
// Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "app/access/api_key_authorizer.h"
#include "base/check.h"
#include "io/crypto/openssl_crypto.h"

namespace {

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;

constexpr std::size_t rounds = 15;
constexpr std::uint32_t round_requests = 20'000;
constexpr std::uint32_t keys = 10'000;

double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

ApiKey key_of(std::uint32_t id) {
    ApiKey key{{id}, {}};
    for (std::size_t i = 0; i < key.secret.size(); ++i) key.secret[i] = static_cast<std::uint8_t>(id >> i % 4 * 8);
    return key;
}

ApiKeyFile many(const Crypto& crypto) {
    ApiKeyFile file;
    for (std::uint32_t i = 0; i < keys; ++i) {
        const std::string tenant = fmt::format("tenant-{:03}", i % 1'000);
        if (i < 1'000) {
            file.tenants.push_back({tenant, {}, {}, {}});
            file.tenants.back().limits.requests_per_minute = router::RateMeter::per_minute_max;
            file.tenants.back().limits.tokens_per_minute = router::RateMeter::per_minute_max;
        }
        file.keys.push_back({{i}, tenant, hash_api_key(crypto, key_of(i), {}), false});
    }
    return file;
}

double round_ns(Authorizer& authorizer, const std::vector<io::http::HttpRequest>& requests) {
    const Route& route = *find_route("POST", "/v1/chat/completions").route;
    const double begin = thread_cpu_ns();
    for (std::uint32_t i = 0; i < round_requests; ++i) {
        const auto caller = authorizer.check(requests[i % requests.size()], route);
        EXA_CHECK(caller.has_value());
        EXA_CHECK(authorizer.admit(caller.value(), "model", 20).has_value());
        authorizer.spend(caller.value().tenant, 20);
    }
    return (thread_cpu_ns() - begin) / round_requests;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main() {
    const io::crypto::OpenSslCrypto crypto;
    const io::clock::SystemClock clock;
    ApiKeyAuthorizer authorizer(crypto, clock, std::string(32, 'w'), many(crypto));
    OpenAuthorizer open;
    std::vector<io::http::HttpRequest> requests;
    for (std::uint32_t i = 0; i < keys; i += 7) {
        io::http::HttpRequest& request = requests.emplace_back();
        for (const char* name : {"host", "accept", "accept-encoding", "connection", "user-agent", "content-type"})
            request.headers.add(name, "a value as long as they are");
        request.headers.add("authorization", "Bearer " + format_api_key(key_of(i)));
        request.headers.add("content-length", "200");
    }
    std::vector<double> with_keys;
    std::vector<double> without;
    for (std::size_t i = 0; i < rounds; ++i) {
        with_keys.push_back(round_ns(authorizer, requests));
        without.push_back(round_ns(open, requests));
    }
    const double ours = median(with_keys);
    const double theirs = median(without);
    fmt::print(
        "{{\"name\": \"api_key_authorizer\", \"ours\": {:.0f}, \"theirs\": {:.0f}, \"ratio\": {:.1f}, \"spread\": "
        "{:.2f}, "
        "\"unit\": \"CPU ns a request, with a key of {} against without keys\"}}\n",
        ours, theirs, ours / theirs, *std::ranges::max_element(with_keys) / *std::ranges::min_element(with_keys), keys);
}
