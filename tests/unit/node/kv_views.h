// Views of a cluster whose peers keep KV, for tests of the KV replicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "membership/view.h"

namespace exa::node::samples {

// Serving peers 1 .. `peers`, each on a rack of its own; those in `dead` are dead.
inline std::shared_ptr<const membership::View> view_of(std::uint64_t peers,
                                                       std::initializer_list<std::uint64_t> dead = {}) {
    std::vector<std::shared_ptr<const membership::Member>> members;
    for (std::uint64_t id = 1; id <= peers; ++id) {
        auto record = std::make_shared<wire::PeerRecord>();
        record->id = PeerId{id};
        record->rack = "rack-" + std::to_string(id);
        record->kv_gib = 10;
        record->state = wire::PeerState::serving;
        const bool is_dead = std::ranges::find(dead, id) != dead.end();
        const auto liveness = is_dead ? membership::Liveness::dead : membership::Liveness::alive;
        members.push_back(
            std::make_shared<const membership::Member>(membership::Member{std::move(record), liveness, {}, {}}));
    }
    auto view = std::make_shared<membership::View>();
    view->members = membership::MemberList(std::move(members));
    return view;
}

}  // namespace exa::node::samples
