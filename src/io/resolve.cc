#include "io/resolve.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <memory>
#include <utility>

#include "io/errc.h"
#include "io/net.h"

namespace exa::io {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A look-up in flight: it belongs to the resolver and to whoever waits, as getaddrinfo(3) cannot be interrupted.
struct Query {
    explicit Query(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
    tcp::resolver resolver;
    Signal done;
    bool over = false;
    boost::system::error_code code;
    std::vector<Endpoint> found;
};

}  // namespace

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
    const std::string whole(text);
    HostPort parsed;
    parsed.port = default_port;
    const auto bracket = text.rfind(']');
    const bool bare_v6 = bracket == std::string_view::npos && std::ranges::count(text, ':') > 1;
    const auto colon =
        bare_v6 ? std::string_view::npos : text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
        const std::string_view digits = text.substr(colon + 1);
        const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
        if (code != std::errc{} || end != digits.data() + digits.size() || parsed.port == 0)
            return error(errc::bad_address, "\"" + whole + "\": the port must be 1 to 65535");
        text = text.substr(0, colon);
    }
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    if (text.empty() || text.find_first_of("[] /") != std::string_view::npos)
        return error(errc::bad_address, "\"" + whole + "\": expected host:port");
    if (parsed.port == 0) return error(errc::bad_address, "\"" + whole + "\": a port is needed");
    parsed.host = std::string(text);
    return parsed;
}

Awaitable<Result<std::vector<Endpoint>>> resolve(std::string text, std::uint16_t default_port, Duration timeout) {
    EXA_CO_TRY(const HostPort wanted, parse_host_port(text, default_port));
    const auto executor = co_await asio::this_coro::executor;
    boost::system::error_code not_literal;
    const auto address = asio::ip::make_address(wanted.host, not_literal);
    if (!not_literal) co_return std::vector<Endpoint>{from_asio(tcp::endpoint(address, wanted.port))};

    const auto query = std::make_shared<Query>(executor);
    query->resolver.async_resolve(wanted.host, std::to_string(wanted.port),
                                  [query](const boost::system::error_code& code, const auto& results) {
                                      query->over = true;
                                      query->code = code;
                                      for (const auto& entry : results)
                                          query->found.push_back(from_asio(entry.endpoint()));
                                      query->done.notify();
                                  });
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!query->over && std::chrono::steady_clock::now() < deadline) {
        co_await query->done.wait_until(deadline);
        if (co_await is_cancelled()) break;
    }
    if (!query->over) {
        query->resolver.cancel();
        co_return error(errc::timed_out, "look-up of \"" + text + "\"");
    }
    if (query->code) co_return error(errc::name_not_resolved, "\"" + text + "\" (" + query->code.message() + ")");
    co_return query->found;
}

Awaitable<Resolved> resolve_all(std::vector<std::string> texts, std::uint16_t default_port, Duration timeout) {
    struct Shared {
        explicit Shared(const asio::any_io_executor& executor) : done(executor) {}
        Signal done;
        std::size_t open = 0;
        std::vector<Result<std::vector<Endpoint>>> answers;
    };
    const auto executor = co_await asio::this_coro::executor;
    const auto shared = std::make_shared<Shared>(executor);
    shared->open = texts.size();
    for (const std::string& text : texts) {
        asio::co_spawn(
            executor,
            [shared, text, default_port, timeout]() -> Awaitable<void> {
                shared->answers.push_back(co_await resolve(text, default_port, timeout));
                if (--shared->open == 0) shared->done.notify();
            },
            asio::detached);
    }
    while (shared->open > 0) {
        co_await shared->done.wait();
        if (co_await is_cancelled()) break;
    }
    Resolved resolved;
    for (const auto& answer : shared->answers) {
        if (answer)
            resolved.endpoints.insert(resolved.endpoints.end(), answer.value().begin(), answer.value().end());
        else
            resolved.failures.push_back(answer.error());
    }
    std::ranges::sort(resolved.endpoints);
    const auto repeated = std::ranges::unique(resolved.endpoints);
    resolved.endpoints.erase(repeated.begin(), repeated.end());
    co_return resolved;
}

}  // namespace exa::io
