#include "app/door/journey.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>
#include <variant>

#include "app/door/access_log.h"
#include "app/door/responses.h"
#include "io/errc.h"
#include "openai/error.h"

namespace exa::app {

namespace asio = boost::asio;

namespace {

void note_attempt(io::HttpExchange& exchange, const router::Attempt& attempt) {
    if (!exchange.takes_notes()) return;
    exchange.note(notes::replica, to_string(attempt.replica));
    exchange.note(notes::peer, to_string(attempt.replica.peer));
    exchange.note(notes::attempts, std::to_string(attempt.number));
}

// Why a stream to another peer could not be opened.
Outcome outcome_of(const std::error_code& code) {
    if (code == io::errc::too_large) return Outcome::failed;
    if (code == io::errc::broken) return Outcome::link_broken;
    // A bound of this peer: no fault of the other one.
    if (code == io::errc::too_many || code == io::errc::system) return Outcome::busy;
    return Outcome::connect_failed;
}

}  // namespace

Journey::Journey(JourneyParts& parts, std::shared_ptr<io::HttpExchange> exchange, wire::Open open,
                 std::shared_ptr<const void> hold)
    : parts_(parts), exchange_(std::move(exchange)), hold_(std::move(hold)), relay_(*exchange_, std::move(open)) {}

Journey::~Journey() {
    drop_reply();
}

template <class Step>
void Journey::carefully(Step step) {
    const auto self = shared_from_this();
    in_step_ = true;
    step();
    in_step_ = false;
    if (left_ && exchange_) conclude(Outcome::client_gone);
}

void Journey::go(router::Decision first) {
    exchange_->listen(shared_from_this());
    carefully([&] { follow(std::move(first)); });
}

void Journey::go_here(ReplicaId replica, bool charged) {
    placed_ = false;
    charged_ = charged;
    exchange_->listen(shared_from_this());
    router::Attempt local;
    local.replica = replica;
    local.local = true;
    carefully([&] {
        if (const auto outcome = attempt(std::move(local))) conclude(*outcome);
    });
}

void Journey::follow(router::Decision decision) {
    while (auto* next = std::get_if<router::Attempt>(&decision)) {
        const auto outcome = attempt(std::move(*next));
        if (!outcome) return;
        auto reported = report(*outcome);
        if (!reported) return end();
        decision = std::move(*reported);
    }
    if (auto* reject = std::get_if<router::Reject>(&decision)) refuse(std::move(*reject));
    if (const auto* broken = std::get_if<router::Broken>(&decision)) break_off(*broken);
    end();
}

std::optional<Outcome> Journey::attempt(router::Attempt attempt) {
    const wire::Open& open = relay_.begin(std::move(attempt));
    note_attempt(*exchange_, relay_.attempt());
    if (relay_.attempt().local) return take_reply(parts_.serving.open(open));
    if (auto opened = parts_.links.try_open(relay_.attempt().link, relay_.attempt().peer, open))
        return take_opened(std::move(*opened));
    asio::co_spawn(
        parts_.executor, [self = shared_from_this(), number = ++opening_] { return self->open_later(number); },
        asio::detached);
    return std::nullopt;
}

asio::awaitable<void> Journey::open_later(std::uint32_t number) {
    const auto self = shared_from_this();
    auto opened = co_await parts_.links.open(relay_.attempt().link, relay_.attempt().peer, relay_.open());
    // The client may have left meanwhile: then nobody waits for it.
    if (!exchange_ || number != opening_) co_return;
    carefully([&] {
        if (const auto outcome = take_opened(std::move(opened))) conclude(*outcome);
    });
}

std::optional<Outcome> Journey::take_opened(Result<std::shared_ptr<io::LinkStream>> opened) {
    if (opened) {
        parts_.dispatcher.handle_peer_ok(relay_.attempt().peer);
        return take_reply(reply_of(std::move(opened).value()));
    }
    relay_.set_failure(opened.error().message());
    return outcome_of(opened.error().code);
}

std::optional<Outcome> Journey::take_reply(std::shared_ptr<ReplyReader> reply) {
    parts_.dispatcher.handle_accepted(relay_.attempt().id);
    reply_ = std::move(reply);
    reply_->on_ready([this] { parts_.turn.add(shared_from_this()); });
    patience_ = parts_.first_byte_timeout;
    waits_ = false;
    return take_parts();
}

std::optional<Outcome> Journey::take_parts() {
    while (!left_ && !exchange_->is_full()) {
        auto part = reply_->poll();
        if (!part) {
            if (!std::exchange(waits_, true)) {
                waits_since_ = Clock::now();
                next_look_ = waits_since_ + parts_.suspect_timeout;
                if (exchange_->started() && relay_.attempt().local) parts_.turn.note_stream();
            }
            return std::nullopt;
        }
        waits_ = false;
        patience_ = parts_.idle_timeout;
        if (!*part) {
            relay_.set_failure(part->error().message());
            return Outcome::link_broken;
        }
        const bool was_started = exchange_->started();
        const auto outcome = relay_.take(std::move(part->value()));
        if (!was_started && exchange_->started()) parts_.dispatcher.handle_first_byte(relay_.attempt().id);
        if (outcome) return outcome;
    }
    waits_ = false;
    return std::nullopt;
}

void Journey::run() {
    if (!exchange_ || !reply_) return;
    carefully([&] {
        if (const auto outcome = take_parts()) conclude(*outcome);
    });
}

void Journey::drained() {
    parts_.turn.add(shared_from_this());
}

void Journey::client_left() {
    left_ = true;
    if (!in_step_ && exchange_) conclude(Outcome::client_gone);
}

void Journey::check(Clock::time_point now) {
    if (!waits_ || !exchange_ || !reply_) return;
    if (now - waits_since_ >= patience_) {
        relay_.set_failure(error(io::errc::timed_out).message());
        carefully([&] { conclude(Outcome::timed_out); });
        return;
    }
    if (!exchange_->started() || now < next_look_) return;
    next_look_ = now + parts_.suspect_timeout;
    parts_.dispatcher.handle_view(parts_.view.load()->routing);
    if (!parts_.dispatcher.should_move(relay_.attempt().id)) return;
    relay_.set_failure("silent, on a peer that is suspected of being down");
    carefully([&] { conclude(Outcome::suspect); });
}

void Journey::conclude(Outcome outcome) {
    const auto self = shared_from_this();
    drop_reply();
    if (placed_) {
        auto reported = report(outcome);
        if (reported) return follow(std::move(*reported));
    } else if (outcome != Outcome::finished && outcome != Outcome::client_gone && !exchange_->started()) {
        exchange_->push_answer(to_response(openai::unavailable("the replica did not answer", 1000)));
    }
    end();
}

std::optional<router::Decision> Journey::report(Outcome outcome) {
    const TimePoint now = parts_.clock.now();
    const router::Attempt& attempt = relay_.attempt();
    router::Dispatcher& dispatcher = parts_.dispatcher;
    dispatcher.handle_view(parts_.view.load()->routing);
    dispatcher.handle_progress(attempt.id, relay_.progress());
    const auto failed = [&](router::Failure failure) { return dispatcher.handle_failed(now, attempt.id, failure); };
    switch (outcome) {
        case Outcome::finished:
            dispatcher.handle_finished(now, attempt.id, relay_.load());
            return std::nullopt;
        case Outcome::client_gone:
            dispatcher.handle_client_gone(now, attempt.id);
            return std::nullopt;
        case Outcome::busy:
            return dispatcher.handle_busy(now, attempt.id, relay_.load());
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
            dispatcher.handle_peer_broken(now, attempt.peer);
            return failed(router::Failure::connect_failed);
        case Outcome::link_broken:
            if (!attempt.local) dispatcher.handle_peer_broken(now, attempt.peer);
            return failed(router::Failure::link_broken);
        case Outcome::timed_out:
            return failed(router::Failure::timeout);
        case Outcome::failed:
            break;
    }
    return failed(router::Failure::server_error);
}

void Journey::refuse(router::Reject reject) {
    if (reject.retry_after && relay_.retry_after() > Duration(0)) reject.retry_after = relay_.retry_after();
    io::HttpResponse response = to_response(reject, open().model, relay_.failure());
    parts_.failed += response.status >= 500;
    exchange_->push_answer(std::move(response));
}

void Journey::break_off(const router::Broken& broken) {
    ++parts_.failed;
    // An answer in one piece that is cut must look like it: the connection breaks.
    if (!relay_.is_event_stream()) return;
    exchange_->push_body(relay_.error_event(openai::upstream_failed(broken.error.message() + "; " + relay_.failure())));
    exchange_->push_end();
}

void Journey::drop_reply() {
    if (!reply_) return;
    reply_->on_ready({});
    // It cancels what is still under way.
    reply_.reset();
    waits_ = false;
}

void Journey::end() {
    ++opening_;
    if (charged_) parts_.gate.spend(open().tenant, relay_.answer_tokens());
    // An answer that was not finished is cut.
    exchange_.reset();
    if (is_linked()) unlink();
    if (parts_.on_end) parts_.on_end();
}

}  // namespace exa::app
