#include "ring/rendezvous.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/hash.h"

namespace exa::ring {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned table_bits = 10;
using Table = std::array<std::uint64_t, (1U << table_bits) + 1>;

// Bit by bit: squaring a number in [1, 2) doubles its logarithm, and the overflow into [2, 4) is the next binary digit.
consteval Table make_table() {
    Table table{};
    for (std::uint64_t i = 0; i + 1 < table.size(); ++i) {
        std::uint64_t mantissa = (std::uint64_t{1} << 63) | (i << (63 - table_bits));
        for (int digit = 0; digit < 32; ++digit) {
            const Wide square = Wide{mantissa} * mantissa;
            const bool carries = (square >> 127) != 0;
            mantissa = static_cast<std::uint64_t>(square >> (carries ? 64 : 63));
            table[i] = (table[i] << 1) | (carries ? 1U : 0U);
        }
    }
    table.back() = std::uint64_t{1} << 32;
    return table;
}

constexpr Table log_table = make_table();

struct Draw {
    std::uint64_t cost;  // -log2(u), units of 2^-32, at least 1
    std::uint64_t hash;
};

bool cheaper(const Draw& a, const RendezvousCandidate& of_a, const Draw& b, const RendezvousCandidate& of_b) {
    const Wide left = Wide{a.cost} * of_b.weight;
    const Wide right = Wide{b.cost} * of_a.weight;
    if (left != right) return left < right;
    if (a.hash != b.hash) return a.hash > b.hash;
    return of_a.id < of_b.id;
}

}  // namespace

std::uint64_t log2_q32(std::uint64_t x) {
    EXA_CHECK(x != 0);
    const auto zeros = static_cast<unsigned>(std::countl_zero(x));
    const std::uint64_t fraction = (x << zeros) & ~(std::uint64_t{1} << 63);
    const std::uint64_t index = fraction >> (63 - table_bits);
    // The next 32 bits say how far between two entries.
    const std::uint64_t between = (fraction >> (31 - table_bits)) & 0xffffffff;
    const std::uint64_t step = log_table[index + 1] - log_table[index];
    return (std::uint64_t{63 - zeros} << 32) + log_table[index] + (step * between >> 32);
}

std::vector<std::uint32_t> choose_owners(std::uint64_t key, std::span<const RendezvousCandidate> candidates,
                                         std::size_t copies) {
    std::vector<Draw> draws;
    draws.reserve(candidates.size());
    for (const RendezvousCandidate& candidate : candidates) {
        const std::uint64_t hash = hash64(key, candidate.id);
        draws.push_back({(std::uint64_t{64} << 32) - log2_q32(std::max<std::uint64_t>(hash, 1)), hash});
    }

    std::vector<std::uint32_t> owners;
    std::vector<std::uint64_t> racks;
    bool spread = true;
    while (owners.size() < copies) {
        std::uint32_t best = static_cast<std::uint32_t>(candidates.size());
        for (std::uint32_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i].weight == 0) continue;
            if (spread && std::ranges::find(racks, candidates[i].rack) != racks.end()) continue;
            if (!spread && std::ranges::find(owners, i) != owners.end()) continue;
            if (best == candidates.size() || cheaper(draws[i], candidates[i], draws[best], candidates[best])) best = i;
        }
        if (best < candidates.size()) {
            owners.push_back(best);
            racks.push_back(candidates[best].rack);
        } else if (spread) {
            spread = false;
        } else {
            break;
        }
    }
    return owners;
}

}  // namespace exa::ring
