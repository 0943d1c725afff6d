// Ring: consistent hashing over the ready replicas of one pool (Karger et al. 1997), a pure function of the member set.
//
// Every replica has 64 x weight points on a circle of 2^64 positions. A point owns the arc that ends in it: positions
// behind the point before it, up to and including its own. Taking a replica away hands each of its arcs to the next
// point and moves nothing else; adding one takes only what it then owns.
//
// Members and digest are there at once. The circle is drawn by draw(), or when somebody first asks where a position
// belongs, out of the circle of a ring before where there is one: in a boot the members change thousands of times and
// nobody asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "ring/points.h"

namespace exa::ring {

// A record may claim any weight; the ring takes no more than this.
inline constexpr std::uint32_t weight_max = 64;

// The members a ring over `members` would hold: sorted by id, weights cut to weight_max, weight 0 left out; of two with
// the same id the heavier one stays.
std::vector<RingMember> canonical_members(std::span<const RingMember> members);

// Equal for equal canonical member sets; peers compare it to see whether they hold the same ring.
std::uint64_t members_digest(std::span<const RingMember> canonical);

// Belongs to one thread until its circle is drawn, and never changes from then on: call draw() before other threads get
// the ring. "Member" below is an index into members().
class Ring {
  public:
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    // Of two rings with members in common the later one is drawn in a fraction of the time. Nothing else depends on
    // `before`, and it need not outlive the call.
    explicit Ring(std::span<const RingMember> members, const Ring* before = nullptr);

    // Draws the circle unless it is drawn. The ring must not be empty.
    void draw() const;
    bool is_drawn() const { return is_drawn_; }

    bool empty() const { return members_ == nullptr; }
    std::size_t size() const { return members().size(); }
    std::span<const RingMember> members() const {  // sorted by id
        return empty() ? std::span<const RingMember>() : std::span<const RingMember>(*members_);
    }
    std::uint64_t digest() const { return digest_; }
    std::optional<std::uint32_t> find(const ReplicaId& id) const;

    // The member whose arc holds `position`. The ring must not be empty.
    std::uint32_t owner(std::uint64_t position) const {
        const Points& circle = points();
        return circle.owner(circle.find(position));
    }

    // Calls visit(member) for every member once, in the order their points follow `position` (the owner first), until
    // it returns false. Does not allocate; a complete walk looks at every point.
    template <class Visitor>
    void walk(std::uint64_t position, Visitor&& visit) const {
        if (empty()) return;
        const Points& circle = points();
        std::size_t at = circle.find(position);
        std::size_t left = size();
        for (std::size_t step = 0; left > 0; ++step) {
            if (circle.gap(at) > step) {
                --left;
                if (!visit(circle.owner(at))) return;
            }
            if (++at == circle.size()) at = 0;
        }
    }

    // A position that `member` owns; uniform over its arcs when `entropy` is uniform.
    std::uint64_t position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const;

    // Part of the circle that `member` owns, in [0, 1].
    double share(std::uint32_t member) const;

  private:
    const Points& points() const {
        if (!is_drawn_) [[unlikely]]
            draw();
        return *points_;
    }

    Points::Members members_;  // null: empty
    std::uint64_t digest_ = 0;
    mutable std::shared_ptr<const Points> points_;  // until is_drawn_: those of the latest ring before that has any
    mutable bool is_drawn_ = false;
};

}  // namespace exa::ring
