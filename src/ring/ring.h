// Ring: consistent hashing over the ready replicas of one pool (Karger et al. 1997), a pure function of the member set.
//
// Every replica has 64 x weight points on a circle of 2^64 positions. A point owns the arc that ends in it: positions
// behind the point before it, up to and including its own. Taking a replica away hands each of its arcs to the next
// point and moves nothing else; adding one takes only what it then owns.
//
// Two answers need no memory of the walk. Each point knows how many points back its replica was last met, so a walk
// over distinct replicas is a comparison a step; and each replica has the running sum of its arcs, so a random position
// inside it is one binary search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace exa::ring {

struct RingMember {
    ReplicaId id;
    std::uint32_t weight = 1;
    bool operator==(const RingMember&) const = default;
};

inline constexpr std::uint32_t points_per_weight = 64;
// A record may claim any weight; the ring takes no more than this.
inline constexpr std::uint32_t weight_max = 64;

// hash64 of 22 little-endian bytes: peer, deployment (u64 each), slot (u16), number (u32). Part of the wire contract.
std::uint64_t point_position(const ReplicaId& id, std::uint32_t number);

// The members a ring over `members` would hold: sorted by id, weights cut to weight_max, weight 0 left out; of two with
// the same id the heavier one stays.
std::vector<RingMember> canonical_members(std::span<const RingMember> members);

// Equal for equal canonical member sets; peers compare it to see whether they hold the same ring.
std::uint64_t members_digest(std::span<const RingMember> canonical);

// Immutable: any number of threads may read one. "Member" below is an index into members().
class Ring {
  public:
    Ring() = default;
    static Ring build(std::span<const RingMember> members);

    bool empty() const { return members_.empty(); }
    std::size_t size() const { return members_.size(); }
    std::span<const RingMember> members() const { return members_; }  // sorted by id
    std::uint64_t digest() const { return digest_; }
    std::optional<std::uint32_t> find(const ReplicaId& id) const;

    // The member whose arc holds `position`. The ring must not be empty.
    std::uint32_t owner(std::uint64_t position) const { return owners_[point_at(position)]; }

    // Calls visit(member) for every member once, in the order their points follow `position` (the owner first), until
    // it returns false. Does not allocate; a complete walk looks at every point.
    template <class Visitor>
    void walk(std::uint64_t position, Visitor&& visit) const {
        if (empty()) return;
        std::size_t at = point_at(position);
        std::size_t left = members_.size();
        for (std::size_t step = 0; left > 0; ++step) {
            if (gaps_[at] > step) {
                --left;
                if (!visit(owners_[at])) return;
            }
            if (++at == positions_.size()) at = 0;
        }
    }

    // A position that `member` owns; uniform over its arcs when `entropy` is uniform.
    std::uint64_t position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const;

    // Part of the circle that `member` owns, in [0, 1].
    double share(std::uint32_t member) const;

  private:
    // Index of the first point at or behind `position`, round the circle.
    std::size_t point_at(std::uint64_t position) const;
    void index_buckets();
    void measure_arcs();

    std::vector<RingMember> members_;
    std::uint64_t digest_ = 0;

    // One element a point, by position.
    std::vector<std::uint64_t> positions_;
    std::vector<std::uint32_t> owners_;
    std::vector<std::uint32_t> gaps_;  // points back to the same member's point before; the number of points if alone

    // First point of each equal slice of the circle: positions are hashes, so a slice holds about one point.
    std::vector<std::uint32_t> buckets_;
    unsigned bucket_shift_ = 0;

    // One element a point, grouped by member (member m has [first_arc_[m], first_arc_[m + 1])), each group by position.
    std::vector<std::uint32_t> first_arc_;
    std::vector<std::uint32_t> arc_points_;  // the point that ends the arc
    std::vector<std::uint64_t> arc_sums_;    // of this member's arcs up to this one; the whole circle wraps to 0
};

}  // namespace exa::ring
