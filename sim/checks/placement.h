// Placement: what R2 and R3 say about rings and rendezvous hashing, for any two sides and any choosing function, so
// that a wrong one can be shown to be noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ring/rendezvous.h"
#include "ring/ring.h"

namespace exa::sim {

struct RingSide {
    std::span<const ring::RingMember> members;
    std::function<std::uint32_t(std::uint64_t position)> owner;  // index into members
};

RingSide side_of(const ring::Ring& ring);

// R2: of `samples` random positions only those may have another owner than before that a replica which went had, or one
// that came has; a changed weight is both. Says which position moved without need; nothing when none did, or when a
// side is empty.
std::optional<std::string> needless_move(const RingSide& before, const RingSide& after, Rng& rng, std::size_t samples);

using ChooseOwners = std::function<std::vector<std::uint32_t>(
    std::uint64_t key, std::span<const ring::RendezvousCandidate> candidates, std::size_t copies)>;

// R3: of `samples` random keys each has min(copies, candidates) owners, all different, on as many racks as there are or
// as copies are wanted; another order of candidates changes nobody, and a candidate that is no owner may go without
// changing one. Candidates have weight and ids that differ. Says what is wrong with which key.
std::optional<std::string> misplaced_copies(std::span<const ring::RendezvousCandidate> candidates, std::size_t copies,
                                            const ChooseOwners& choose, Rng& rng, std::size_t samples);

}  // namespace exa::sim
