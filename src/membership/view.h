// View: what one peer believes about the cluster at one moment. Immutable once published; readers share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "wire/records.h"

namespace exa::membership {

// suspect: routing avoids it at once. dead: the ring drops it. lost: dead for so long that its work is re-created.
enum class Liveness : std::uint8_t { alive, suspect, dead, lost, left };

struct Member {
    std::shared_ptr<const wire::PeerRecord> record;  // never null
    Liveness liveness = Liveness::alive;
    Incarnation incarnation;
    TimePoint since;  // of this liveness, on the observer's clock
};

// Sorted by peer id. Views share it while no member changes: to copy one is to copy a pointer.
class MemberList {
  public:
    using Members = std::vector<std::shared_ptr<const Member>>;

    MemberList() = default;
    explicit MemberList(Members members) : members_(std::make_shared<const Members>(std::move(members))) {}
    // `member` has a higher id than all others. Other copies of the list do not change.
    void push_back(std::shared_ptr<const Member> member) {
        Members members(begin(), end());
        members.push_back(std::move(member));
        *this = MemberList(std::move(members));
    }

    std::size_t size() const { return members_ ? members_->size() : 0; }
    Members::const_iterator begin() const { return members_ ? members_->begin() : Members::const_iterator(); }
    Members::const_iterator end() const { return members_ ? members_->end() : Members::const_iterator(); }
    const std::shared_ptr<const Member>& front() const { return members_->front(); }
    // The very same members, not only equal ones.
    bool operator==(const MemberList& other) const {
        return members_ == other.members_ || std::ranges::equal(*this, other);
    }

  private:
    std::shared_ptr<const Members> members_;  // null: none
};

struct LoadEntry {
    wire::LoadReport report;
    TimePoint measured;  // on the observer's clock: received minus the age it had
};

// What the replicas of one peer last reported. Never changed, so that views of one observer share what stayed.
struct PeerLoads {
    PeerId peer;
    std::vector<LoadEntry> entries;  // sorted by replica id, one each
};

// Sorted by peer id, in chunks. Views share a chunk while none of its peers sends a new report: from one view to the
// next, the reports of few peers change.
class LoadList {
  public:
    using Chunk = std::vector<std::shared_ptr<const PeerLoads>>;
    using Chunks = std::vector<std::shared_ptr<const Chunk>>;
    static constexpr std::size_t chunk_peers = 16;  // in every chunk; the last one may hold fewer

    LoadList() = default;
    explicit LoadList(Chunks chunks) : chunks_(std::move(chunks)) {}
    // `loads` has a higher id than all others.
    void push_back(std::shared_ptr<const PeerLoads> loads);

    std::size_t size() const {
        return chunks_.empty() ? 0 : (chunks_.size() - 1) * chunk_peers + chunks_.back()->size();
    }
    bool empty() const { return chunks_.empty(); }
    const std::shared_ptr<const PeerLoads>& operator[](std::size_t i) const {
        return (*chunks_[i / chunk_peers])[i % chunk_peers];
    }
    const Chunks& chunks() const { return chunks_; }

  private:
    Chunks chunks_;
};

// What an operator should look at. The log says more when they begin and end.
struct Alarms {
    bool losses_held = false;       // more than a third of the peers are dead at once, so none of them becomes lost
    bool udp_blocked = false;       // our probes are answered over links only
    bool alone_with_seeds = false;  // there are seeds or members of before to ask, and none of them answers
    bool seed_silent = false;       // a seed has not answered for minutes
    PeerId name_holder{};           // a namesake that does not answer: we wait until it is called dead; 0: none
    bool operator==(const Alarms&) const = default;
};

// What two peers cannot do with one another, though others can.
enum class Channel : std::uint8_t {
    datagrams,
    link_to,   // we cannot open links to it
    link_from  // it cannot open links to us
};

struct BrokenChannel {
    PeerId peer;
    Channel channel = Channel::datagrams;
    TimePoint since;
    bool operator==(const BrokenChannel&) const = default;
};

struct View {
    std::uint64_t number = 0;  // grows with every publication of this peer
    PeerId self;
    Alarms alarms;
    // Nobody answers and nobody is heard, so that others may be well although no datagram of theirs comes.
    bool is_cut_off = false;
    MemberList members;  // self is one of them
    LoadList loads;      // of the peers that reported
    std::vector<BrokenChannel> broken;

    // Null when the peer is unknown. O(log n).
    const Member* find(PeerId id) const;
    const LoadEntry* find_load(const ReplicaId& id) const;
};

}  // namespace exa::membership
