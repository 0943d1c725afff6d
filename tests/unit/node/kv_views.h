// Views of a cluster whose peers keep KV, for tests of the KV replicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "support/members.h"

namespace exa::node::samples {

// Serving peers 1 .. `peers`, each on a rack of its own; those in `dead` are dead.
inline std::shared_ptr<const membership::View> view_of(std::uint64_t peers,
                                                       std::initializer_list<std::uint64_t> dead = {}) {
    membership::MemberList::Members members;
    for (std::uint64_t id = 1; id <= peers; ++id) {
        wire::PeerRecord record;
        record.id = PeerId{id};
        record.rack = "rack-" + std::to_string(id);
        record.kv_gib = 10;
        record.state = wire::PeerState::serving;
        const bool is_dead = std::ranges::find(dead, id) != dead.end();
        members.push_back(test::member_of(record, is_dead ? membership::Liveness::dead : membership::Liveness::alive));
    }
    return test::view_of(std::move(members));
}

}  // namespace exa::node::samples
