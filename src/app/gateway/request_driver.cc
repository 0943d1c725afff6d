#include "app/gateway/request_driver.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>
#include <utility>
#include <variant>

#include "app/gateway/access_log.h"
#include "app/gateway/responses.h"
#include "io/errc.h"

namespace exa::app::gateway {

namespace asio = boost::asio;

namespace {

exa::gateway::OpenFailure open_failure_of(const std::error_code& code) {
    if (code == io::errc::too_large) return exa::gateway::OpenFailure::too_large;
    if (code == io::errc::broken) return exa::gateway::OpenFailure::link_broken;
    if (code == io::errc::too_many || code == io::errc::system) return exa::gateway::OpenFailure::local_limit;
    return exa::gateway::OpenFailure::connect_failed;
}

}  // namespace

RequestDriver::RequestDriver(RequestDeps& deps, std::shared_ptr<io::http::HttpExchange> exchange, wire::Open open,
                             std::shared_ptr<const void> hold)
    : deps_(deps),
      exchange_(std::move(exchange)),
      hold_(std::move(hold)),
      request_(deps.config, deps.dispatcher, std::move(open)) {}

RequestDriver::~RequestDriver() {
    drop_reply();
}

void RequestDriver::start(const exa::gateway::RoutingHints& hints) {
    exchange_->listen(shared_from_this());
    step([&](exa::gateway::Actions& actions) {
        refresh_view();
        request_.start(now_, hints, actions);
    });
}

void RequestDriver::start_at(ReplicaId replica, bool charged) {
    charged_ = charged;
    exchange_->listen(shared_from_this());
    step([&](exa::gateway::Actions& actions) { request_.start_at(replica, actions); });
}

void RequestDriver::check(TimePoint now) {
    if (now < request_.next_timeout()) return;
    step([&](exa::gateway::Actions& actions) {
        refresh_view();
        request_.handle_timeout(now, actions);
    });
}

void RequestDriver::run() {
    if (exchange_ && reply_) step([](exa::gateway::Actions&) {});
}

void RequestDriver::client_left() {
    client_gone_ = true;
    if (!in_step_ && exchange_) step([](exa::gateway::Actions&) {});
}

void RequestDriver::drained() {
    deps_.ready.add(shared_from_this());
}

template <class Event>
void RequestDriver::step(Event event) {
    const auto self = shared_from_this();
    now_ = deps_.clock.now();
    exa::gateway::Actions actions = std::exchange(deps_.actions, {});
    in_step_ = true;
    event(actions);
    do {
        carry_out(actions);
        if (client_gone_ && exchange_) {
            refresh_view();
            request_.handle_client_gone(now_, actions);
            carry_out(actions);
        }
    } while (exchange_ && take_part(actions));
    in_step_ = false;
    deps_.actions = std::move(actions);
}

void RequestDriver::carry_out(exa::gateway::Actions& actions) {
    // Opening may append to the actions, so that nothing of one is used after that.
    for (std::size_t i = 0; i < actions.size(); ++i) {
        exa::gateway::Action& action = actions[i];
        if (auto* body = std::get_if<exa::gateway::SendBody>(&action)) {
            exchange_->push_body(std::move(body->bytes));
        } else if (auto* head = std::get_if<exa::gateway::SendHead>(&action)) {
            send_head(std::move(*head));
        } else if (std::holds_alternative<exa::gateway::SendEnd>(action)) {
            exchange_->push_end();
        } else if (std::holds_alternative<exa::gateway::OpenLocal>(action)) {
            note_attempt();
            take_reply(deps_.receiver.open(request_.open()));
        } else if (const auto* open = std::get_if<exa::gateway::OpenStream>(&action)) {
            note_attempt();
            open_stream(open->attempt, actions);
        } else if (std::holds_alternative<exa::gateway::Cancel>(action)) {
            drop_reply();
        } else if (const auto* failed = std::get_if<exa::gateway::SendError>(&action)) {
            exchange_->push_answer(to_response(failed->error));
        } else {
            finish(std::get<exa::gateway::Done>(action));
        }
    }
    actions.clear();
}

bool RequestDriver::take_part(exa::gateway::Actions& actions) {
    if (!reply_) {
        request_.handle_drained(now_);
        return false;
    }
    if (exchange_->is_full()) {
        request_.handle_client_slow();
        return false;
    }
    const exa::gateway::AttemptNumber attempt = request_.attempt_number();
    auto part = reply_->poll();
    if (!part) {
        if (request_.started() && request_.attempt().local) deps_.ready.note_stream();
        request_.handle_drained(now_);
        return false;
    }
    if (!*part) {
        refresh_view();
        request_.handle_broken(now_, attempt, part->error().message(), actions);
    } else if (auto* data = std::get_if<wire::Data>(&part->value())) {
        request_.handle_data(now_, attempt, std::move(*data), actions);
    } else if (auto* head = std::get_if<wire::Head>(&part->value())) {
        request_.handle_head(now_, attempt, std::move(*head), actions);
    } else {
        refresh_view();
        request_.handle_end(now_, attempt, std::get<wire::End>(std::move(part->value())), actions);
    }
    return true;
}

void RequestDriver::open_stream(exa::gateway::AttemptNumber attempt, exa::gateway::Actions& actions) {
    const router::Attempt& to = request_.attempt();
    if (auto opened = deps_.links.try_open(to.link, to.peer, request_.open()))
        return take_opened(attempt, std::move(*opened), actions);
    asio::co_spawn(
        deps_.executor, [self = shared_from_this(), attempt] { return self->open_later(attempt); }, asio::detached);
}

asio::awaitable<void> RequestDriver::open_later(exa::gateway::AttemptNumber attempt) {
    const auto self = shared_from_this();
    auto opened = co_await deps_.links.open(request_.attempt().link, request_.attempt().peer, request_.open());
    // The request may be over, or elsewhere: then nobody waits for the stream.
    if (!exchange_ || attempt != request_.attempt_number()) co_return;
    step([&](exa::gateway::Actions& actions) { take_opened(attempt, std::move(opened), actions); });
}

void RequestDriver::take_opened(exa::gateway::AttemptNumber attempt,
                                Result<std::shared_ptr<io::link::OutboundStream>> opened,
                                exa::gateway::Actions& actions) {
    if (opened) {
        request_.handle_opened(attempt);
        take_reply(replica::reply_of(std::move(opened).value()));
        return;
    }
    refresh_view();
    request_.handle_open_failed(now_, attempt, open_failure_of(opened.error().code), opened.error().message(), actions);
}

void RequestDriver::take_reply(std::shared_ptr<replica::ReplyReader> reply) {
    reply_ = std::move(reply);
    reply_->on_ready([this] { deps_.ready.add(shared_from_this()); });
}

void RequestDriver::send_head(exa::gateway::SendHead head) {
    io::http::HttpHeaders fields;
    fields.add("content-type", head.content_type);
    fields.add("x-exaserve-replica", to_string(head.replica));
    if (!head.session_token.empty()) fields.add("x-session-id", head.session_token);
    for (const wire::HeaderField& field : head.headers) fields.add(field.name, field.value);
    if (head.is_event_stream) {
        fields.add("cache-control", "no-cache");
        // nginx holds a stream back until a buffer is full, unless told.
        if (!fields.find("x-accel-buffering")) fields.add("x-accel-buffering", "no");
    }
    exchange_->push_head(head.status, std::move(fields), head.content_length);
}

void RequestDriver::drop_reply() {
    if (!reply_) return;
    reply_->on_ready({});
    // It cancels what is still under way.
    reply_.reset();
}

void RequestDriver::finish(const exa::gateway::Done& done) {
    deps_.failed += done.failed;
    if (charged_) deps_.authorizer.spend(open().tenant, done.answer_tokens);
    // An answer without its end is cut.
    exchange_.reset();
    if (is_linked()) unlink();
    if (deps_.on_end) deps_.on_end();
}

void RequestDriver::note_attempt() {
    if (!exchange_->wants_annotations()) return;
    const router::Attempt& attempt = request_.attempt();
    exchange_->annotate(annotations::replica, to_string(attempt.replica));
    exchange_->annotate(annotations::peer, to_string(attempt.replica.peer));
    exchange_->annotate(annotations::attempts, std::to_string(attempt.number));
}

}  // namespace exa::app::gateway
