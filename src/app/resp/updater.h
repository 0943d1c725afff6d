// RespUpdater: changes of the Redis port's values that depend on what stands there: GETDEL, EXPIRE and their like.
//
// The last version is read, and replaced by one with the stamp right after it (RespValueCache::replace). So at one peer
// they are atomic, another version that came in between being read again; and a SET or DEL at any other peer meanwhile
// stands above them. Two of them at different peers at the same moment may both see the version before, as two SET NX
// may (docs/decisions/0026-values-among-peers.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/reader.h"
#include "app/resp/value_cache.h"
#include "app/resp/write_behind.h"
#include "resp/operation.h"

namespace exa::app::resp {

// Thread-safe. Answers come within the call or from another thread, once.
class RespUpdater {
  public:
    using Done = std::function<void(exa::resp::Outcome)>;

    RespUpdater(const RespDeps& deps, RespValueCache& cache, RespReader& reader, RespWriteBehind& writer,
                RespCounters& counters)
        : deps_(deps), cache_(cache), reader_(reader), writer_(writer), counters_(counters) {}

    // Removes the value of the first key, which goes to Outcome::values; a tenant's of `tag`.
    void take(RespKeys keys, std::uint64_t tag, Done done);

    struct Expiry {
        std::optional<std::int64_t> at_ms;  // Unix time; nothing: for good
        exa::resp::ExpiryRule rule;
        bool wants_value = false;
    };
    // Fills Outcome::done (whether it has changed) and, if wanted, values. What expires in the past is removed.
    void expire(RespKeys keys, std::uint64_t tag, const Expiry& expiry, Done done);

  private:
    struct Update;

    void read(const std::shared_ptr<Update>& update);
    // What takes the place of `now`, or nothing when it stays or there is no memory: then the outcome says so.
    std::optional<RespVersion> make_next(Update& update, const RespVersion& now);
    std::optional<RespVersion> copy(const RespVersion& version, std::int64_t expires_ms);

    const RespDeps& deps_;
    RespValueCache& cache_;
    RespReader& reader_;
    RespWriteBehind& writer_;
    RespCounters& counters_;
};

}  // namespace exa::app::resp
