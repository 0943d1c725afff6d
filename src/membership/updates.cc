#include "membership/updates.h"

#include <optional>
#include <utility>

namespace exa::membership {

namespace {

// Of a message. A record above it gets a message to itself.
constexpr std::size_t message_bytes = 64 * 1024;
// Four words of 8 bytes each with their tags.
constexpr std::size_t pull_bytes_max = 40;
static_assert(message_bytes + wire::record_bytes_max + wire::digest_entries_max * pull_bytes_max +
                  wire::message_size_bound <=
              wire::sync_bytes_max);

// Messages as they fill up.
class Messages {
  public:
    Messages(std::uint64_t seq, std::vector<wire::Pull> pulls) : seq_(seq) {
        current_ = empty();
        current_.pulls = std::move(pulls);
    }
    // The message that takes `bytes` more.
    wire::Sync& with_room(std::size_t bytes) {
        bytes_ += bytes;
        if (bytes_ <= message_bytes || bytes_ == bytes) return current_;
        current_.more = true;
        full_.push_back(std::exchange(current_, empty()));
        bytes_ = bytes;
        return current_;
    }
    std::vector<wire::Sync> take() {
        full_.push_back(std::move(current_));
        return std::move(full_);
    }

  private:
    wire::Sync empty() const {
        wire::Sync sync;
        sync.kind = wire::SyncKind::updates;
        sync.seq = seq_;
        return sync;
    }

    std::uint64_t seq_;
    std::size_t bytes_ = 0;
    wire::Sync current_;
    std::vector<wire::Sync> full_;
};

void add_load(TimePoint now, const LoadTable& loads, UpdateKey key, Messages& messages) {
    auto group = loads.group(now, key);
    if (group) messages.with_room(wire::size_bound(*group)).loads.push_back(std::move(*group));
}

// The fact and, unless the other peer has it, the record. In one message: a peer that is new to the reader must come
// with its state.
void add_peer(const Roster& roster, const Peer& peer, const wire::Pull& lacking, Messages& messages) {
    const bool same_generation = lacking.generation == peer.record->generation;
    const std::uint64_t base = same_generation ? lacking.version : 0;
    std::optional<std::size_t> delta_bytes;
    if (!same_generation || lacking.version < roster.digest(peer).version) delta_bytes = roster.delta_bytes(peer, base);
    const wire::Fact fact = Roster::fact(peer);
    wire::Sync& message = messages.with_room(wire::size_bound(fact) + delta_bytes.value_or(0));
    if (delta_bytes) message.records.push_back(*roster.delta(peer, base));
    message.facts.push_back(fact);
}

}  // namespace

std::vector<wire::Sync> make_updates(TimePoint now, const Roster& roster, const LoadTable& loads,
                                     UpdateRequest request) {
    if (request.lacking.empty() && request.pulls.empty() && request.seq == 0) return {};
    Messages messages(request.seq, std::move(request.pulls));
    for (const wire::Pull& lacking : request.lacking) {
        const Peer* peer = roster.find(lacking.peer);
        if (peer == nullptr || peer->out_of_view) continue;
        add_peer(roster, *peer, lacking, messages);
        if (lacking.version != 0 || request.with_loads) continue;
        for (std::size_t part = 0; part < loads.parts(lacking.peer); ++part)
            add_load(now, loads, {lacking.peer, static_cast<std::uint16_t>(part)}, messages);
    }
    if (request.with_loads)
        for (const UpdateKey& key : loads.keys()) add_load(now, loads, key, messages);
    return messages.take();
}

}  // namespace exa::membership
