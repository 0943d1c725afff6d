// RoutingView: one peer's view of the cluster as routing needs it. Built on the control strand at every publication of
// the membership's view, shared with all data-plane threads, never changed.
//
// Loads change every second, members rarely: the layout (pools, rings, replicas) is a part of its own that successive
// views share as long as no member changed, a ring is made again only when its member set did, and loads are not copied
// at all: they are the membership view's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "membership/view.h"
#include "ring/pool_key.h"
#include "ring/ring.h"
#include "ring/ring_pool.h"

namespace exa::router {

// A ready replica of a peer that is alive or suspect. The member keeps `record` alive.
struct ReplicaEntry {
    std::shared_ptr<const membership::Member> member;
    const wire::ReplicaRecord* record = nullptr;
    bool suspect = false;   // by the membership; only lowers its rank
    bool draining = false;  // its peer takes no new requests
    bool local = false;     // of this very peer
};

struct Pool {
    ring::PoolKey key;
    std::uint64_t hash = 0;                  // pool_hash(key)
    std::shared_ptr<const ring::Ring> ring;  // member m of the ring is replica first + m; may be empty
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t weight_sum = 0;
    std::uint32_t context_tokens_max = 0;  // 0: some replica does not tell
    bool all_drain = false;                // all that are known, by their own state
    bool all_local = false;                // all are this very peer's
};

class RoutingView {
  public:
    // `before` is the view published last; null at the start. Parts that did not change are shared with it.
    // `rings`, when given, is where rings are looked for and left for others.
    static std::shared_ptr<const RoutingView> build(std::shared_ptr<const membership::View> view,
                                                    const RoutingView* before, ring::RingPool* rings = nullptr);

    // Draws the rings that are not drawn, as whoever hands the view to other threads has to before (ring/ring.h).
    void draw_rings() const;

    struct Layout {
        struct IndexedId {
            ReplicaId id;
            std::uint32_t index = 0;  // into replicas
        };
        membership::MemberList members;      // it was made from
        std::vector<Pool> pools;             // sorted by key
        std::vector<ReplicaEntry> replicas;  // by pool, then by id
        std::vector<IndexedId> by_id;        // of all replicas

        std::span<const IndexedId> replicas_of(PeerId peer) const;
    };

    std::uint64_t number() const { return view_->number; }
    PeerId self() const { return view_->self; }
    bool is_cut_off() const { return view_->is_cut_off; }
    const std::shared_ptr<const Layout>& layout() const { return layout_; }

    // Every pool that any peer not yet lost speaks of, with or without ready replicas. Sorted by key: model first.
    std::span<const Pool> pools() const { return layout_->pools; }
    std::span<const Pool> pools_of(std::string_view model) const;
    // Null when unknown; `hash` as in Pool. Linear.
    const Pool* find_pool(std::uint64_t hash) const;

    // Null when unknown.
    const membership::Member* find_member(PeerId peer) const;
    std::span<const ReplicaEntry> replicas() const { return layout_->replicas; }
    // By peer; replicas of which it holds nothing never reported.
    const membership::LoadList& loads() const { return view_->loads; }

  private:
    std::shared_ptr<const membership::View> view_;
    std::shared_ptr<const Layout> layout_;
};

}  // namespace exa::router
