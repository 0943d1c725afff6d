#include "app/builtin/concurrency_limiter.h"

#include <fmt/format.h>

#include "engine/errc.h"

namespace exa::app::builtin {

ConcurrencyLimiter::ConcurrencyLimiter(std::uint32_t limit, const engine::QueueConfig& queue, Clock clock)
    : clock_(std::move(clock)), admission_(limit, queue) {}

Permit ConcurrencyLimiter::make_permit() {
    return Permit(this, [limiter = shared_from_this()](const void*) { limiter->give_back(); });
}

Result<Permit> ConcurrencyLimiter::take() {
    const std::lock_guard lock(mutex_);
    if (!admission_.try_acquire()) return error(engine::errc::busy, fmt::format("{} in flight", admission_.taken()));
    return make_permit();
}

Result<engine::WaitTicket> ConcurrencyLimiter::wait(engine::WaitTerms terms, Handler handler) {
    Answers answers;
    engine::WaitTicket ticket;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return error(engine::errc::busy, "the replica stops");
        EXA_TRY(const auto pushed, admission_.wait(clock_(), std::move(terms)));
        ticket = pushed.ticket;
        handlers_.emplace(ticket, std::move(handler));
        if (pushed.displaced) answer(*pushed.displaced, error(engine::errc::busy, "others go first"), answers);
        give_permits(answers);
    }
    call(answers);
    return ticket;
}

void ConcurrencyLimiter::leave(engine::WaitTicket ticket) {
    const std::lock_guard lock(mutex_);
    admission_.leave(ticket);
    handlers_.erase(ticket);
}

void ConcurrencyLimiter::set_limit(std::uint32_t limit) {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        admission_.set_limit(limit);
        give_permits(answers);
    }
    call(answers);
}

void ConcurrencyLimiter::expire() {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        for (const engine::WaitTicket ticket : admission_.expire(clock_()))
            answer(ticket, error(engine::errc::deadline), answers);
    }
    call(answers);
}

TimePoint ConcurrencyLimiter::next_deadline() const {
    const std::lock_guard lock(mutex_);
    return admission_.next_deadline();
}

void ConcurrencyLimiter::close() {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        while (!handlers_.empty()) {
            const engine::WaitTicket ticket = handlers_.begin()->first;
            admission_.leave(ticket);
            answer(ticket, error(engine::errc::busy, "the replica stops"), answers);
        }
    }
    call(answers);
}

ConcurrencyLimiter::Counts ConcurrencyLimiter::counts() const {
    const std::lock_guard lock(mutex_);
    return {admission_.limit(), admission_.taken(), admission_.waiting()};
}

void ConcurrencyLimiter::give_permits(Answers& answers) {
    while (const auto next = admission_.granted(clock_())) answer(*next, make_permit(), answers);
}

void ConcurrencyLimiter::answer(engine::WaitTicket ticket, Result<Permit> permit, Answers& answers) {
    const auto handler = handlers_.find(ticket);
    answers.emplace_back(std::move(handler->second), std::move(permit));
    handlers_.erase(handler);
}

void ConcurrencyLimiter::call(Answers& answers) {
    for (auto& [handler, permit] : answers) handler(std::move(permit));
}

void ConcurrencyLimiter::give_back() {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        admission_.release();
        give_permits(answers);
    }
    call(answers);
}

}  // namespace exa::app::builtin
