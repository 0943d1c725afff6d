// ColdCost: how much of a prompt's KV is sooner read from the shared directory than computed again, from what reading
// has taken of late.
//
// The rate is an exponential mean over some eight reads. Until it is known everything is read: reading is how it
// becomes known. For the same reason one question in `try_anyway` that would be declined is granted its first segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace exa::kv {

// What whoever loads can say of the other way to have it.
struct LoadTerms {
    TimePoint deadline = time_never;       // nothing is waited for after it
    std::optional<Duration> compute = {};  // what computing one segment takes; nothing: not known
    bool may_be_cold = true;               // values of the Redis port are not in the cold tier
};

class ColdCost {
  public:
    static constexpr std::uint32_t try_anyway = 32;

    // `readers` read at the same time.
    explicit ColdCost(std::uint32_t readers) : readers_(readers) {}

    // One read, its wait for a reader not included.
    void handle_read(std::uint64_t bytes, Duration took);

    // Nothing until measured.
    std::optional<double> bytes_per_second() const;

    // How many of `count` segments of `bytes` each are worth reading, the first ones, when `waiting` bytes are before
    // them in the queue. Counts as one decision.
    std::size_t worth(TimePoint now, const LoadTerms& terms, std::size_t count, std::uint64_t bytes,
                      std::uint64_t waiting);

  private:
    const std::uint32_t readers_;
    double us_per_byte_ = -1;  // of one reader; below 0: nothing measured
    std::uint32_t declined_ = 0;
};

}  // namespace exa::kv
