// Placement: which peers keep a segment. A pure function of the members, so that every peer with the same view names
// the same owners.
//
// The owners are the highest weighted rendezvous scores (ring/rendezvous.h) over the peers that keep KV cache and are
// not lost, on distinct racks if there are enough. A dead peer stays an owner until it is lost: it may come back with
// its disk, and until then reads pass it by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "kv/segment_key.h"
#include "ring/rendezvous.h"

namespace exa::kv {

struct Holder {
    PeerId id;
    std::uint64_t rack = 0;  // hash of the label
    std::uint32_t weight = 0;
    bool reachable = false;  // worth asking: not dead
    bool operator==(const Holder&) const = default;
};

class Placement {
  public:
    // Without holders.
    Placement() = default;
    // Holders of weight 0 are left out. Each segment has `copies` owners, or as many as there are holders.
    Placement(std::vector<Holder> holders, std::size_t copies);

    // Best first.
    std::vector<PeerId> owners(const SegmentKey& key) const;
    bool owns(PeerId peer, const SegmentKey& key) const;
    bool reachable(PeerId peer) const;

    // Equal for placements that name the same owners for every key; whether these are reachable does not matter.
    std::uint64_t digest() const { return digest_; }
    // Sorted by id.
    const std::vector<Holder>& holders() const { return holders_; }

  private:
    std::vector<Holder> holders_;                        // sorted by id
    std::vector<ring::RendezvousCandidate> candidates_;  // in the same order
    std::size_t copies_ = 0;
    std::uint64_t digest_ = 0;
};

}  // namespace exa::kv
