#include "kv/chain_fetch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace exa::kv {

ChainFetch::ChainFetch(std::vector<SegmentKey> chain, std::vector<bool> held, PeerId self, const Placement& placement,
                       const ChainFetchConfig& config)
    : self_(self), config_(config) {
    EXA_CHECK(chain.size() == held.size());
    std::map<PeerId, std::vector<std::uint32_t>> by_owner;
    segments_.reserve(chain.size());
    for (std::uint32_t place = 0; place < chain.size(); ++place) {
        Segment& segment = segments_.emplace_back();
        segment.key = chain[place];
        if (held[place]) {
            segment.state = State::held;
            continue;
        }
        segment.reader = self;
        bool has_reader = false;
        for (const PeerId owner : placement.owners(segment.key)) {
            if (owner != self && !placement.reachable(owner)) continue;
            if (!std::exchange(has_reader, true)) segment.reader = owner;
            if (owner != self) by_owner[owner].push_back(place);
        }
    }
    for (auto& [owner, places] : by_owner) {
        for (std::size_t first = 0; first < places.size(); first += question_items_max) {
            const std::size_t last = std::min(places.size(), first + question_items_max);
            lookups_.push_back({owner,
                                {places.begin() + static_cast<std::ptrdiff_t>(first),
                                 places.begin() + static_cast<std::ptrdiff_t>(last)}});
        }
    }
    if (lookups_.empty()) find_reach();
}

std::optional<ChainFetch::Asks> ChainFetch::next_lookup() {
    if (lookups_.empty()) return std::nullopt;
    Asks look = std::move(lookups_.back());
    lookups_.pop_back();
    ++lookups_open_;
    return look;
}

void ChainFetch::handle_lookup(const Asks& look, std::span<const Item> items) {
    EXA_CHECK(items.size() == look.places.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        Segment& segment = segments_[look.places[i]];
        if (items[i].bytes > 0 && items[i].key == segment.key) segment.sources.push_back({look.to, items[i].bytes});
    }
    handle_lookup_failed();
}

void ChainFetch::handle_lookup_failed() {
    EXA_CHECK(lookups_open_ > 0);
    --lookups_open_;
    if (!is_looking_up()) find_reach();
}

// Places that are held, asked for, or have a source that has not been tried.
void ChainFetch::find_reach() {
    reach_ = next_;
    while (reach_ < segments_.size() &&
           (segments_[reach_].state != State::missing || !segments_[reach_].sources.empty()))
        ++reach_;
    while (next_ < reach_ && segments_[next_].state == State::held) ++next_;
}

std::optional<std::vector<std::uint32_t>> ChainFetch::next_cold_lookup() {
    if (is_looking_up() || cold_lookup_open_ || !needs_cold_lookup()) return std::nullopt;
    std::vector<std::uint32_t> places;
    for (std::uint32_t place = reach_; place < segments_.size() && places.size() < question_items_max; ++place) {
        Segment& segment = segments_[place];
        if (segment.state != State::missing || !segment.sources.empty() || segment.is_cold_asked) continue;
        segment.is_cold_asked = true;
        places.push_back(place);
    }
    cold_lookup_open_ = true;
    return places;
}

void ChainFetch::handle_cold_lookup(std::span<const std::uint32_t> places, std::span<const Item> items) {
    EXA_CHECK(items.size() == places.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        Segment& segment = segments_[places[i]];
        if (items[i].bytes == 0 || items[i].key != segment.key) continue;
        segment.cold_bytes = items[i].bytes;
        segment.sources.push_back({segment.reader, segment.cold_bytes});
    }
    handle_cold_lookup_failed();
}

void ChainFetch::handle_cold_lookup_failed() {
    EXA_CHECK(cold_lookup_open_);
    cold_lookup_open_ = false;
    find_reach();
}

std::optional<ChainFetch::Asks> ChainFetch::next_fetch() {
    if (is_looking_up()) return std::nullopt;
    Asks fetch;
    std::uint64_t bytes = 0;
    for (std::uint32_t place = next_; place < reach_; ++place) {
        Segment& segment = segments_[place];
        if (segment.state != State::missing) continue;
        const auto load_of = [&](const Source& source) {
            const auto at = std::ranges::find(busy_, source.peer, &std::pair<PeerId, std::uint64_t>::first);
            return at != busy_.end() ? at->second : 0;
        };
        const auto least = std::ranges::min_element(segment.sources, {}, load_of);
        if (fetch.places.empty())
            fetch.to = least->peer;
        else if (least->peer != fetch.to)
            continue;
        const std::uint32_t size = least->bytes;
        const bool fits = window_ + size <= config_.window_bytes && bytes + size <= config_.fetch_bytes;
        if (!fits && (window_ > 0 || !fetch.places.empty())) break;
        segment.sources.erase(least);
        segment.state = State::asked;
        segment.bytes = size;
        window_ += size;
        bytes += size;
        fetch.places.push_back(place);
        if (fetch.places.size() == question_items_max) break;
    }
    if (fetch.places.empty()) return std::nullopt;
    const auto at = std::ranges::find(busy_, fetch.to, &std::pair<PeerId, std::uint64_t>::first);
    if (at != busy_.end())
        at->second += bytes;
    else
        busy_.emplace_back(fetch.to, bytes);
    return fetch;
}

void ChainFetch::arrived(PeerId from, std::uint32_t place, SealedSegment segment) {
    Segment& awaited = segments_[place];
    if (awaited.state != State::asked) return;
    const auto at = std::ranges::find(busy_, from, &std::pair<PeerId, std::uint64_t>::first);
    if (at != busy_.end()) at->second -= std::min<std::uint64_t>(at->second, awaited.bytes);
    if (segment != nullptr && place < reach_) {
        awaited.state = State::here;
        awaited.arrived = std::move(segment);
        awaited.is_cold = from == self_;
        return;
    }
    if (awaited.cold_bytes > 0 && from != self_)
        awaited.sources.push_back({self_, std::exchange(awaited.cold_bytes, 0)});
    window_ -= std::exchange(awaited.bytes, 0);
    awaited.state = State::missing;
    if (place < reach_ && awaited.sources.empty()) find_reach();
}

std::optional<ChainFetch::Delivery> ChainFetch::next_delivery() {
    if (next_ == reach_ || segments_[next_].state != State::here) return std::nullopt;
    Segment& segment = segments_[next_];
    Delivery given{next_++, std::move(segment.arrived), segment.is_cold};
    segment.state = State::delivered;
    window_ -= std::exchange(segment.bytes, 0);
    while (next_ < reach_ && segments_[next_].state == State::held) ++next_;
    return given;
}

}  // namespace exa::kv
