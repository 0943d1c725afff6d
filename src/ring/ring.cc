#include "ring/ring.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/hash.h"

namespace exa::ring {

namespace {

struct Point {
    std::uint64_t position;
    std::uint32_t owner;
};

template <class T>
std::uint8_t* put_le(std::uint8_t* out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) *out++ = static_cast<std::uint8_t>(value >> (8 * i));
    return out;
}

constexpr std::size_t id_bytes = 18;

std::uint8_t* put_id(std::uint8_t* out, const ReplicaId& id) {
    out = put_le(out, id.peer.value);
    out = put_le(out, id.deployment.value);
    return put_le(out, id.slot);
}

// Positions are hashes: one pass by their top bits leaves groups of a few points, which an ordinary sort finishes.
void sort_points(std::vector<Point>& points) {
    const unsigned bits = std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(points.size())), 1, 16);
    const unsigned shift = 64 - bits;
    std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1, 0);
    for (const Point& point : points) ++ends[(point.position >> shift) + 1];
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    std::vector<Point> sorted(points.size());
    for (const Point& point : points) sorted[ends[point.position >> shift]++] = point;
    std::size_t begin = 0;
    for (std::size_t group = 0; group + 1 < ends.size(); ++group) {
        const std::size_t end = ends[group];
        std::ranges::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                          sorted.begin() + static_cast<std::ptrdiff_t>(end), [](const Point& a, const Point& b) {
                              return a.position != b.position ? a.position < b.position : a.owner < b.owner;
                          });
        begin = end;
    }
    points.swap(sorted);
}

}  // namespace

std::uint64_t point_position(const ReplicaId& id, std::uint32_t number) {
    std::array<std::uint8_t, id_bytes + 4> bytes;
    put_le(put_id(bytes.data(), id), number);
    return hash64(bytes);
}

std::vector<RingMember> canonical_members(std::span<const RingMember> members) {
    std::vector<RingMember> canonical;
    canonical.reserve(members.size());
    for (const RingMember& member : members)
        if (member.weight > 0) canonical.push_back({member.id, std::min(member.weight, weight_max)});
    std::ranges::sort(canonical, [](const RingMember& a, const RingMember& b) {
        return a.id != b.id ? a.id < b.id : a.weight > b.weight;
    });
    const auto repeats = std::ranges::unique(canonical, {}, &RingMember::id);
    canonical.erase(repeats.begin(), repeats.end());
    return canonical;
}

std::uint64_t members_digest(std::span<const RingMember> canonical) {
    std::uint64_t digest = 0;
    for (const RingMember& member : canonical) {
        std::array<std::uint8_t, id_bytes + 4> bytes;
        put_le(put_id(bytes.data(), member.id), member.weight);
        digest = hash64(bytes, digest);
    }
    return digest;
}

Ring Ring::build(std::span<const RingMember> members) {
    Ring ring;
    ring.members_ = canonical_members(members);
    ring.digest_ = members_digest(ring.members_);
    if (ring.empty()) return ring;

    std::vector<Point> points;
    ring.first_arc_.push_back(0);
    for (std::uint32_t owner = 0; owner < ring.members_.size(); ++owner) {
        const RingMember& member = ring.members_[owner];
        for (std::uint32_t i = 0; i < points_per_weight * member.weight; ++i)
            points.push_back({point_position(member.id, i), owner});
        ring.first_arc_.push_back(static_cast<std::uint32_t>(points.size()));
    }
    sort_points(points);

    ring.positions_.reserve(points.size());
    ring.owners_.reserve(points.size());
    for (const Point& point : points) {
        ring.positions_.push_back(point.position);
        ring.owners_.push_back(point.owner);
    }
    ring.index_buckets();
    ring.measure_arcs();
    return ring;
}

void Ring::index_buckets() {
    const auto bits = static_cast<unsigned>(std::bit_width(positions_.size()));
    bucket_shift_ = 64 - bits;
    buckets_.reserve((std::size_t{1} << bits) + 1);
    std::uint32_t at = 0;
    for (std::uint64_t bucket = 0; bucket < std::uint64_t{1} << bits; ++bucket) {
        while (at < positions_.size() && positions_[at] >> bucket_shift_ < bucket) ++at;
        buckets_.push_back(at);
    }
    buckets_.push_back(static_cast<std::uint32_t>(positions_.size()));
}

void Ring::measure_arcs() {
    const auto count = static_cast<std::uint32_t>(positions_.size());
    std::vector<std::uint32_t> next(first_arc_.begin(), first_arc_.end() - 1);
    std::vector<std::uint64_t> sums(members_.size(), 0);
    arc_points_.resize(count);
    arc_sums_.resize(count);
    gaps_.resize(count);
    for (std::uint32_t point = 0; point < count; ++point) {
        const std::uint32_t owner = owners_[point];
        sums[owner] += positions_[point] - positions_[point == 0 ? count - 1 : point - 1];
        const std::uint32_t arc = next[owner]++;
        arc_points_[arc] = point;
        arc_sums_[arc] = sums[owner];
        if (arc > first_arc_[owner]) gaps_[point] = point - arc_points_[arc - 1];
    }
    for (std::uint32_t owner = 0; owner < members_.size(); ++owner) {
        const std::uint32_t first = arc_points_[first_arc_[owner]];
        const std::uint32_t last = arc_points_[first_arc_[owner + 1] - 1];
        gaps_[first] = first + count - last;
    }
}

std::size_t Ring::point_at(std::uint64_t position) const {
    EXA_CHECK(!empty());
    const std::uint64_t bucket = position >> bucket_shift_;
    const auto begin = positions_.begin() + buckets_[bucket];
    const auto end = positions_.begin() + buckets_[bucket + 1];
    const auto at = std::lower_bound(begin, end, position);
    return at == positions_.end() ? 0 : static_cast<std::size_t>(at - positions_.begin());
}

std::optional<std::uint32_t> Ring::find(const ReplicaId& id) const {
    const auto at = std::ranges::lower_bound(members_, id, {}, &RingMember::id);
    if (at == members_.end() || at->id != id) return std::nullopt;
    return static_cast<std::uint32_t>(at - members_.begin());
}

std::uint64_t Ring::position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const {
    EXA_CHECK(member < members_.size());
    if (members_.size() == 1) return entropy;
    const auto begin = arc_sums_.begin() + first_arc_[member];
    const auto end = arc_sums_.begin() + first_arc_[member + 1];
    const std::uint64_t total = *(end - 1);
    __extension__ using Wide = unsigned __int128;
    const auto target = static_cast<std::uint64_t>(Wide{entropy} * total >> 64);
    const auto arc = std::upper_bound(begin, end, target);
    // Only a member all of whose points coincide with others' owns nothing.
    if (arc == end) return positions_[arc_points_[first_arc_[member]]];
    return positions_[arc_points_[static_cast<std::size_t>(arc - arc_sums_.begin())]] - (*arc - target - 1);
}

double Ring::share(std::uint32_t member) const {
    EXA_CHECK(member < members_.size());
    if (members_.size() == 1) return 1.0;
    return static_cast<double>(arc_sums_[first_arc_[member + 1] - 1]) * 0x1.0p-64;
}

}  // namespace exa::ring
