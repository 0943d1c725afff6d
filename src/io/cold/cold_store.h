// ColdStore: segments on a file system that all peers share; the cold tier of the cache.
//
// What ages out of the warm store is written here before it goes, behind everything else; what no peer has warm any
// more is read from here. The directory's layout and why peers may share it stand in cold_files.h, who removes what in
// kv/cold_gc.h.
//
// The file system may fail, be full, or hang: no call here blocks on it, every thread that does is this store's own,
// and what is asked for while it does not answer is a miss at once. When it fails again and again, or one call hangs,
// the tier is closed off, and tried again from time to time (base/breaker.h).
//
// A segment is verified after every read; one that does not verify is a miss and is removed. Several that want the same
// segment at a time cost one read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/breaker.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/time.h"
#include "io/cold/cold_files.h"
#include "kv/fetch_cost.h"
#include "kv/segment.h"

namespace exa::io::cold {

struct ColdConfig {
    std::uint64_t capacity_bytes = 0;  // of the whole directory, all peers together
    bool durably = false;
    std::uint32_t readers = 4;                              // reads at a time
    std::size_t waiting_max = 1024;                         // reads in the queue; what is beyond is a miss
    Duration stall = std::chrono::seconds{2};               // a call that takes longer closes the tier off
    Duration full_wait = std::chrono::seconds{60};          // without a write, after the file system was full
    Duration write_pause = std::chrono::milliseconds{100};  // between two looks for what ages
    Duration stop_timeout = std::chrono::seconds{2};        // for calls under way, when the store stops
    BreakerLimits breaker;
};

// Called from any thread, also when the store has stopped.
struct ColdClock {
    std::function<TimePoint()> now;
    std::function<WallTime()> wall;
};

struct ColdStats {
    bool is_closed_off = false;
    bool is_full = false;
    std::string trouble;  // the last one, in words; empty: there was none
    // In this peer's gc, as last looked at, and what may be there.
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t share_bytes = 0;
    std::uint64_t lookups = 0;   // segments that were looked for
    std::uint64_t found = 0;     // of these
    std::uint64_t declined = 0;  // of those found: sooner computed than read
    std::uint64_t reads = 0;     // good ones
    std::uint64_t read_bytes = 0;
    std::uint64_t bytes_per_s = 0;  // of late, with all readers at work; 0: nothing read yet
    std::uint64_t missing = 0;      // reads of what was not there
    std::uint64_t refused = 0;      // not asked of the file system: closed off, or too many were waiting
    std::uint64_t corrupt = 0;      // did not verify; removed
    std::uint64_t written = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t present = 0;  // not written: another peer had
    std::uint64_t evicted = 0;  // of this peer's folders
    std::uint64_t errors = 0;
};

// Where aging segments come from. Calls may block on a local disk.
class AgingSegments {
  public:
    virtual ~AgingSegments() = default;

    // The next to go, first of all the first.
    virtual std::vector<kv::SegmentKey> next_to_go(std::size_t count) = 0;
    // Null: it has gone.
    virtual kv::SealedSegment peek(const kv::SegmentKey& key) = 0;
    // It needs no copy in the cold tier any more; next_to_go() does not name it again.
    virtual void mark_persisted(const kv::SegmentKey& key) = 0;
};

class ColdStore {
  public:
    // `sealer` and `log` outlive the store, or stop().
    ColdStore(const ColdConfig& config, PeerId self, std::unique_ptr<ColdFiles> files, const kv::SegmentSealer& sealer,
              ColdClock clock, Log& log);
    ~ColdStore();  // stops
    ColdStore(const ColdStore&) = delete;
    ColdStore& operator=(const ColdStore&) = delete;

    // What waits is a miss. A thread that hangs in the file system is left behind, and touches nothing of others'.
    // Idempotent.
    void stop();

    // The rest is thread-safe, and never blocks.

    // From now on what ages there is written here. `from` outlives the store, or stop().
    void begin_writing(AgingSegments& from);
    // Those that look after the directory.
    void set_peers(std::vector<PeerId> peers);

    // `done` gets the sealed size of each, 0 for what is not there or is sooner computed than read; behind the first of
    // those there is nothing. It is called once, here or from a thread of the store, or never after stop().
    using Sizes = std::function<void(std::vector<std::uint32_t>)>;
    void look(std::vector<kv::SegmentKey> keys, const kv::FetchTerms& terms, Sizes done);
    // Verified, or null. `done` as above.
    using Done = std::function<void(kv::SealedSegment)>;
    void read(const kv::SegmentKey& key, Done done);

    ColdStats stats() const;

  private:
    struct State;
    const std::shared_ptr<State> state_;
    std::vector<std::thread> threads_;
};

}  // namespace exa::io::cold
