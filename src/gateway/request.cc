#include "gateway/request.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "gateway/rejection.h"

namespace exa::gateway {

namespace {

Outcome outcome_of(OpenFailure failure) {
    switch (failure) {
        case OpenFailure::connect_failed:
            return Outcome::connect_failed;
        case OpenFailure::link_broken:
            return Outcome::link_broken;
        case OpenFailure::too_large:
            return Outcome::failed;
        case OpenFailure::local_limit:
            return Outcome::busy;
    }
    return Outcome::failed;
}

// Of an outcome that is one.
router::Failure failure_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::draining:
            return router::Failure::draining;
        case Outcome::refused:
            return router::Failure::refused;
        case Outcome::suspect:
            return router::Failure::suspect;
        case Outcome::unfit:
            return router::Failure::unfit;
        case Outcome::no_permit:
            return router::Failure::no_permit;
        case Outcome::connect_failed:
            return router::Failure::connect_failed;
        case Outcome::link_broken:
            return router::Failure::link_broken;
        case Outcome::timed_out:
            return router::Failure::timeout;
        case Outcome::finished:
        case Outcome::client_gone:
        case Outcome::busy:
        case Outcome::failed:
            break;
    }
    return router::Failure::server_error;
}

}  // namespace

TimePoint Request::next_timeout() const {
    if (!silent_since_) return time_never;
    const TimePoint deadline = *silent_since_ + (heard_ ? config_.idle_timeout : config_.first_byte_timeout);
    return dispatched_ && !attempt_.local ? std::min(deadline, next_look_) : deadline;
}

void Request::start(TimePoint now, const RoutingHints& hints, Actions& actions) {
    router::RequestMeta meta;
    meta.wall = hints.wall;
    meta.tenant = open_.tenant;
    meta.model = open_.model;
    meta.session = hints.session;
    meta.prefix_hash = hints.prefix_hash;
    meta.prompt_tokens = hints.prompt_tokens;
    meta.fingerprint = hints.fingerprint;
    meta.priority = static_cast<std::uint32_t>(open_.priority);
    meta.resumable = true;
    follow(dispatcher_.begin(now, meta), actions);
}

void Request::start_at(ReplicaId replica, Actions& actions) {
    dispatched_ = false;
    router::Attempt local;
    local.replica = replica;
    local.local = true;
    begin_attempt(std::move(local), actions);
}

void Request::handle_opened(AttemptNumber attempt) {
    if (!is_current(attempt, State::opening)) return;
    state_ = State::replying;
    silent_since_.reset();
    dispatcher_.handle_peer_ok(attempt_.peer);
    dispatcher_.handle_accepted(attempt_.id);
}

void Request::handle_open_failed(TimePoint now, AttemptNumber attempt, OpenFailure failure, std::string why,
                                 Actions& actions) {
    if (!is_current(attempt, State::opening)) return;
    forwarder_.set_failure(std::move(why));
    conclude(now, outcome_of(failure), actions);
}

template <class Part>
void Request::take(TimePoint now, AttemptNumber attempt, Part part, Actions& actions) {
    if (!is_current(attempt, State::replying)) return;
    heard_ = true;
    silent_since_.reset();
    const bool was_started = started();
    const auto outcome = forwarder_.take(std::move(part), actions);
    if (!was_started && started()) dispatcher_.handle_first_byte(attempt_.id);
    if (outcome) conclude(now, *outcome, actions);
}

void Request::handle_head(TimePoint now, AttemptNumber attempt, wire::Head head, Actions& actions) {
    take(now, attempt, std::move(head), actions);
}

void Request::handle_data(TimePoint now, AttemptNumber attempt, wire::Data data, Actions& actions) {
    take(now, attempt, std::move(data), actions);
}

void Request::handle_end(TimePoint now, AttemptNumber attempt, wire::End end, Actions& actions) {
    take(now, attempt, std::move(end), actions);
}

void Request::handle_broken(TimePoint now, AttemptNumber attempt, std::string why, Actions& actions) {
    if (!is_current(attempt, State::replying)) return;
    forwarder_.set_failure(std::move(why));
    conclude(now, Outcome::link_broken, actions);
}

void Request::handle_drained(TimePoint now) {
    if ((state_ != State::opening && state_ != State::replying) || silent_since_) return;
    silent_since_ = now;
    next_look_ = now + look_period();
}

void Request::handle_client_gone(TimePoint now, Actions& actions) {
    if (state_ == State::opening || state_ == State::replying) conclude(now, Outcome::client_gone, actions);
}

void Request::handle_timeout(TimePoint now, Actions& actions) {
    if (now < next_timeout()) return;
    if (now - *silent_since_ >= (heard_ ? config_.idle_timeout : config_.first_byte_timeout)) {
        forwarder_.set_failure("the replica was silent for too long");
        conclude(now, Outcome::timed_out, actions);
        return;
    }
    next_look_ = now + look_period();
    if (!should_leave(now)) return;
    forwarder_.set_failure("silent, and its peer is suspect or dead");
    conclude(now, Outcome::suspect, actions);
}

bool Request::should_leave(TimePoint now) {
    if (config_.mutant == Mutant::links_decide && !started()) return false;
    const router::PeerDoubt doubt = dispatcher_.doubt(attempt_.id);
    if (doubt == router::PeerDoubt::none) {
        doubted_since_.reset();
        return false;
    }
    if (!doubted_since_) doubted_since_ = now;
    // A stream that stops speaks for itself. A replica that has not begun may have a long prompt to read, and most
    // suspicions are refuted soon.
    const TimePoint since = started() ? *silent_since_ : std::max(*silent_since_, *doubted_since_);
    if (doubt == router::PeerDoubt::suspect && now - since < config_.suspect_timeout) return false;
    return dispatcher_.could_move(now, attempt_.id);
}

void Request::follow(router::Decision decision, Actions& actions) {
    if (auto* next = std::get_if<router::Attempt>(&decision)) return begin_attempt(std::move(*next), actions);
    if (auto* rejected = std::get_if<router::Reject>(&decision)) return reject(std::move(*rejected), actions);
    if (const auto* broken = std::get_if<router::Broken>(&decision)) return break_off(*broken, actions);
    finish(false, actions);
}

void Request::begin_attempt(router::Attempt attempt, Actions& actions) {
    attempt_ = std::move(attempt);
    ++number_;
    heard_ = false;
    silent_since_.reset();
    doubted_since_.reset();
    open_.replica = attempt_.replica;
    open_.session_position = attempt_.position;
    open_.queue_wait = attempt_.queue_wait;
    forwarder_.begin(attempt_.replica, attempt_.numerics, std::move(attempt_.session_token), open_);
    if (attempt_.local) {
        state_ = State::replying;
        dispatcher_.handle_accepted(attempt_.id);
        actions.push_back(OpenLocal{number_});
    } else {
        state_ = State::opening;
        actions.push_back(OpenStream{number_});
    }
}

void Request::conclude(TimePoint now, Outcome outcome, Actions& actions) {
    silent_since_.reset();
    last_outcome_ = outcome;
    actions.push_back(Cancel{number_});
    if (dispatched_) {
        auto decision = report(now, outcome);
        if (decision) return follow(std::move(*decision), actions);
    } else if (outcome != Outcome::finished && outcome != Outcome::client_gone && !started()) {
        actions.push_back(SendError{openai::unavailable("the replica did not answer", 1000)});
    }
    finish(false, actions);
}

std::optional<router::Decision> Request::report(TimePoint now, Outcome outcome) {
    if (outcome != Outcome::finished && outcome != Outcome::client_gone)
        dispatcher_.handle_progress(attempt_.id, forwarder_.progress());
    switch (outcome) {
        case Outcome::finished:
            if (config_.mutant == Mutant::client_error_is_failure && forwarder_.status() >= 400) break;
            dispatcher_.handle_finished(now, attempt_.id, forwarder_.load());
            return std::nullopt;
        case Outcome::client_gone:
            dispatcher_.handle_client_gone(now, attempt_.id);
            return std::nullopt;
        case Outcome::busy:
            if (config_.mutant == Mutant::busy_is_failure) break;
            return dispatcher_.handle_busy(now, attempt_.id, forwarder_.load());
        case Outcome::connect_failed:
        case Outcome::link_broken:
            if (!attempt_.local) dispatcher_.handle_peer_broken(now, attempt_.peer);
            return dispatcher_.handle_failed(now, attempt_.id, failure_of(outcome));
        default:
            return dispatcher_.handle_failed(now, attempt_.id, failure_of(outcome));
    }
    return dispatcher_.handle_failed(now, attempt_.id, router::Failure::server_error);
}

void Request::reject(router::Reject reject, Actions& actions) {
    if (reject.retry_after && forwarder_.retry_after() > Duration(0)) reject.retry_after = forwarder_.retry_after();
    openai::ApiError error = rejection(reject, open_.model, forwarder_.failure());
    const bool failed = error.status >= 500;
    actions.push_back(SendError{std::move(error)});
    finish(failed, actions);
}

void Request::break_off(const router::Broken& broken, Actions& actions) {
    // An answer in one piece that is cut must look like it: the connection breaks.
    if (forwarder_.is_event_stream()) {
        const std::string why = forwarder_.failure().empty() ? broken.error.message() : forwarder_.failure();
        actions.push_back(SendBody{
            forwarder_.error_event(openai::upstream_failed("in the middle of the answer, " + why), open_.kind)});
        actions.push_back(SendEnd{});
    }
    finish(true, actions);
}

void Request::finish(bool failed, Actions& actions) {
    state_ = State::done;
    actions.push_back(Done{forwarder_.answer_tokens(), failed});
}

}  // namespace exa::gateway
