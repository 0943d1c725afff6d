#include "ring/points.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/hash.h"
#include "base/little_endian.h"

namespace exa::ring {

namespace {

constexpr std::uint32_t gone = ~std::uint32_t{0};

}  // namespace

std::uint64_t point_position(const ReplicaId& id, std::uint32_t number) {
    std::array<std::uint8_t, 22> bytes;
    put_le(put_le(put_le(put_le(bytes.data(), id.peer.value), id.deployment.value), id.slot), number);
    return hash64(bytes);
}

// Of these owners, sorted by position and owner. Positions are hashes: one pass by their top bits leaves groups of a
// few points, which an ordinary sort finishes.
std::vector<Points::Point> Points::draw(std::span<const RingMember> members, std::span<const std::uint32_t> owners) {
    std::vector<Point> points;
    points.reserve(owners.size() * points_per_weight);
    for (const std::uint32_t owner : owners)
        for (std::uint32_t i = 0; i < points_per_weight * members[owner].weight; ++i)
            points.push_back({point_position(members[owner].id, i), owner});

    const unsigned bits = std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(points.size())), 1, 16);
    const unsigned shift = 64 - bits;
    std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1, 0);
    for (const Point& point : points) ++ends[(point.position >> shift) + 1];
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    std::vector<Point> sorted(points.size());
    for (const Point& point : points) sorted[ends[point.position >> shift]++] = point;
    auto begin = sorted.begin();
    for (std::size_t group = 0; group + 1 < ends.size(); ++group) {
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(ends[group]);
        std::ranges::sort(begin, end, [](const Point& a, const Point& b) {
            return a.position != b.position ? a.position < b.position : a.owner < b.owner;
        });
        begin = end;
    }
    return sorted;
}

std::shared_ptr<const Points> Points::build(Members members, const Points* before) {
    auto built = std::make_shared<Points>();
    const std::vector<RingMember>& now = *members;
    // Old owners' new numbers, and the new ones that the old circle has no points of. Both lists are sorted by id, so
    // that numbers keep their order.
    std::vector<std::uint32_t> owner_now;
    std::vector<std::uint32_t> added;
    std::uint32_t at = 0;
    std::uint32_t points = 0;
    if (before != nullptr) {
        owner_now.reserve(before->members_->size());
        for (const RingMember& old : *before->members_) {
            for (; at < now.size() && now[at].id < old.id; ++at) added.push_back(at);
            const bool stays = at < now.size() && now[at] == old;
            owner_now.push_back(stays ? at++ : gone);
        }
    }
    for (; at < now.size(); ++at) added.push_back(at);
    built->first_arc_.reserve(now.size() + 1);
    for (const RingMember& member : now) {
        built->first_arc_.push_back(points);
        points += points_per_weight * member.weight;
    }
    built->first_arc_.push_back(points);
    built->members_ = std::move(members);
    built->positions_.reserve(points);
    built->owners_.reserve(points);
    built->merge(before, owner_now, draw(now, added));
    built->index_buckets();
    built->measure_arcs();
    return built;
}

void Points::merge(const Points* before, std::span<const std::uint32_t> owner_now, std::span<const Point> added) {
    auto next = added.begin();
    const auto put = [this](std::uint64_t position, std::uint32_t owner) {
        positions_.push_back(position);
        owners_.push_back(owner);
    };
    for (std::size_t old = 0; before != nullptr && old < before->size(); ++old) {
        const std::uint32_t owner = owner_now[before->owners_[old]];
        if (owner == gone) continue;
        const std::uint64_t position = before->positions_[old];
        for (;
             next != added.end() && (next->position < position || (next->position == position && next->owner < owner));
             ++next)
            put(next->position, next->owner);
        put(position, owner);
    }
    for (; next != added.end(); ++next) put(next->position, next->owner);
}

void Points::index_buckets() {
    const auto bits = static_cast<unsigned>(std::bit_width(positions_.size()));
    bucket_shift_ = 64 - bits;
    buckets_.resize((std::size_t{1} << bits) + 1);
    std::size_t bucket = 0;
    for (std::uint32_t at = 0; at < positions_.size(); ++at)
        for (const std::uint64_t own = positions_[at] >> bucket_shift_; bucket <= own; ++bucket) buckets_[bucket] = at;
    for (; bucket < buckets_.size(); ++bucket) buckets_[bucket] = static_cast<std::uint32_t>(positions_.size());
}

void Points::measure_arcs() {
    const auto count = static_cast<std::uint32_t>(positions_.size());
    std::vector<std::uint32_t> next(first_arc_.begin(), first_arc_.end() - 1);
    std::vector<std::uint64_t> sums(members_->size(), 0);
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
    for (std::uint32_t owner = 0; owner < members_->size(); ++owner) {
        const std::uint32_t first = arc_points_[first_arc_[owner]];
        const std::uint32_t last = arc_points_[first_arc_[owner + 1] - 1];
        gaps_[first] = first + count - last;
    }
}

std::size_t Points::find(std::uint64_t position) const {
    const std::uint64_t bucket = position >> bucket_shift_;
    const auto begin = positions_.begin() + buckets_[bucket];
    const auto end = positions_.begin() + buckets_[bucket + 1];
    const auto at = std::lower_bound(begin, end, position);
    return at == positions_.end() ? 0 : static_cast<std::size_t>(at - positions_.begin());
}

std::uint64_t Points::position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const {
    if (members_->size() == 1) return entropy;
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

double Points::share(std::uint32_t member) const {
    if (members_->size() == 1) return 1.0;
    return static_cast<double>(arc_sums_[first_arc_[member + 1] - 1]) * 0x1.0p-64;
}

}  // namespace exa::ring
