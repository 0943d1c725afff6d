// RestoreCost: whether KV of a prompt is sooner brought in than computed again, from what both have taken of late.
//
// Rates are exponential means over some eight measurements each. Until both are known a restore is tried: trying is how
// they become known. For the same reason one in `try_anyway` is tried when it does not look worth its while.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace exa::engine {

class RestoreCost {
  public:
    static constexpr std::uint32_t try_anyway = 32;

    void handle_prefill(std::uint32_t tokens, Duration took) { prefill_.add(tokens, took); }
    // From the wish to the last byte, waiting for it included.
    void handle_restore(std::uint64_t bytes, Duration took) { restore_.add(bytes, took); }

    // Nothing until measured.
    std::optional<Duration> prefill_time(std::uint32_t tokens) const { return prefill_.time_of(tokens); }
    std::optional<Duration> restore_time(std::uint64_t bytes) const { return restore_.time_of(bytes); }

    // Counts as one decision.
    bool is_worth(std::uint32_t tokens, std::uint64_t bytes);

  private:
    class Rate {
      public:
        void add(std::uint64_t amount, Duration took);
        std::optional<Duration> time_of(std::uint64_t amount) const;

      private:
        double us_per_unit_ = -1;  // below 0: nothing measured
    };

    Rate prefill_;
    Rate restore_;
    std::uint32_t declined_ = 0;  // since the last restore
};

}  // namespace exa::engine
