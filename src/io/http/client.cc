#include "io/http/client.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "io/async.h"
#include "io/errc.h"
#include "io/http/last_chunk.h"
#include "io/tls/stream.h"

namespace exa::io::http {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t body_bytes_max = 64UL * 1024 * 1024;
constexpr std::uint32_t header_bytes_max = 64 * 1024;

using Sink = std::function<bool(std::string_view)>;
using Parser = beast_http::response_parser<beast_http::string_body>;

class Exchange {
  public:
    Exchange(asio::io_context& context, const HttpCall& call, const Sink* sink)
        : call_(call), sink_(sink), resolver_(context), socket_(context), timer_(context) {}

    Awaitable<Result<HttpReply>> run();

  private:
    Awaitable<Result<void>> connect();
    Awaitable<Result<void>> shake_hands();
    Awaitable<Result<void>> send();
    Awaitable<boost::system::error_code> write(std::string_view bytes);
    Awaitable<boost::system::error_code> flush_tls();
    Awaitable<Result<HttpReply>> receive();
    Awaitable<Result<bool>> receive_some();
    std::unique_ptr<Parser> make_parser() const;
    bool pass_on(Parser& parser) const;

    // Ends whatever runs when the time is up; `late_` tells it from other ends.
    void set_deadline(Duration after);
    Error fault(errc otherwise, const boost::system::error_code& code) const;
    std::string where() const { return call_.host + ":" + std::to_string(call_.port); }

    const HttpCall& call_;
    const Sink* sink_;
    tcp::resolver resolver_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    std::optional<tls::TlsStream> tls_;
    std::string inbox_;  // plain
    bool late_ = false;
};

void Exchange::set_deadline(Duration after) {
    timer_.expires_after(after);
    timer_.async_wait([this](const boost::system::error_code& code) {
        if (code) return;
        late_ = true;
        resolver_.cancel();
        boost::system::error_code ignored;
        socket_.close(ignored);
    });
}

Error Exchange::fault(errc otherwise, const boost::system::error_code& code) const {
    if (late_) return error(errc::timed_out, where());
    return error(otherwise, where() + " (" + code.message() + ")");
}

Awaitable<Result<HttpReply>> Exchange::run() {
    Result<HttpReply> reply = HttpReply{};
    if (auto connected = co_await connect(); !connected)
        reply = connected.error();
    else if (auto sent = co_await send(); !sent)
        reply = sent.error();
    else
        reply = co_await receive();
    timer_.cancel();
    co_return reply;
}

Awaitable<Result<void>> Exchange::connect() {
    set_deadline(call_.connect_timeout);
    const auto [unresolved, hosts] =
        co_await resolver_.async_resolve(call_.host, std::to_string(call_.port), as_result);
    if (unresolved) co_return fault(errc::name_not_resolved, unresolved);
    const auto [code, chosen] = co_await asio::async_connect(socket_, hosts, as_result);
    if (code || late_) co_return fault(errc::connect_failed, code);
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    if (call_.https) co_return co_await shake_hands();
    co_return success();
}

Awaitable<Result<void>> Exchange::shake_hands() {
    auto trust = call_.trust;
    if (!trust) {
        EXA_CO_TRY(trust, tls::TlsSettings::trust({}));
    }
    tls_.emplace(std::move(trust), call_.host);
    set_deadline(call_.connect_timeout);
    std::array<char, 16 * 1024> chunk;
    while (true) {
        const auto sent = co_await flush_tls();
        if (sent || late_) co_return fault(errc::connect_failed, sent);
        if (tls_->established()) co_return success();
        const auto [code, bytes] = co_await socket_.async_read_some(asio::buffer(chunk), as_result);
        if (code) co_return fault(errc::connect_failed, code);
        if (auto taken = tls_->take(as_bytes({chunk.data(), bytes}), inbox_); !taken) {
            co_await flush_tls();
            Error why = std::move(taken).error();
            // Nothing of the request was sent yet.
            if (why.code == make_error_code(errc::untrusted))
                co_return error(errc::untrusted, where() + ": " + why.detail);
            co_return error(errc::connect_failed, where() + " (" + why.message() + ")");
        }
    }
}

Awaitable<boost::system::error_code> Exchange::flush_tls() {
    const Bytes sealed = tls_->take_output();
    const auto [code, bytes] = co_await asio::async_write(socket_, asio::buffer(sealed), as_result);
    co_return code;
}

Awaitable<boost::system::error_code> Exchange::write(std::string_view bytes) {
    if (tls_) {
        const std::array pieces{as_bytes(bytes)};
        if (!tls_->write(pieces)) co_return asio::error::broken_pipe;
        co_return co_await flush_tls();
    }
    const auto [code, sent] = co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
    co_return code;
}

Awaitable<Result<void>> Exchange::send() {
    const bool literal_v6 = call_.host.find(':') != std::string::npos;
    std::string request = call_.method + " " + (call_.target.empty() ? "/" : call_.target) + " HTTP/1.1\r\nhost: ";
    request += (literal_v6 ? "[" + call_.host + "]" : call_.host) + ":" + std::to_string(call_.port) + "\r\n";
    for (const auto& [name, value] : call_.headers) request.append(name).append(": ").append(value).append("\r\n");
    if (!call_.body.empty() || call_.method == "POST" || call_.method == "PUT")
        request += "content-length: " + std::to_string(call_.body.size()) + "\r\n";
    request += "connection: close\r\n\r\n" + call_.body;
    set_deadline(call_.idle_timeout);
    const auto code = co_await write(request);
    // A server that refuses early may close its side before it has read everything: its answer still comes.
    if (code && late_) co_return fault(errc::broken, code);
    co_return success();
}

std::unique_ptr<Parser> Exchange::make_parser() const {
    auto parser = std::make_unique<Parser>();
    parser->header_limit(header_bytes_max);
    parser->body_limit(sink_ != nullptr ? std::numeric_limits<std::uint64_t>::max() : body_bytes_max);
    parser->skip(call_.method == "HEAD");
    return parser;
}

// False when the sink wants no more.
bool Exchange::pass_on(Parser& parser) const {
    if (sink_ == nullptr || !parser.is_header_done() || parser.get().result_int() / 100 != 2) return true;
    std::string& body = parser.get().body();
    const bool more = body.empty() || (*sink_)(body);
    body.clear();
    return more;
}

Awaitable<Result<HttpReply>> Exchange::receive() {
    auto parser = make_parser();
    while (!parser->is_done()) {
        boost::system::error_code code;
        const std::size_t taken =
            inbox_.empty() || must_wait_for_more(*parser, inbox_.size()) ? 0 : parser->put(asio::buffer(inbox_), code);
        inbox_.erase(0, taken);
        if (code == beast_http::error::body_limit) co_return error(errc::too_large, "answer of " + where());
        if (code && code != beast_http::error::need_more)
            co_return error(errc::malformed, where() + ": " + code.message());
        // 1xx answers come before the real one (RFC 9110 section 15.2).
        if (parser->is_done() && parser->get().result_int() / 100 == 1) {
            parser = make_parser();
            continue;
        }
        if (!pass_on(*parser)) break;
        if (parser->is_done() || (taken > 0 && !inbox_.empty())) continue;
        EXA_CO_TRY(const bool more, co_await receive_some());
        if (more) continue;
        if (parser->got_some()) parser->put_eof(code);
        if (code || !parser->got_some()) co_return error(errc::broken, "answer of " + where());
    }
    HttpReply reply;
    auto message = parser->release();
    reply.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
        const auto name = field.name_string();
        const auto value = field.value();
        reply.headers.add({name.data(), name.size()}, {value.data(), value.size()});
    }
    reply.body = std::move(message.body());
    co_return reply;
}

// False at the end of the stream, which of HTTPS is what the server says and not where the bytes end.
Awaitable<Result<bool>> Exchange::receive_some() {
    if (tls_ && tls_->ended()) co_return false;
    set_deadline(call_.idle_timeout);
    std::array<char, 16 * 1024> chunk;
    const auto [code, bytes] = co_await socket_.async_read_some(asio::buffer(chunk), as_result);
    if (code == asio::error::eof && !tls_) co_return false;
    if (code) co_return fault(errc::broken, code);
    if (!tls_) {
        inbox_.append(chunk.data(), bytes);
        co_return true;
    }
    const std::size_t before = inbox_.size();
    EXA_CO_TRY(tls_->take(as_bytes({chunk.data(), bytes}), inbox_));
    co_return inbox_.size() > before || !tls_->ended();
}

Result<HttpReply> run_call(const HttpCall& call, const Sink* sink) {
    asio::io_context context(1);
    Exchange exchange(context, call, sink);
    std::optional<Result<HttpReply>> reply;
    asio::co_spawn(context, [&]() -> Awaitable<void> { reply.emplace(co_await exchange.run()); }, asio::detached);
    context.run();
    return std::move(*reply);
}

}  // namespace

// Boost.URL 1.81 would be one more library to install and to link for these lines.
Result<HttpCall> parse_http_url(std::string_view url) {
    const std::string whole(url);
    constexpr std::string_view plain = "http://";
    constexpr std::string_view secure = "https://";
    HttpCall call;
    call.https = url.starts_with(secure);
    if (call.https)
        url.remove_prefix(secure.size());
    else if (url.starts_with(plain))
        url.remove_prefix(plain.size());
    else if (url.find("://") != std::string_view::npos)
        return error(errc::bad_address, whole + ": expected http:// or https://");
    const auto slash = url.find('/');
    if (slash != std::string_view::npos) call.target = std::string(url.substr(slash));
    std::string_view authority = url.substr(0, slash);
    call.port = call.https ? 443 : 80;
    const auto bracket = authority.rfind(']');
    const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon != std::string_view::npos) {
        const std::string_view digits = authority.substr(colon + 1);
        const auto [end, errc_parse] = std::from_chars(digits.data(), digits.data() + digits.size(), call.port);
        if (errc_parse != std::errc{} || end != digits.data() + digits.size() || call.port == 0)
            return error(errc::bad_address, whole + ": the port must be 1 to 65535");
        authority = authority.substr(0, colon);
    }
    if (authority.size() > 2 && authority.front() == '[' && authority.back() == ']')
        authority = authority.substr(1, authority.size() - 2);
    if (authority.empty()) return error(errc::bad_address, whole + ": no host; expected http://HOST:PORT");
    if (authority.find_first_of(" []@") != std::string_view::npos)
        return error(errc::bad_address, whole + ": characters that no host has; expected http://HOST:PORT");
    call.host = std::string(authority);
    return call;
}

Result<HttpReply> http_call(const HttpCall& call) {
    return run_call(call, nullptr);
}

Result<HttpReply> http_stream(const HttpCall& call, const std::function<bool(std::string_view piece)>& sink) {
    return run_call(call, &sink);
}

}  // namespace exa::io::http
