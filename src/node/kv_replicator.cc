#include "node/kv_replicator.h"

#include <algorithm>
#include <utility>

#include "node/kv_placement.h"

namespace exa::node {

ReceivedSegment check_received(const kv::SegmentSealer& sealer, const kv::Item& asked, kv::SealedSegment segment) {
    if (!segment) return {};
    const std::size_t bytes = segment->size();
    const auto head = sealer.verify(asked.key, segment->view());
    if (!head || head.value().stamp < asked.stamp) return {nullptr, bytes};
    return {std::move(segment), bytes};
}

KvReplicator::KvReplicator(PeerId self, const kv::Holdings& holdings, const KvReplicatorConfig& config)
    : self_(self), holdings_(holdings), config_(config), exchange_(self, holdings, config.exchange) {}

kv::FetchId KvReplicator::fetch_chain(TimePoint now, std::vector<kv::SegmentKey> chain, std::vector<bool> held,
                                      const kv::FetchTerms& terms) {
    const kv::FetchId id{++last_id_};
    exchange_.fetch_chain(now, id, std::move(chain), std::move(held), terms);
    return id;
}

kv::FetchId KvReplicator::fetch_value(TimePoint now, const kv::Item& item, std::vector<PeerId> holders) {
    const kv::FetchId id{++last_id_};
    exchange_.fetch_value(now, id, item, std::move(holders));
    return id;
}

kv::FindId KvReplicator::find(TimePoint now, const std::vector<kv::KnownValue>& values) {
    const kv::FindId id{++last_id_};
    exchange_.find(now, id, values);
    return id;
}

std::optional<std::size_t> KvReplicator::move(TimePoint now, PeerId to, std::span<const kv::SegmentKey> keys) {
    if (to == self_ || !placement().reachable(to)) return std::nullopt;
    std::size_t queued = 0;
    for (const kv::SegmentKey& key : keys) {
        const auto item = holdings_.find(key);
        // Values stay with their owners: another peer's disk gives them up as soon as the owners have them.
        if (item && item->stamp == 0 && exchange_.move(now, to, *item)) ++queued;
    }
    return queued;
}

void KvReplicator::handle_view(TimePoint now, const std::shared_ptr<const membership::View>& view) {
    if (view == view_) return;
    view_ = view;
    exchange_.handle_placement(now, std::make_shared<const kv::Placement>(kv_placement(*view)));
    std::vector<PeerId> reachable;
    for (const kv::Holder& holder : placement().holders())
        if (holder.reachable) reachable.push_back(holder.id);
    std::erase_if(progress_, [this](const auto& one) { return !placement().reachable(one.first); });
    has_others_ = std::ranges::any_of(reachable, [this](PeerId peer) { return peer != self_; });
    // Every peer in reach that keeps KV shares the cold tier's GC.
    if (!config_.exchange.chain.has_cold || reachable == cold_peers_) return;
    cold_peers_ = std::move(reachable);
    cold_ = {ColdPeers{cold_peers_}};
}

void KvReplicator::handle_cold_sizes(TimePoint now, kv::AskId id, std::span<const std::uint32_t> sizes) {
    const auto at = asked_.find(id);
    if (at == asked_.end()) return;
    const std::vector<kv::SegmentKey> keys = std::move(at->second.cold_keys);
    asked_.erase(at);
    if (sizes.size() != keys.size()) return exchange_.handle_failed(now, id);
    std::vector<kv::Item> items;
    items.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) items.push_back({keys[i], 0, sizes[i]});
    exchange_.handle_items(now, id, items);
}

bool KvReplicator::handle_bytes(TimePoint now, kv::AskId id, std::string_view bytes) {
    const auto at = asked_.find(id);
    if (at == asked_.end()) return false;
    Asked& asked = at->second;
    const bool has_body = asked.arrived.empty() && asked.cold_keys.empty();
    if (has_body && asked.body.size() + bytes.size() <= kv::answer_bytes_max(asked.items)) {
        asked.body += bytes;
        return true;
    }
    handle_failed(now, id);
    return false;
}

void KvReplicator::handle_end(TimePoint now, kv::AskId id) {
    const auto at = asked_.find(id);
    // The segments of a fetch may still be in verification.
    if (at == asked_.end() || !at->second.arrived.empty() || !at->second.cold_keys.empty()) return;
    const Asked asked = std::move(at->second);
    asked_.erase(at);
    if (asked.kind == kv::QuestionKind::lookup) {
        const auto items = kv::decode_items(asked.body, asked.items);
        if (items) return exchange_.handle_items(now, id, items.value());
    } else {
        const auto outcomes = kv::decode_outcomes(asked.body, asked.items);
        if (outcomes) return exchange_.handle_outcomes(now, id, outcomes.value());
    }
    exchange_.handle_failed(now, id);
}

void KvReplicator::handle_progress(TimePoint now, kv::AskId id) {
    const auto at = asked_.find(id);
    if (at == asked_.end() || at->second.arrived.empty()) return;
    TimePoint& heard = progress_[at->second.to];
    if (now - heard < config_.progress_period) return;
    heard = now;
    exchange_.handle_progress(now, at->second.to);
}

void KvReplicator::handle_segment(TimePoint now, kv::AskId id, std::size_t place, ReceivedSegment segment) {
    if (segment.arrived_bytes > 0) {
        ++fetched_;
        fetched_bytes_ += segment.arrived_bytes;
        if (!segment.segment) ++corrupt_;
    }
    auto at = asked_.find(id);
    if (at == asked_.end() || place >= at->second.arrived.size() || place < at->second.next) return;
    // A place arrives once.
    if (at->second.arrived[place]) return;
    at->second.arrived[place] = std::move(segment.segment);
    while (at != asked_.end() && at->second.arrived[at->second.next]) {
        kv::SealedSegment next = std::move(*at->second.arrived[at->second.next]);
        if (++at->second.next == at->second.arrived.size()) {
            asked_.erase(at);
            return exchange_.handle_segment(now, id, std::move(next));
        }
        exchange_.handle_segment(now, id, std::move(next));
        at = asked_.find(id);
    }
}

void KvReplicator::handle_failed(TimePoint now, kv::AskId id) {
    asked_.erase(id);
    exchange_.handle_failed(now, id);
}

std::optional<KvReplicator::Action> KvReplicator::poll_action() {
    if (!cold_.empty()) {
        Action action = std::move(cold_.front());
        cold_.pop_front();
        return action;
    }
    auto output = exchange_.poll_output();
    if (!output) return std::nullopt;
    note(*output);
    return std::visit(
        [](auto&& one) -> Action {
            using One = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<One, Exchange::Answer>)
                return Answer{one.id, kv::encode(std::span<const kv::OfferOutcome>(one.outcomes))};
            else
                return std::forward<decltype(one)>(one);
        },
        std::move(*output));
}

// Tracks which answers are awaited.
void KvReplicator::note(const Exchange::Output& output) {
    if (const auto* send = std::get_if<Exchange::Send>(&output)) {
        Asked& asked = asked_[send->id];
        asked.kind = send->question.kind;
        asked.to = send->to;
        asked.items = send->question.items.size();
        if (asked.kind == kv::QuestionKind::fetch) asked.arrived.resize(asked.items);
    } else if (const auto* look = std::get_if<Exchange::LookupCold>(&output)) {
        asked_[look->id].cold_keys = look->keys;
    } else if (const auto* read = std::get_if<Exchange::ReadCold>(&output)) {
        Asked& asked = asked_[read->id];
        asked.kind = kv::QuestionKind::fetch;
        asked.to = self_;
        asked.arrived.resize(read->keys.size());
    } else if (const auto* drop = std::get_if<Exchange::Drop>(&output)) {
        asked_.erase(drop->id);
    }
}

KvReplicatorStatus KvReplicator::status() const {
    KvReplicatorStatus status;
    const auto& holders = placement().holders();
    status.holders = holders.size();
    status.converged = exchange_.has_converged();
    status.handed_over = status.converged && std::ranges::find(holders, self_, &kv::Holder::id) == holders.end();
    status.waiting = exchange_.waiting();
    status.offers = exchange_.offers();
    status.repair = exchange_.repair();
    status.fetched = fetched_;
    status.fetched_bytes = fetched_bytes_;
    status.corrupt = corrupt_;
    status.recovered = recovered();
    return status;
}

}  // namespace exa::node
