#include "engine/admission_queue.h"

#include <algorithm>

#include "base/check.h"
#include "engine/errc.h"

namespace exa::engine {

AdmissionQueue::AdmissionQueue(const QueueConfig& config) : config_(config) {
    EXA_CHECK(config.quantum >= 1);
}

bool AdmissionQueue::has_room(std::size_t requests, std::uint64_t tokens) const {
    return requests <= config_.requests_max && (tokens <= config_.tokens_max || requests == 1);
}

Result<AdmissionQueue::Pushed> AdmissionQueue::push(TimePoint now, WaitTerms terms) {
    EXA_CHECK(terms.priority < levels && terms.tokens >= 1);
    sweep(now);
    Pushed pushed;
    if (!has_room(size() + 1, tokens_ + terms.tokens)) {
        pushed.displaced = find_victim(terms);
        if (!pushed.displaced || !has_room(size(), tokens_ - waiting_.at(*pushed.displaced).tokens + terms.tokens))
            return error(errc::busy, std::to_string(size()) + " requests wait");
        remove(*pushed.displaced);
    }
    pushed.ticket = WaitTicket{next_ticket_++};
    std::deque<Tenant>& tenants = levels_[terms.priority].tenants;
    auto tenant = std::ranges::find(tenants, terms.tenant, &Tenant::name);
    if (tenant == tenants.end()) {
        tenants.push_back({.name = terms.tenant, .waiting = {}});
        tenant = tenants.end() - 1;
    }
    const auto place = std::upper_bound(
        tenant->waiting.begin(), tenant->waiting.end(), terms.deadline,
        [this](TimePoint deadline, WaitTicket ticket) { return deadline < waiting_.at(ticket).deadline; });
    tenant->waiting.insert(place, pushed.ticket);
    tenant->tokens += terms.tokens;
    tokens_ += terms.tokens;
    if (terms.deadline != time_never) deadlines_.emplace(terms.deadline, pushed.ticket);
    waiting_.emplace(pushed.ticket, std::move(terms));
    return pushed;
}

std::optional<WaitTicket> AdmissionQueue::find_victim(const WaitTerms& newcomer) const {
    for (std::uint32_t level = levels; level-- > newcomer.priority;) {
        const std::deque<Tenant>& tenants = levels_[level].tenants;
        if (tenants.empty()) continue;
        const auto most = std::ranges::max_element(tenants, {}, &Tenant::tokens);
        if (level > newcomer.priority) return most->waiting.back();
        const auto own = std::ranges::find(tenants, newcomer.tenant, &Tenant::name);
        const std::uint64_t own_tokens = (own == tenants.end() ? 0 : own->tokens) + newcomer.tokens;
        const std::uint64_t rest = most->tokens - waiting_.at(most->waiting.back()).tokens;
        if (most == own || rest < own_tokens) return std::nullopt;
        return most->waiting.back();
    }
    return std::nullopt;
}

std::optional<WaitTicket> AdmissionQueue::pop(TimePoint now) {
    sweep(now);
    const auto waits = [](const Level& level) { return !level.tenants.empty(); };
    const auto first = std::ranges::find_if(levels_, waits);
    if (first == levels_.end()) return std::nullopt;
    const auto owed = std::ranges::find_if(
        levels_, [&](const Level& level) { return waits(level) && level.passed_over >= passed_over_max; });
    const auto chosen = owed == levels_.end() ? first : owed;
    for (auto lower = chosen + 1; lower < levels_.end(); ++lower)
        if (waits(*lower)) ++lower->passed_over;
    chosen->passed_over = 0;
    const WaitTicket ticket = next_of(*chosen);
    remove(ticket);
    return ticket;
}

WaitTicket AdmissionQueue::next_of(Level& level) {
    while (true) {
        Tenant& tenant = level.tenants.front();
        if (!std::exchange(tenant.has_turn, true)) tenant.deficit += config_.quantum;
        const std::uint32_t tokens = waiting_.at(tenant.waiting.front()).tokens;
        if (tenant.deficit >= tokens) {
            tenant.deficit -= tokens;
            return tenant.waiting.front();
        }
        tenant.has_turn = false;
        level.tenants.push_back(std::move(tenant));
        level.tenants.pop_front();
    }
}

void AdmissionQueue::sweep(TimePoint now) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        expired_.push_back(*deadlines_.begin());
        remove(expired_.back().second);
    }
}

std::vector<WaitTicket> AdmissionQueue::expire(TimePoint now) {
    sweep(now);
    std::vector<WaitTicket> tickets;
    for (const auto& [deadline, ticket] : std::exchange(expired_, {})) tickets.push_back(ticket);
    return tickets;
}

TimePoint AdmissionQueue::next_deadline() const {
    if (!expired_.empty()) return expired_.front().first;
    return deadlines_.empty() ? time_never : deadlines_.begin()->first;
}

bool AdmissionQueue::erase(WaitTicket ticket) {
    if (!waiting_.contains(ticket))
        return std::erase_if(expired_, [ticket](const auto& entry) { return entry.second == ticket; }) > 0;
    remove(ticket);
    return true;
}

void AdmissionQueue::remove(WaitTicket ticket) {
    const auto at = waiting_.find(ticket);
    const WaitTerms& terms = at->second;
    Level& level = levels_[terms.priority];
    const auto tenant = std::ranges::find(level.tenants, terms.tenant, &Tenant::name);
    std::erase(tenant->waiting, ticket);
    tenant->tokens -= terms.tokens;
    tokens_ -= terms.tokens;
    if (tenant->waiting.empty()) level.tenants.erase(tenant);
    if (level.tenants.empty()) level.passed_over = 0;
    deadlines_.erase({terms.deadline, ticket});
    waiting_.erase(at);
}

}  // namespace exa::engine
