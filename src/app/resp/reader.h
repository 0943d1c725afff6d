// RespReader: the last versions of values, from memory, the disk or another peer.
//
// A value that is not in memory is read whole, all of its parts of one stamp, or it is a miss. What was read stays in
// memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/value_cache.h"
#include "app/resp/version.h"
#include "app/resp/version_search.h"
#include "app/shared/callback_guard.h"
#include "app/shared/work_queue.h"
#include "resp/operation.h"

namespace exa::app::resp {

// The keys of one operation, as segments have them and as clients do.
struct RespKeys {
    std::vector<exa::kv::SegmentKey> segments;
    std::vector<std::string> users;
};

// Thread-safe. Answers come within the call or from another thread, once; never once `guard` is closed.
class RespReader {
  public:
    using Done = std::function<void(exa::resp::Outcome)>;

    // `workers` read the disk.
    RespReader(const RespDeps& deps, RespValueCache& cache, RespVersionSearch& versions, shared::WorkQueue& workers,
               const shared::CallbackGuard& guard, RespCounters& counters)
        : deps_(deps), cache_(cache), versions_(versions), workers_(workers), guard_(guard), counters_(counters) {}

    // Fills Outcome::values, in the order of the keys.
    void get(RespKeys keys, Done done);
    // The last version of the first key's value, whole; nothing when there is none. It counts as used.
    void version(const RespKeys& keys, std::function<void(std::optional<RespVersion>)> done);
    // Fills Outcome::done and number, with the expiry of the value of the first key. No value moves for it.
    void expiry(const RespKeys& keys, Done done);
    // Fills Outcome::number, with the bytes of the value of the first key; 0 when there is none. No value moves for it:
    // what is here has a head, and of what others have their answers tell the size.
    void length(const RespKeys& keys, Done done);

  private:
    struct Gathering;
    using Verdicts = RespVersionSearch::Verdicts;

    void gather(const std::shared_ptr<Gathering>& gathering, const Verdicts& verdicts);
    // From another peer.
    void fetch(const std::shared_ptr<Gathering>& gathering, std::size_t place, const exa::kv::ValueVerdict& verdict);
    // From the disk, on a thread that may block.
    void read(const std::shared_ptr<Gathering>& gathering, const std::vector<std::size_t>& places);
    std::optional<RespVersion> read(const exa::kv::SegmentKey& key, std::string_view user_key) const;
    // What the head of the value says, if it is live: all parts but the first may be missing.
    using HeadDone = std::function<void(const std::optional<RespVersion>&)>;
    void head(const exa::kv::SegmentKey& key, const std::string& user_key, const exa::kv::ValueVerdict& verdict,
              HeadDone done);
    std::optional<RespVersion> live(std::optional<RespVersion> version) const;
    // Its value, counted; the version stays in memory.
    std::optional<exa::resp::Value> accept(const exa::kv::SegmentKey& key, std::optional<RespVersion> version,
                                           RespCounters::Counter& hits);

    const RespDeps& deps_;
    RespValueCache& cache_;
    RespVersionSearch& versions_;
    shared::WorkQueue& workers_;
    const shared::CallbackGuard& guard_;
    RespCounters& counters_;
};

}  // namespace exa::app::resp
