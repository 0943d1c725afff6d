#include "app/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/crypto.h"
#include "base/hash.h"
#include "io/errc.h"
#include "io/random.h"
#include "openai/completion.h"
#include "openai/error.h"
#include "openai/request.h"
#include "openai/session.h"

namespace exa::app {

namespace asio = boost::asio;

// How an attempt ended.
enum class Entry::Outcome : std::uint8_t {
    finished,
    client_gone,
    busy,
    draining,
    refused,
    connect_failed,
    link_broken,
    timed_out,
    failed,
};

// One client's request on its way, over all its attempts.
struct Entry::Relay {
    std::shared_ptr<io::HttpExchange> exchange;
    wire::Open open;            // for the next attempt: its tokens are what the client has got
    std::string session_token;  // minted here; empty when the client brought a session
    router::Attempt attempt;    // the current one
    wire::Head head;            // of it, once it came
    std::string whole_body;     // of an answer that is not a stream
    std::optional<wire::LoadReport> load;
    std::string failure;  // of the last attempt, for people

    io::HttpHeaders headers() const {
        io::HttpHeaders headers{{"content-type", head.content_type},
                                {"x-request-id", open.x_request_id},
                                {"x-exaserve-replica", to_string(attempt.replica)}};
        if (!session_token.empty()) headers.add("x-session-id", session_token);
        return headers;
    }
};

namespace {

// A header that a client made and that we hand on: printable ASCII, bounded.
bool is_token_text(std::string_view text) {
    return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string request_id(const io::HttpRequest& request) {
    const auto given = request.headers.find("x-request-id");
    if (given && is_token_text(*given)) return std::string(*given);
    return fmt::format("req-{:016x}{:016x}", io::random_u64(), io::random_u64());
}

wire::Open make_open(const io::HttpRequest& request, wire::RequestKind kind, const openai::Peek& peek, WallTime wall) {
    const openai::Shape shape = kind == wire::RequestKind::chat ? openai::Shape::chat : openai::Shape::completion;
    wire::Open open;
    open.model = peek.model;
    open.kind = kind;
    open.x_request_id = request_id(request);
    open.response_id = openai::answer_id(shape, io::random_u64(), io::random_u64());
    open.created_unix_s = wall.unix_seconds();
    open.seed = peek.seed ? *peek.seed : io::random_u64();
    open.body = request.body;
    return open;
}

// "<secret> <replica id>" in the header; nothing when the request is an ordinary one.
std::optional<ReplicaId> warm_up_target(const io::HttpRequest& request, std::string_view secret) {
    const auto header = request.headers.find("x-exaserve-warm-up");
    if (!header || secret.empty() || header->size() <= secret.size()) return std::nullopt;
    if (!equal_constant_time(as_bytes(header->substr(0, secret.size())), as_bytes(secret))) return std::nullopt;
    return parse_replica_id(header->substr(secret.size() + 1));
}

}  // namespace

io::HttpResponse to_response(const openai::ApiError& error) {
    io::HttpResponse response;
    response.status = error.status;
    response.headers.add("content-type", "application/json");
    for (const openai::Header& header : error.headers()) response.headers.add(header.name, header.value);
    response.body = error.body();
    return response;
}

io::HttpResponse to_response(const router::Reject& reject, std::string_view model) {
    const auto retry_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(reject.retry_after.value_or(std::chrono::seconds(1)))
            .count());
    const std::error_code code = reject.error.code;
    if (code == router::errc::model_not_found) return to_response(openai::model_not_found(model));
    if (code == router::errc::all_replicas_busy) return to_response(openai::overloaded(retry_ms));
    if (code == router::errc::no_replica_ready)
        return to_response(openai::unavailable("no replica of this model is ready", retry_ms));
    openai::ApiError error = openai::upstream_failed(reject.error.message());
    error.status = reject.status;
    return to_response(error);
}

asio::awaitable<void> Entry::handle(io::HttpRequest request, std::shared_ptr<io::HttpExchange> exchange,
                                    wire::RequestKind kind) {
    const auto peek = openai::peek(request.body);
    if (!peek) {
        std::ignore = co_await exchange->respond(to_response(peek.error()));
        co_return;
    }
    const WallTime wall = clock_.wall();
    Relay relay;
    relay.exchange = exchange;
    relay.open = make_open(request, kind, peek.value(), wall);
    if (const auto replica = warm_up_target(request, config_.warm_up_secret)) {
        co_await warm_up(relay, *replica);
        co_return;
    }

    const openai::Session session =
        openai::pick_session(request.headers.find("x-session-id").value_or(std::string_view{}), peek.value());
    router::RequestMeta meta;
    meta.wall = wall;
    meta.model = relay.open.model;
    meta.session = session.id;
    meta.prefix_hash = hash64(as_bytes(peek.value().leading));
    meta.resumable = true;

    dispatcher_.handle_view(shared_.load()->routing);
    router::Decision decision = dispatcher_.begin(clock_.now(), meta);
    while (const auto* next = std::get_if<router::Attempt>(&decision)) {
        relay.attempt = *next;
        if (!next->session_token.empty()) relay.session_token = next->session_token;
        const router::AttemptId id = next->id;
        const PeerId peer = next->peer;
        const Outcome outcome = co_await attempt(relay);
        const TimePoint now = clock_.now();
        dispatcher_.handle_view(shared_.load()->routing);
        switch (outcome) {
            case Outcome::finished:
                dispatcher_.handle_finished(now, id, relay.load);
                co_return;
            case Outcome::client_gone:
                dispatcher_.handle_client_gone(now, id);
                co_return;
            case Outcome::busy:
                decision = dispatcher_.handle_busy(now, id, relay.load);
                break;
            case Outcome::connect_failed:
                dispatcher_.handle_peer_broken(now, peer);
                decision = dispatcher_.handle_failed(now, id, router::Failure::connect_failed);
                break;
            case Outcome::link_broken:
                if (!relay.attempt.local) dispatcher_.handle_peer_broken(now, peer);
                decision = dispatcher_.handle_failed(now, id, router::Failure::link_broken);
                break;
            case Outcome::draining:
                decision = dispatcher_.handle_failed(now, id, router::Failure::draining);
                break;
            case Outcome::refused:
                decision = dispatcher_.handle_failed(now, id, router::Failure::refused);
                break;
            case Outcome::timed_out:
                decision = dispatcher_.handle_failed(now, id, router::Failure::timeout);
                break;
            case Outcome::failed:
                decision = dispatcher_.handle_failed(now, id, router::Failure::server_error);
                break;
        }
    }
    if (const auto* reject = std::get_if<router::Reject>(&decision)) {
        io::HttpResponse response = to_response(*reject, relay.open.model);
        response.headers.add("x-request-id", relay.open.x_request_id);
        std::ignore = co_await exchange->respond(std::move(response));
    } else if (const auto* broken = std::get_if<router::Broken>(&decision)) {
        std::ignore = co_await exchange->write(
            openai::error_event(openai::upstream_failed(broken->error.message() + "; " + relay.failure)));
        std::ignore = co_await exchange->finish();
    }
}

asio::awaitable<Entry::Outcome> Entry::attempt(Relay& relay) {
    const router::Attempt& attempt = relay.attempt;
    wire::Open open = relay.open;
    open.replica = attempt.replica;
    open.session_position = attempt.position;
    open.resumed = relay.exchange->started();
    auto reader = co_await this->open(attempt, std::move(open));
    if (relay.exchange->disconnected()) co_return Outcome::client_gone;
    if (!reader) {
        relay.failure = reader.error().message();
        const std::error_code code = reader.error().code;
        if (code == io::errc::too_large) co_return Outcome::failed;
        if (code == io::errc::broken) co_return Outcome::link_broken;
        // A bound of this peer: no fault of the other one.
        if (code == io::errc::too_many || code == io::errc::system) co_return Outcome::busy;
        co_return Outcome::connect_failed;
    }
    if (!attempt.local) dispatcher_.handle_peer_ok(attempt.peer);
    dispatcher_.handle_accepted(attempt.id);
    if (!relay.exchange->started()) {
        relay.whole_body.clear();
        relay.head = {};
    }
    const Outcome outcome = co_await relay_reply(relay, reader.value());
    co_return outcome;
}

asio::awaitable<Result<std::shared_ptr<ReplyReader>>> Entry::open(const router::Attempt& attempt, wire::Open open) {
    if (attempt.local) {
        LocalReply local = make_local_reply(co_await asio::this_coro::executor);
        asio::co_spawn(co_await asio::this_coro::executor, serving_.serve(std::move(open), std::move(local.writer)),
                       asio::detached);
        co_return std::move(local.reader);
    }
    auto stream = co_await links_.open(attempt.link, attempt.peer, std::move(open));
    if (!stream) co_return stream.error();
    co_return reply_reader(std::move(stream).value());
}

asio::awaitable<Entry::Outcome> Entry::relay_reply(Relay& relay, std::shared_ptr<ReplyReader> reader) {
    io::HttpExchange& exchange = *relay.exchange;
    exchange.on_disconnect([weak = std::weak_ptr(reader)] {
        if (const auto alive = weak.lock()) alive->cancel();
    });
    Duration timeout = config_.first_byte_timeout;
    while (true) {
        auto part = co_await reader->read(timeout);
        if (exchange.disconnected()) co_return Outcome::client_gone;
        if (!part) {
            reader->cancel();
            relay.failure = part.error().message();
            co_return part.error().code == io::errc::timed_out ? Outcome::timed_out : Outcome::link_broken;
        }
        timeout = config_.idle_timeout;
        if (auto* head = std::get_if<wire::Head>(&part.value())) {
            relay.head = std::move(*head);
            const bool is_stream = relay.head.status == 200 && relay.head.content_type == "text/event-stream";
            if (exchange.started() && !is_stream) {
                // Such as a 400 of a replica with less context: JSON has no place in the stream that goes on.
                reader->cancel();
                relay.failure = fmt::format("the stream cannot go on there: status {}", relay.head.status);
                co_return Outcome::failed;
            }
            if (exchange.started() || !is_stream) continue;
            io::HttpHeaders headers = relay.headers();
            headers.add("cache-control", "no-cache");
            dispatcher_.handle_first_byte(relay.attempt.id);
            if (!co_await exchange.start(relay.head.status, std::move(headers))) co_return Outcome::client_gone;
        } else if (auto* data = std::get_if<wire::Data>(&part.value())) {
            if (!exchange.started()) {
                relay.whole_body += data->bytes;
                continue;
            }
            if (!data->tokens.empty() && data->offset != relay.open.tokens.size()) {
                reader->cancel();
                relay.failure = "the answer's token offsets are not contiguous";
                co_return Outcome::failed;
            }
            relay.open.tokens.insert(relay.open.tokens.end(), data->tokens.begin(), data->tokens.end());
            if (!data->bytes.empty() && !co_await exchange.write(std::move(data->bytes))) {
                reader->cancel();
                co_return Outcome::client_gone;
            }
        } else {
            const wire::End& end = std::get<wire::End>(part.value());
            relay.load = end.load;
            relay.failure = end.message;
            switch (end.code) {
                case wire::EndCode::ok: {
                    if (exchange.started()) {
                        co_return co_await exchange.finish() ? Outcome::finished : Outcome::client_gone;
                    }
                    io::HttpResponse response{relay.head.status, relay.headers(), std::move(relay.whole_body)};
                    co_return co_await exchange.respond(std::move(response)) ? Outcome::finished : Outcome::client_gone;
                }
                case wire::EndCode::busy:
                    co_return Outcome::busy;
                case wire::EndCode::draining:
                    co_return Outcome::draining;
                case wire::EndCode::not_found:
                case wire::EndCode::wrong_version:
                    co_return Outcome::refused;
                case wire::EndCode::deadline:
                    co_return Outcome::timed_out;
                case wire::EndCode::failed:
                case wire::EndCode::cancelled:
                case wire::EndCode::too_long:
                    co_return Outcome::failed;
            }
        }
    }
}

asio::awaitable<void> Entry::warm_up(Relay& relay, ReplicaId replica) {
    relay.attempt.replica = replica;
    relay.attempt.local = true;
    const Outcome outcome = co_await attempt(relay);
    if (outcome != Outcome::finished && outcome != Outcome::client_gone && !relay.exchange->started())
        std::ignore =
            co_await relay.exchange->respond(to_response(openai::unavailable("the replica did not answer", 1000)));
}

}  // namespace exa::app
