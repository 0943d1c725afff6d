#include "ring/ring.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/little_endian.h"

namespace exa::ring {

std::vector<RingMember> canonical_members(std::span<const RingMember> members) {
    std::vector<RingMember> canonical;
    canonical.reserve(members.size());
    for (const RingMember& member : members)
        if (member.weight > 0) canonical.push_back({member.id, std::min(member.weight, weight_max)});
    const auto before = [](const RingMember& a, const RingMember& b) {
        return a.id != b.id ? a.id < b.id : a.weight > b.weight;
    };
    if (!std::ranges::is_sorted(canonical, before)) std::ranges::sort(canonical, before);
    const auto repeats = std::ranges::unique(canonical, {}, &RingMember::id);
    canonical.erase(repeats.begin(), repeats.end());
    return canonical;
}

std::uint64_t members_digest(std::span<const RingMember> canonical) {
    std::uint64_t digest = 0;
    for (const RingMember& member : canonical) {
        std::array<std::uint8_t, 22> bytes;
        put_le(put_le(put_le(put_le(bytes.data(), member.id.peer.value), member.id.deployment.value), member.id.slot),
               member.weight);
        digest = hash64(bytes, digest);
    }
    return digest;
}

Ring::Ring(std::span<const RingMember> members, const Ring* before) {
    std::vector<RingMember> canonical = canonical_members(members);
    digest_ = members_digest(canonical);
    if (canonical.empty()) return;
    members_ = std::make_shared<const std::vector<RingMember>>(std::move(canonical));
    if (before != nullptr) points_ = before->points_;
}

void Ring::draw() const {
    EXA_CHECK(!empty());
    if (is_drawn_) return;
    points_ = Points::build(members_, points_.get());
    is_drawn_ = true;
}

std::optional<std::uint32_t> Ring::find(const ReplicaId& id) const {
    const auto at = std::ranges::lower_bound(members(), id, {}, &RingMember::id);
    if (at == members().end() || at->id != id) return std::nullopt;
    return static_cast<std::uint32_t>(at - members().begin());
}

std::uint64_t Ring::position_in_arc_of(std::uint32_t member, std::uint64_t entropy) const {
    EXA_CHECK(member < size());
    return points().position_in_arc_of(member, entropy);
}

double Ring::share(std::uint32_t member) const {
    EXA_CHECK(member < size());
    return points().share(member);
}

}  // namespace exa::ring
