#include "app/builtin/place_gate.h"

#include <fmt/format.h>

#include "engine/errc.h"

namespace exa::app {

PlaceGate::PlaceGate(std::uint32_t limit, const engine::QueueConfig& queue, Clock clock)
    : clock_(std::move(clock)), admission_(limit, queue) {}

Place PlaceGate::make_place() {
    return Place(this, [gate = shared_from_this()](const void*) { gate->give_back(); });
}

Result<Place> PlaceGate::take() {
    const std::lock_guard lock(mutex_);
    if (!admission_.try_acquire()) return error(engine::errc::busy, fmt::format("{} in flight", admission_.taken()));
    return make_place();
}

Result<engine::WaitTicket> PlaceGate::wait(engine::WaitTerms terms, Handler handler) {
    Answers answers;
    engine::WaitTicket ticket;
    {
        const std::lock_guard lock(mutex_);
        if (closed_) return error(engine::errc::busy, "the replica stops");
        EXA_TRY(const auto pushed, admission_.wait(clock_(), std::move(terms)));
        ticket = pushed.ticket;
        handlers_.emplace(ticket, std::move(handler));
        if (pushed.displaced) answer(*pushed.displaced, error(engine::errc::busy, "others go first"), answers);
        give_places(answers);
    }
    call(answers);
    return ticket;
}

void PlaceGate::leave(engine::WaitTicket ticket) {
    const std::lock_guard lock(mutex_);
    admission_.leave(ticket);
    handlers_.erase(ticket);
}

void PlaceGate::set_limit(std::uint32_t limit) {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        admission_.set_limit(limit);
        give_places(answers);
    }
    call(answers);
}

void PlaceGate::expire() {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        for (const engine::WaitTicket ticket : admission_.expire(clock_()))
            answer(ticket, error(engine::errc::deadline), answers);
    }
    call(answers);
}

TimePoint PlaceGate::next_deadline() const {
    const std::lock_guard lock(mutex_);
    return admission_.next_deadline();
}

void PlaceGate::close() {
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

PlaceGate::Counts PlaceGate::counts() const {
    const std::lock_guard lock(mutex_);
    return {admission_.limit(), admission_.taken(), admission_.waiting()};
}

void PlaceGate::give_places(Answers& answers) {
    while (const auto next = admission_.granted(clock_())) answer(*next, make_place(), answers);
}

void PlaceGate::answer(engine::WaitTicket ticket, Result<Place> place, Answers& answers) {
    const auto handler = handlers_.find(ticket);
    answers.emplace_back(std::move(handler->second), std::move(place));
    handlers_.erase(handler);
}

void PlaceGate::call(Answers& answers) {
    for (auto& [handler, place] : answers) handler(std::move(place));
}

void PlaceGate::give_back() {
    Answers answers;
    {
        const std::lock_guard lock(mutex_);
        admission_.release();
        give_places(answers);
    }
    call(answers);
}

}  // namespace exa::app
