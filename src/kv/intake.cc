#include "kv/intake.h"

#include <algorithm>

#include "base/check.h"

namespace exa::kv {

void Intake::handle_offer(OfferId id, PeerId from, const Question& question, const Placement& placement) {
    const std::size_t count = question.items.size();
    if (offers_.size() >= config_.offers) {
        answers_.push_back({id, std::vector(count, OfferOutcome::later)});
        return;
    }
    Offer& offer = offers_[id];
    offer.outcomes.assign(count, OfferOutcome::held);
    for (std::size_t i = 0; i < count; ++i) {
        const Item& item = question.items[i];
        const auto held = holdings_.find(item.key);
        if (held && held->stamp >= item.stamp) continue;
        if (question.kind != QuestionKind::move && !placement.owns(self_, item.key)) {
            offer.outcomes[i] = OfferOutcome::foreign;
            continue;
        }
        Missing* const missing = request(from, item);
        if (missing == nullptr) {
            offer.outcomes[i] = OfferOutcome::later;
            continue;
        }
        missing->waiting.emplace_back(id, i);
        ++offer.open;
    }
    if (offer.open > 0) return;
    answers_.push_back({id, std::move(offer.outcomes)});
    offers_.erase(id);
}

Intake::Missing* Intake::request(PeerId from, const Item& item) {
    const auto missing = missing_.find({item.key, item.stamp});
    if (missing != missing_.end()) return &missing->second;
    if (bytes_ > 0 && bytes_ + item.bytes > config_.bytes) return nullptr;
    bytes_ += item.bytes;
    queues_[from].push_back(item);
    return &missing_.emplace(Name{item.key, item.stamp}, Missing{item, {}}).first->second;
}

void Intake::forget(OfferId id) {
    offers_.erase(id);
}

std::optional<Intake::Fetch> Intake::next_fetch() {
    for (auto at = queues_.begin(); at != queues_.end(); ++at) {
        auto& [from, queue] = *at;
        const auto open = fetches_.find(from);
        if (open != fetches_.end() && open->second >= config_.fetches_per_peer) continue;
        Fetch fetch{from, {}};
        std::uint64_t bytes = 0;
        while (!queue.empty() && fetch.items.size() < question_items_max) {
            if (bytes > 0 && bytes + queue.front().bytes > config_.fetch_bytes) break;
            bytes += queue.front().bytes;
            fetch.items.push_back(queue.front());
            queue.pop_front();
        }
        ++fetches_[from];
        if (queue.empty()) queues_.erase(at);
        return fetch;
    }
    return std::nullopt;
}

void Intake::fetch_ended(PeerId from) {
    const auto at = fetches_.find(from);
    EXA_CHECK(at != fetches_.end() && at->second > 0);
    if (--at->second == 0) fetches_.erase(at);
}

void Intake::finish(const Item& item, OfferOutcome outcome) {
    const auto at = missing_.find({item.key, item.stamp});
    if (at == missing_.end()) return;
    bytes_ -= at->second.item.bytes;
    for (const auto& [id, place] : at->second.waiting) {
        const auto offer = offers_.find(id);
        if (offer == offers_.end()) continue;
        offer->second.outcomes[place] = outcome;
        if (--offer->second.open > 0) continue;
        answers_.push_back({id, std::move(offer->second.outcomes)});
        offers_.erase(offer);
    }
    missing_.erase(at);
}

std::optional<Intake::Answer> Intake::next_answer() {
    if (answers_.empty()) return std::nullopt;
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
}

}  // namespace exa::kv
