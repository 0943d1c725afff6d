// FetchCost: how many segments of a prompt are cheaper to read from the cold tier than to compute again, estimated from
// recent reads.
//
// The rate is an exponential mean over about eight reads. Until it is known, everything is read: that is how it becomes
// known. For the same reason one question in `try_anyway` that would be declined is granted its first segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace exa::kv {

// What the caller of a fetch knows of the alternative.
struct FetchTerms {
    TimePoint deadline = time_never;       // nothing is awaited after it
    std::optional<Duration> compute = {};  // time to compute one segment; nothing: unknown
    bool may_be_cold = true;               // values of the Redis port are not in the cold tier
};

class FetchCost {
  public:
    static constexpr std::uint32_t try_anyway = 32;

    // `readers` reads run at the same time.
    explicit FetchCost(std::uint32_t readers) : readers_(readers) {}

    // One read, without its wait for a reader.
    void handle_read(std::uint64_t bytes, Duration took);

    // Nothing until a read was measured.
    std::optional<double> bytes_per_second() const;

    // How many of `count` segments of `bytes` each are worth reading, from the first on, when `waiting` bytes are ahead
    // of them in the queue. Counts as one decision.
    std::size_t worth(TimePoint now, const FetchTerms& terms, std::size_t count, std::uint64_t bytes,
                      std::uint64_t waiting);

  private:
    const std::uint32_t readers_;
    double us_per_byte_ = -1;  // of one reader; below 0: nothing measured
    std::uint32_t declined_ = 0;
};

}  // namespace exa::kv
