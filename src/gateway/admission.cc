#include "gateway/admission.h"

#include <utility>

#include "base/check.h"

namespace exa::gateway {

namespace {

constexpr std::uint32_t leak_every = 8;

}  // namespace

bool Admission::try_acquire() {
    if (taken_ >= limit_ || queue_.size() > 0) return false;
    ++taken_;
    return true;
}

Result<engine::AdmissionQueue::Pushed> Admission::wait(TimePoint now, engine::WaitTerms terms) {
    return queue_.push(now, std::move(terms));
}

void Admission::release() {
    EXA_CHECK(taken_ > 0);
    if (mutant_ == Mutant::permits_leak && taken_ == limit_ && ++lost_ % leak_every == 0) return;
    --taken_;
}

std::optional<engine::WaitTicket> Admission::granted(TimePoint now) {
    if (taken_ >= limit_) return std::nullopt;
    const auto next = queue_.pop(now);
    if (next) ++taken_;
    return next;
}

}  // namespace exa::gateway
