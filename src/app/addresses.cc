#include "app/addresses.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "app/shared/errc.h"
#include "io/resolve.h"

namespace exa::app {

namespace asio = boost::asio;

Result<Endpoint> resolve_address(const std::string& text, std::string_view key) {
    if (const auto numeric = parse_endpoint(text)) return *numeric;
    asio::io_context context;
    io::Resolved resolved;
    const auto resolve = [&]() -> asio::awaitable<void> {
        resolved = co_await io::resolve_all({text}, 0, std::chrono::seconds(5));
    };
    asio::co_spawn(context, resolve(), asio::detached);
    context.run();
    if (resolved.endpoints.empty())
        return error(shared::errc::usage, fmt::format("{}: {}", key, resolved.failures.front().message()));
    return resolved.endpoints.front();
}

Result<Addresses> resolve_addresses(const std::string& gossip, const std::string& link, const std::string& http,
                                    std::string_view table) {
    Addresses addresses;
    EXA_TRY(addresses.gossip, resolve_address(gossip, fmt::format("{}.gossip", table)));
    EXA_TRY(addresses.link, resolve_address(link, fmt::format("{}.link", table)));
    EXA_TRY(addresses.http, resolve_address(http, fmt::format("{}.http", table)));
    return addresses;
}

Endpoint advertised(Endpoint configured, const Endpoint& bound) {
    if (configured.port == 0) configured.port = bound.port;
    return configured;
}

}  // namespace exa::app
