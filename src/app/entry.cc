#include "app/entry.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "app/access_log.h"
#include "app/responses.h"
#include "app/traceparent.h"
#include "app/warm_up_header.h"
#include "base/hash.h"
#include "io/errc.h"
#include "io/random.h"
#include "openai/answer.h"
#include "openai/error.h"
#include "openai/scan.h"
#include "openai/session.h"

namespace exa::app {

namespace asio = boost::asio;

namespace {

// Of an answer that has one.
std::string make_response_id(wire::RequestKind kind) {
    switch (kind) {
        case wire::RequestKind::chat:
            return openai::answer_id(openai::Shape::chat, io::random_u64(), io::random_u64());
        case wire::RequestKind::completion:
            return openai::answer_id(openai::Shape::completion, io::random_u64(), io::random_u64());
        case wire::RequestKind::response:
            return openai::random_id("resp_", io::random_u64(), io::random_u64());
        case wire::RequestKind::embedding:
        case wire::RequestKind::tokenize:
        case wire::RequestKind::detokenize:
        case wire::RequestKind::unknown:
            break;
    }
    return {};
}

bool is_about_tokens(wire::RequestKind kind) {
    return kind == wire::RequestKind::tokenize || kind == wire::RequestKind::detokenize;
}

// The one that a request means which names none.
std::optional<std::string> sole_model(const router::RoutingView& view) {
    std::optional<std::string> model;
    for (const router::Pool& pool : view.pools()) {
        if (pool.count == 0) continue;
        if (model && *model != pool.key.model) return std::nullopt;
        model = pool.key.model;
    }
    return model;
}

wire::Open make_open(const io::HttpRequest& request, wire::RequestKind kind, const openai::Scan& scan,
                     const std::string& model, const Caller& caller, WallTime wall) {
    wire::Open open;
    open.model = model;
    open.kind = kind;
    open.tenant = caller.tenant;
    open.priority = caller.priority;
    open.x_request_id = request.id;
    open.response_id = make_response_id(kind);
    open.created_unix_s = wall.unix_seconds();
    open.seed = scan.seed ? *scan.seed : io::random_u64();
    open.body = request.body;
    open.headers = trace_fields(request.headers);
    return open;
}

// Charges the tenant for an answer, however its request ends.
class Bill {
  public:
    Bill(Gate& gate, const Caller& caller, const Relay& relay) : gate_(gate), caller_(caller), relay_(relay) {}
    Bill(const Bill&) = delete;
    Bill& operator=(const Bill&) = delete;
    ~Bill() { gate_.spend(caller_, relay_.answer_tokens()); }

  private:
    Gate& gate_;
    const Caller& caller_;
    const Relay& relay_;
};

void note_attempt(io::HttpExchange& exchange, const router::Attempt& attempt) {
    if (!exchange.takes_notes()) return;
    exchange.note(notes::replica, to_string(attempt.replica));
    exchange.note(notes::peer, to_string(attempt.replica.peer));
    exchange.note(notes::attempts, std::to_string(attempt.number));
}

}  // namespace

asio::awaitable<void> Entry::handle(io::HttpRequest request, std::shared_ptr<io::HttpExchange> exchange,
                                    wire::RequestKind kind, Caller caller) {
    const std::shared_ptr<const Epoch> epoch = epoch_;
    openai::ApiResult<openai::Scan> scanned = openai::Scan{};
    if (!config_.hash_only) scanned = openai::scan(request.body);
    if (!scanned) {
        std::ignore = co_await exchange->respond(to_response(scanned.error()));
        co_return;
    }
    const openai::Scan& scan = scanned.value();
    std::string model(config_.hash_only ? request.headers.find("x-model").value_or("") : scan.model.text());
    if (model.empty() && (config_.hash_only || is_about_tokens(kind)))
        model = sole_model(*shared_.load()->routing).value_or("");
    if (model.empty()) {
        std::ignore = co_await exchange->respond(to_response(openai::missing("model")));
        co_return;
    }
    const WallTime wall = clock_.wall();
    Relay relay(exchange, make_open(request, kind, scan, model, caller, wall));
    if (const auto replica = warm_up_target(request, config_.warm_up_secret)) {
        co_await answer_here(relay, *replica);
        co_return;
    }

    const auto admitted = gate_.admit(caller, model, scan.prompt_tokens_estimate);
    if (!admitted) {
        std::ignore = co_await exchange->respond(to_response(admitted.error()));
        co_return;
    }
    const Bill bill(gate_, caller, relay);
    if (is_about_tokens(kind)) {
        // That takes no place of a replica, so that any will do.
        if (const auto replica = serving_.find_ready(model, caller.tenant)) {
            co_await answer_here(relay, *replica);
            co_return;
        }
    }
    const openai::Session session =
        openai::pick_session(request.headers.find("x-session-id").value_or(std::string_view{}), scan);
    router::RequestMeta meta;
    meta.wall = wall;
    meta.tenant = caller.tenant;
    meta.model = model;
    meta.session = session.id;
    meta.prefix_hash = hash64(as_bytes(scan.leading));
    meta.prompt_tokens = scan.prompt_tokens_estimate;
    meta.level = static_cast<std::uint32_t>(caller.priority);
    meta.resumable = true;

    dispatcher_.handle_view(shared_.load()->routing);
    router::Decision decision = dispatcher_.begin(clock_.now(), meta);
    while (auto* next = std::get_if<router::Attempt>(&decision)) {
        // Who has no numerics makes no tokens.
        if (next->numerics == 0) relay.pass_on(request);
        const Outcome outcome = co_await attempt(relay, std::move(*next));
        auto reported = report(relay, outcome);
        if (!reported) co_return;
        decision = std::move(*reported);
    }
    if (auto* reject = std::get_if<router::Reject>(&decision)) {
        if (reject->retry_after && relay.retry_after() > Duration(0)) reject->retry_after = relay.retry_after();
        io::HttpResponse response = to_response(*reject, model);
        failed_ += response.status >= 500;
        std::ignore = co_await exchange->respond(std::move(response));
    } else if (const auto* broken = std::get_if<router::Broken>(&decision)) {
        ++failed_;
        // An answer in one piece that is cut must look like it: the connection breaks.
        if (!relay.is_event_stream()) co_return;
        std::ignore = co_await exchange->write(
            relay.error_event(openai::upstream_failed(broken->error.message() + "; " + relay.failure())));
        std::ignore = co_await exchange->finish();
    }
}

asio::awaitable<Outcome> Entry::attempt(Relay& relay, router::Attempt attempt) {
    wire::Open request = relay.begin(std::move(attempt));
    note_attempt(relay.exchange(), relay.attempt());
    auto opened = co_await open(relay.attempt(), std::move(request));
    io::HttpExchange& exchange = relay.exchange();
    if (exchange.disconnected()) co_return Outcome::client_gone;
    if (!opened) {
        relay.set_failure(opened.error().message());
        const std::error_code code = opened.error().code;
        if (code == io::errc::too_large) co_return Outcome::failed;
        if (code == io::errc::broken) co_return Outcome::link_broken;
        // A bound of this peer: no fault of the other one.
        if (code == io::errc::too_many || code == io::errc::system) co_return Outcome::busy;
        co_return Outcome::connect_failed;
    }
    if (!relay.attempt().local) dispatcher_.handle_peer_ok(relay.attempt().peer);
    dispatcher_.handle_accepted(relay.attempt().id);

    exchange.on_disconnect([weak = std::weak_ptr(opened.value())] {
        if (const auto alive = weak.lock()) alive->cancel();
    });
    PulledReply reply(co_await asio::this_coro::executor, std::move(opened).value());
    Duration timeout = config_.first_byte_timeout;
    Duration silent{0};
    while (true) {
        auto part = reply.poll();
        const Duration wait =
            exchange.started() ? std::min(timeout - silent, config_.suspect_timeout) : timeout - silent;
        if (!part) part = co_await reply.read(wait);
        if (exchange.disconnected()) co_return Outcome::client_gone;
        if (!*part && part->error().code == io::errc::timed_out && silent + wait < timeout) {
            silent += wait;
            dispatcher_.handle_view(shared_.load()->routing);
            if (!dispatcher_.should_move(relay.attempt().id)) continue;
            relay.set_failure("silent, on a peer that is suspected of being down");
            co_return Outcome::suspect;
        }
        silent = Duration{0};
        if (!*part) {
            relay.set_failure(part->error().message());
            co_return part->error().code == io::errc::timed_out ? Outcome::timed_out : Outcome::link_broken;
        }
        timeout = config_.idle_timeout;
        const bool was_started = exchange.started();
        const auto outcome = co_await relay.take(std::move(part->value()));
        if (!was_started && exchange.started()) dispatcher_.handle_first_byte(relay.attempt().id);
        if (outcome) co_return *outcome;
    }
}

asio::awaitable<Result<std::shared_ptr<ReplyReader>>> Entry::open(const router::Attempt& attempt, wire::Open open) {
    if (attempt.local) co_return serving_.open(std::move(open));
    auto stream = co_await links_.open(attempt.link, attempt.peer, std::move(open));
    if (!stream) co_return stream.error();
    co_return reply_of(std::move(stream).value());
}

std::optional<router::Decision> Entry::report(const Relay& relay, Outcome outcome) {
    const TimePoint now = clock_.now();
    const router::Attempt& attempt = relay.attempt();
    dispatcher_.handle_view(shared_.load()->routing);
    dispatcher_.handle_progress(attempt.id, relay.progress());
    const auto failed = [&](router::Failure failure) { return dispatcher_.handle_failed(now, attempt.id, failure); };
    switch (outcome) {
        case Outcome::finished:
            dispatcher_.handle_finished(now, attempt.id, relay.load());
            return std::nullopt;
        case Outcome::client_gone:
            dispatcher_.handle_client_gone(now, attempt.id);
            return std::nullopt;
        case Outcome::busy:
            return dispatcher_.handle_busy(now, attempt.id, relay.load());
        case Outcome::draining:
            return failed(router::Failure::draining);
        case Outcome::refused:
            return failed(router::Failure::refused);
        case Outcome::suspect:
            return failed(router::Failure::suspect);
        case Outcome::unfit:
            return failed(router::Failure::unfit);
        case Outcome::no_place:
            return failed(router::Failure::no_place);
        case Outcome::connect_failed:
            dispatcher_.handle_peer_broken(now, attempt.peer);
            return failed(router::Failure::connect_failed);
        case Outcome::link_broken:
            if (!attempt.local) dispatcher_.handle_peer_broken(now, attempt.peer);
            return failed(router::Failure::link_broken);
        case Outcome::timed_out:
            return failed(router::Failure::timeout);
        case Outcome::failed:
            break;
    }
    return failed(router::Failure::server_error);
}

asio::awaitable<void> Entry::answer_here(Relay& relay, ReplicaId replica) {
    router::Attempt local;
    local.replica = replica;
    local.local = true;
    const Outcome outcome = co_await attempt(relay, std::move(local));
    if (outcome != Outcome::finished && outcome != Outcome::client_gone && !relay.exchange().started())
        std::ignore =
            co_await relay.exchange().respond(to_response(openai::unavailable("the replica did not answer", 1000)));
}

}  // namespace exa::app
