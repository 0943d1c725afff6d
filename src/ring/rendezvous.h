// Weighted rendezvous hashing (Thaler and Ravishankar 1998; the logarithmic method for weights of Schindelhauer and
// Schomaker 2005): every candidate draws an exponential cost with rate `weight`, and the cheapest win.
//
// cost = -log2(u) / weight with u = hash64(key, id) / 2^64. Owners are part of the wire contract, and libm's log is not
// the same on every machine, so the logarithm is a table of integers with linear interpolation (error below 2^-22) and
// costs are compared by cross-multiplication, never divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace exa::ring {

struct RendezvousCandidate {
    std::uint64_t id = 0;
    std::uint32_t weight = 1;  // 0 is never chosen
    std::uint64_t rack = 0;    // hash of the label; unlabelled candidates share 0
};

// log2(x) in units of 2^-32, rounded down to the table's precision; monotone. `x` must not be 0.
std::uint64_t log2_q32(std::uint64_t x);

// Indexes into `candidates` of up to `copies` owners of `key`, best first. Each is the cheapest left on a rack not used
// yet; when the racks run out, the cheapest left. The order of `candidates` does not matter to who is chosen, as long
// as ids differ.
std::vector<std::uint32_t> choose_owners(std::uint64_t key, std::span<const RendezvousCandidate> candidates,
                                         std::size_t copies);

}  // namespace exa::ring
