// Points: the circle of a ring with all that look-ups need. Big (about 28 bytes a point) and never changed.
//
// Two answers need no memory of the walk. Each point knows how many points back its replica was last met, so a walk
// over distinct replicas is a comparison a step; and each replica has the running sum of its arcs, so a random position
// inside it is one binary search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

// hash64 of 22 little-endian bytes: peer, deployment (u64 each), slot (u16), number (u32). Part of the wire contract.
std::uint64_t point_position(const ReplicaId& id, std::uint32_t number);

class Points {
  public:
    using Members = std::shared_ptr<const std::vector<RingMember>>;

    // `members`: canonical (ring.h) and not empty. Takes over from `before` (null: none) what the two have in common:
    // the result is the same, but only points of members that came are hashed and sorted.
    static std::shared_ptr<const Points> build(Members members, const Points* before);

    std::size_t size() const { return positions_.size(); }
    std::uint32_t owner(std::size_t point) const { return owners_[point]; }
    // Points back to the same member's point before; size() if it has no other.
    std::uint32_t gap(std::size_t point) const { return gaps_[point]; }
    // Index of the first point at or behind `position`, round the circle.
    std::size_t find(std::uint64_t position) const;

    std::uint64_t position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const;
    double share(std::uint32_t member) const;

  private:
    struct Point {
        std::uint64_t position;
        std::uint32_t owner;
    };

    static std::vector<Point> draw(std::span<const RingMember> members, std::span<const std::uint32_t> owners);
    void merge(const Points* before, std::span<const std::uint32_t> owner_now, std::span<const Point> added);
    void index_buckets();
    void measure_arcs();

    Members members_;

    // One element a point, by position.
    std::vector<std::uint64_t> positions_;
    std::vector<std::uint32_t> owners_;
    std::vector<std::uint32_t> gaps_;

    // First point of each equal slice of the circle: positions are hashes, so a slice holds about one point.
    std::vector<std::uint32_t> buckets_;
    unsigned bucket_shift_ = 0;

    // One element a point, grouped by member (member m has [first_arc_[m], first_arc_[m + 1])), each group by position.
    std::vector<std::uint32_t> first_arc_;
    std::vector<std::uint32_t> arc_points_;  // the point that ends the arc
    std::vector<std::uint64_t> arc_sums_;    // of this member's arcs up to this one; the whole circle wraps to 0
};

}  // namespace exa::ring
