// Rng: xoshiro256** (Blackman and Vigna, https://prng.di.unimi.it), seeded through splitmix64.
//
// For choices a core makes (which peer to probe, which of two replicas). Keys, seeds and ids of the outside world come
// from the system's generator in io/, never from here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace exa {

// One step of splitmix64: advances `state` and returns the next output.
std::uint64_t splitmix64(std::uint64_t& state);

class Rng {
  public:
    using result_type = std::uint64_t;

    explicit Rng(std::uint64_t seed);

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() { return next(); }

    std::uint64_t next();

    // Uniform in [0, bound), without modulo bias (Lemire 2019). `bound` must not be 0.
    std::uint64_t below(std::uint64_t bound);

    // Uniform in [0, 1), 53 random bits.
    double unit();

    // Fisher-Yates; the same on every standard library, unlike std::shuffle.
    template <class T>
    void shuffle(std::span<T> items) {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
    }

  private:
    std::array<std::uint64_t, 4> state_;
};

}  // namespace exa
