#include "app/loadgen/plan.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "app/shared/errc.h"
#include "io/http/client.h"
#include "io/resolve.h"

namespace exa::app::loadgen {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds resolve_time_max{5};

Result<Endpoint> resolve_one(const std::string& host_port) {
    asio::io_context context(1);
    std::optional<Result<std::vector<Endpoint>>> resolved;
    asio::co_spawn(
        context, [&]() -> io::Awaitable<void> { resolved = co_await io::resolve(host_port, 0, resolve_time_max); },
        asio::detached);
    context.run();
    EXA_TRY(const auto endpoints, std::move(*resolved));
    return endpoints.front();
}

}  // namespace

Result<LoadTarget> make_load_target(std::string_view url, exa::loadgen::Api api, const HeaderFields& headers) {
    EXA_TRY(const auto call, io::http::parse_http_url(url));
    if (call.https) return error(shared::errc::usage, std::string(url) + ": load is not made over https");
    const bool literal_v6 = call.host.find(':') != std::string::npos;
    const std::string host_port = (literal_v6 ? "[" + call.host + "]" : call.host) + ":" + std::to_string(call.port);
    LoadTarget target;
    target.url = std::string(url);
    EXA_TRY(target.endpoint, resolve_one(host_port));
    std::string root = call.target;
    while (root.ends_with('/')) root.pop_back();
    if (root.empty()) root = "/v1";
    target.head = "POST " + root + (api == exa::loadgen::Api::chat ? "/chat/completions" : "/completions") +
                  " HTTP/1.1\r\nhost: " + host_port + "\r\ncontent-type: application/json\r\n";
    for (const auto& [name, value] : headers) target.head += name + ": " + value + "\r\n";
    return target;
}

}  // namespace exa::app::loadgen
