#include "node/rotation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "node/errc.h"

namespace exa::node {

namespace {

using membership::KeyRing;
using membership::Liveness;
using membership::Member;
using membership::View;

constexpr std::size_t names_max = 8;

bool holds(const Member& member, KeyId id) {
    return std::ranges::binary_search(member.record->keys, id);
}

void add_name(std::string& names, std::size_t count, const std::string& name) {
    if (count <= names_max) names += (names.empty() ? "" : ", ") + name;
}

std::string with_more(std::string names, std::size_t count) {
    if (count > names_max) names += " and " + std::to_string(count - names_max) + " more";
    return names;
}

// The names of the members of which `is_one` holds; empty when there is none.
template <class Predicate>
std::string names_of(const View& view, Predicate is_one) {
    std::string names;
    std::size_t count = 0;
    for (const auto& member : view.members) {
        if (member->liveness == Liveness::left || !is_one(*member)) continue;
        add_name(names, ++count, member->record->name);
    }
    return with_more(std::move(names), count);
}

// Older keys are removed before newer ones: see the rule for partitions.
bool is_older(const KeyRing& ring, KeyId id, KeyId than) {
    const std::vector<KeyId> newest = ring.newest_first();
    return std::ranges::find(newest, id) > std::ranges::find(newest, than);
}

}  // namespace

Result<void> check_rejoined(bool is_joined) {
    if (!is_joined) return error(errc::not_rejoined);
    return success();
}

Result<void> check_met(const std::vector<membership::RememberedMember>& unmet) {
    if (unmet.empty()) return success();
    std::string names;
    for (std::size_t i = 0; i < unmet.size(); ++i) add_name(names, i + 1, unmet[i].name);
    return error(errc::would_cut_off, "not met since this peer started: " + with_more(std::move(names), unmet.size()));
}

Result<void> check_add(const KeyRing& ring) {
    if (ring.empty()) return error(errc::not_encrypted);
    if (ring.installed().size() >= KeyRing::installed_max)
        return error(errc::too_many_keys, std::to_string(ring.installed().size()) + " keys");
    return success();
}

Result<void> check_use(const View& view, const KeyRing& ring, KeyId id) {
    if (ring.empty()) return error(errc::not_encrypted);
    if (ring.find(id) == nullptr) return error(errc::unknown_key, to_string(id));
    const std::string without =
        names_of(view, [&](const Member& member) { return member.liveness != Liveness::lost && !holds(member, id); });
    if (!without.empty()) return error(errc::would_cut_off, "not yet held by " + without);
    return success();
}

Result<void> check_remove(const View& view, const KeyRing& ring, KeyId id) {
    if (ring.empty()) return error(errc::not_encrypted);
    if (ring.find(id) == nullptr) return error(errc::unknown_key, to_string(id));
    const KeyId primary = ring.primary()->id;
    if (primary == id) return error(errc::in_use, to_string(id));
    const std::string users = names_of(view, [&](const Member& member) { return member.record->primary_key == id; });
    if (!users.empty()) return error(errc::would_cut_off, "still in use by " + users);
    const std::string without = names_of(view, [&](const Member& member) { return !holds(member, primary); });
    if (!without.empty())
        return error(errc::would_cut_off, "the primary key " + to_string(primary) + " is not held by " + without);
    const std::string away = names_of(view, [](const Member& member) { return member.liveness != Liveness::alive; });
    if (!away.empty() && !is_older(ring, id, primary))
        return error(errc::would_cut_off, "newer than the primary key, which cannot be agreed with " + away);
    return success();
}

}  // namespace exa::node
