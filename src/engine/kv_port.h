// KvPort: the way of KV into a replica and out of it, one segment at a time. What is on its other side, memory, a disk
// or another peer, is its owner's.
//
// In: when a prompt is admitted whose first segments are not in the replica's memory, it wants them. It waits, and
// holds up nobody, until all have been given, its owner ends the wait, or the wait's deadline has passed; what is
// missing then is computed. What was given counts as cached, and others share it. Out: whenever the tokens of a request
// pass the end of a segment, that segment is finished, and can be copied out.
//
// Polling order: poll_finished() and copy_out() between a step() and the next step() or give(), which give up what was
// not polled; poll_want() before a step(), which then need not wait for what is at hand. One thread, the replica's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "engine/page_pool.h"
#include "engine/replica.h"
#include "kv/segment_key.h"

namespace exa::engine {

// Names one wait; never given twice by one replica.
struct RestoreId {
    std::uint64_t value = 0;
    auto operator<=>(const RestoreId&) const = default;
};

// Segments that a request waits for.
struct KvWant {
    RestoreId id;
    RequestId request;
    std::vector<kv::SegmentKey> keys;  // one behind the other; the first is the first that is not there
    TimePoint deadline{};              // the wait ends by itself
    // What computing one of them takes, as measured; nothing: not known.
    std::optional<Duration> compute = {};
};

struct FinishedSegment {
    kv::SegmentKey key;
    kv::SegmentKey parent;
    std::uint64_t tenant = 0;   // of its KvScope
    std::uint64_t session = 0;  // of its request
    std::vector<PageId> pages;
};

class KvPort {
  public:
    virtual ~KvPort() = default;

    virtual std::uint32_t segment_tokens() const = 0;
    // Of one segment: Model::kv_bytes().
    virtual std::size_t segment_bytes() const = 0;

    // Admits who can be admitted, and tells of one that wants segments.
    virtual std::optional<KvWant> poll_want(TimePoint now) = 0;
    // The next segment of a wait, in order; at an even address. The caller has made sure that the bytes are what the
    // key stands for; a payload of another size ends the wait. False when nothing more is wanted of it.
    virtual bool give(TimePoint now, RestoreId id, ByteView payload) = 0;
    // There are no more. Of a wait that has ended already: nothing.
    virtual void end_restore(TimePoint now, RestoreId id) = 0;

    virtual std::optional<FinishedSegment> poll_finished() = 0;
    // out: [segment_bytes()], at an even address.
    virtual void copy_out(const FinishedSegment& segment, std::span<std::uint8_t> out) const = 0;

    // How long the last step() took: what prompts cost.
    virtual void note_step(Duration took) = 0;
};

}  // namespace exa::engine
