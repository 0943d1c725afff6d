#include "kv/offer_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace exa::kv {

bool OfferQueue::offer(PeerId to, const Item& item, bool moves) {
    Lane& lane = lanes_[to];
    if (lane.known.contains({item.key, item.stamp})) return true;
    if (lane.queue.size() >= config_.queue_items) {
        ++counters_.dropped;
        return false;
    }
    lane.known.emplace(item.key, item.stamp);
    lane.queue.push_back({item, moves});
    return true;
}

std::size_t OfferQueue::room(PeerId to) const {
    const auto lane = lanes_.find(to);
    return config_.queue_items - (lane != lanes_.end() ? lane->second.queue.size() : 0);
}

std::optional<OfferQueue::Offer> OfferQueue::next(TimePoint now, const Placement& placement) {
    const auto is_due = [&](const auto& lane) {
        return lane.second.asked.empty() && !lane.second.queue.empty() && now >= lane.second.not_before;
    };
    for (;;) {
        auto at = std::find_if(last_ ? lanes_.upper_bound(*last_) : lanes_.begin(), lanes_.end(), is_due);
        if (at == lanes_.end()) at = std::find_if(lanes_.begin(), lanes_.end(), is_due);
        if (at == lanes_.end()) return std::nullopt;
        last_ = at->first;
        Question question = fill(at->first, at->second, placement);
        if (!question.items.empty()) {
            counters_.offered += question.items.size();
            return Offer{at->first, std::move(question)};
        }
        lanes_.erase(at);
    }
}

// As much of a lane as one question may hold; empty when nothing in it needs to be offered any more.
Question OfferQueue::fill(PeerId to, Lane& lane, const Placement& placement) {
    Question question;
    std::uint64_t bytes = 0;
    while (!lane.queue.empty() && question.items.size() < question_items_max) {
        Waiting& waiting = lane.queue.front();
        if (!waiting.moves && !placement.owns(to, waiting.item.key)) {
            lane.known.erase({waiting.item.key, waiting.item.stamp});
            lane.queue.pop_front();
            continue;
        }
        const QuestionKind kind = waiting.moves ? QuestionKind::move : QuestionKind::offer;
        const bool fits = kind == question.kind && bytes + waiting.item.bytes <= config_.offer_bytes;
        if (!question.items.empty() && !fits) break;
        question.kind = kind;
        bytes += waiting.item.bytes;
        ++waiting.tries;
        question.items.push_back(waiting.item);
        lane.asked.push_back(std::move(waiting));
        lane.queue.pop_front();
    }
    return question;
}

std::vector<Item> OfferQueue::answered(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes) {
    std::vector<Item> held;
    const auto at = lanes_.find(from);
    if (at == lanes_.end()) return held;
    Lane& lane = at->second;
    EXA_CHECK(outcomes.size() == lane.asked.size());
    std::vector<Waiting> again;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const Item& item = lane.asked[i].item;
        switch (outcomes[i]) {
            case OfferOutcome::held:
                held.push_back(item);
                lane.known.erase({item.key, item.stamp});
                break;
            case OfferOutcome::refused:
                ++counters_.refused;
                lane.known.erase({item.key, item.stamp});
                break;
            case OfferOutcome::later:
            case OfferOutcome::foreign:
            case OfferOutcome::failed:
                again.push_back(std::move(lane.asked[i]));
                break;
        }
    }
    counters_.held += held.size();
    const bool all_failed = again.size() == outcomes.size();
    put_back(now, lane, std::move(again), all_failed);
    if (lane.queue.empty()) lanes_.erase(at);
    return held;
}

void OfferQueue::failed(TimePoint now, PeerId from) {
    const auto at = lanes_.find(from);
    if (at == lanes_.end()) return;
    put_back(now, at->second, std::move(at->second.asked), true);
    if (at->second.queue.empty()) lanes_.erase(at);
}

// Behind what waits already. The peer gets time when a whole question came to nothing, or when nothing else waits for
// it.
void OfferQueue::put_back(TimePoint now, Lane& lane, std::vector<Waiting> again, bool failed) {
    lane.asked.clear();
    lane.failures = failed ? lane.failures + 1 : 0;
    if (failed || lane.queue.empty())
        lane.not_before = now + config_.retry * (1 << std::min<std::uint32_t>(lane.failures, 5));
    for (Waiting& waiting : again) {
        if (waiting.tries < config_.tries && lane.queue.size() < config_.queue_items) {
            lane.queue.push_back(std::move(waiting));
            continue;
        }
        ++counters_.dropped;
        lane.known.erase({waiting.item.key, waiting.item.stamp});
    }
}

void OfferQueue::forget(PeerId to) {
    const auto at = lanes_.find(to);
    if (at == lanes_.end()) return;
    counters_.forgotten += at->second.queue.size();
    for (const Waiting& waiting : at->second.queue) at->second.known.erase({waiting.item.key, waiting.item.stamp});
    at->second.queue.clear();
    // An open question is still answered, or fails.
    if (at->second.asked.empty()) lanes_.erase(at);
}

TimePoint OfferQueue::next_timeout() const {
    TimePoint next = time_never;
    for (const auto& [peer, lane] : lanes_)
        if (lane.asked.empty() && !lane.queue.empty()) next = std::min(next, lane.not_before);
    return next;
}

bool OfferQueue::waits(const Item& item) const {
    return std::ranges::any_of(lanes_,
                               [&](const auto& lane) { return lane.second.known.contains({item.key, item.stamp}); });
}

std::size_t OfferQueue::waiting() const {
    std::size_t waiting = 0;
    for (const auto& [peer, lane] : lanes_) waiting += lane.queue.size() + lane.asked.size();
    return waiting;
}

}  // namespace exa::kv
