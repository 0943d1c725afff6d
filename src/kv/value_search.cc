#include "kv/value_search.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace exa::kv {

KnownValue known_value(const KnownValue& on_disk, const Item& in_memory, bool is_unacked) {
    if (in_memory.stamp < on_disk.item.stamp) return on_disk;
    return {in_memory, is_unacked || in_memory.stamp == on_disk.item.stamp};
}

void ValueSearch::add_owner(std::uint32_t place, PeerId owner, bool is_self, bool reachable) {
    Finding& finding = findings_[place];
    if (is_self) {
        finding.owns = true;
        return;
    }
    if (!reachable) {
        finding.is_sure = false;
        return;
    }
    auto asks = std::ranges::find_if(
        asks_, [&](const Asks& one) { return one.to == owner && one.places.size() < question_items_max; });
    if (asks == asks_.end()) asks = asks_.insert(asks_.end(), Asks{owner, {}});
    asks->places.push_back(place);
}

std::optional<ValueSearch::Asks> ValueSearch::next_ask() {
    if (asks_.empty()) return std::nullopt;
    Asks asks = std::move(asks_.back());
    asks_.pop_back();
    ++open_;
    return asks;
}

void ValueSearch::answered(const Asks& asks, std::span<const Item> items) {
    EXA_CHECK(open_ > 0 && items.size() == asks.places.size());
    --open_;
    for (std::size_t i = 0; i < items.size(); ++i) {
        Finding& finding = findings_[asks.places[i]];
        const Item& item = items[i];
        if (item.key != key(asks.places[i])) {
            finding.is_sure = false;
            continue;
        }
        if (item.stamp == 0 || item.stamp < finding.last.stamp) continue;
        if (item.stamp > finding.last.stamp) {
            finding.last = item;
            finding.holders.clear();
        }
        // A peer that removed a version, or saw it expire, knows more than one that still has it.
        if (item.bytes == 0) finding.last.bytes = 0;
        finding.holders.push_back(asks.to);
    }
}

void ValueSearch::failed(const Asks& asks) {
    EXA_CHECK(open_ > 0);
    --open_;
    for (const std::uint32_t place : asks.places) findings_[place].is_sure = false;
}

std::vector<ValueVerdict> ValueSearch::verdicts() const {
    EXA_CHECK(is_over());
    std::vector<ValueVerdict> verdicts;
    verdicts.reserve(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) verdicts.push_back(verdict(values_[i], findings_[i]));
    return verdicts;
}

ValueVerdict ValueSearch::verdict(const KnownValue& known, const Finding& finding) const {
    ValueVerdict verdict;
    verdict.is_sure = finding.is_sure;
    const Item& mine = known.item;
    verdict.stamp = std::max(mine.stamp, finding.last.stamp);
    if (verdict.stamp == 0) return verdict;
    const bool counts = finding.owns || known.is_unacked;
    verdict.is_local = mine.stamp == verdict.stamp && (counts || finding.last.stamp == mine.stamp);
    if (finding.last.stamp == verdict.stamp) {
        verdict.is_removal = finding.last.bytes == 0;
        if (!verdict.is_local && !verdict.is_removal) {
            verdict.holders = finding.holders;
            verdict.bytes = finding.last.bytes;
        }
    }
    if (verdict.is_local) verdict.is_removal = verdict.is_removal || mine.bytes == 0;
    return verdict;
}

}  // namespace exa::kv
