// Streams: one seed, many independent generators, each named by its purpose. Whoever draws more or less from one does
// not move the others, so a fault taken out of a plan leaves the chances of the rest as they were.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "base/rng.h"

namespace exa::sim {

class Streams {
  public:
    explicit Streams(std::uint64_t seed) : seed_(seed) {}

    std::uint64_t seed_of(std::string_view purpose, std::uint64_t number = 0) const {
        return hash64(hash64(as_bytes(purpose)), number, seed_);
    }
    Rng stream(std::string_view purpose, std::uint64_t number = 0) const { return Rng(seed_of(purpose, number)); }

  private:
    std::uint64_t seed_;
};

}  // namespace exa::sim
