// RespMemory: the values of the Redis port that are in memory: those that wait for the disk, and those used lately, of
// which the longest unused go. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "app/resp/version.h"
#include "kv/segment_key.h"

namespace exa::app {

class RespMemory {
  public:
    struct Entry {
        RespVersion version;
        bool waits = false;                          // for the disk
        bool is_unsettled = false;                   // written here, and its owners may not have it yet
        std::list<kv::SegmentKey>::iterator recent;  // of those that do not wait
    };
    struct Write {
        kv::SegmentKey key;
        std::uint64_t stamp = 0;
        std::uint64_t bytes = 0;
    };

    // Of values used lately; what waits for the disk comes on top.
    explicit RespMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    // Null: it is not here. Not used by that.
    const Entry* find(const kv::SegmentKey& key) const;
    // A part of a version that is here, by its own key.
    const RespVersion* find_part(const kv::SegmentKey& key, std::size_t& part) const;
    void touch(const kv::SegmentKey& key);
    // In the place of what was under the key, which is dropped even if it waits.
    void enter(const kv::SegmentKey& key, RespVersion version, bool waits, bool is_unsettled);
    // Unless it waits.
    void forget(const kv::SegmentKey& key);
    // The longest unused. False: there is none.
    bool forget_oldest();
    void settle(const kv::SegmentKey& key, std::uint64_t stamp);

    // The oldest that waits. Its bytes count as waiting until stored().
    std::optional<Write> next_write();
    bool has_writes() const { return !queue_.empty(); }
    // Nothing: it was written over meanwhile.
    std::optional<RespVersion> version_of(const Write& write) const;
    // A removal that is on the disk is not kept in memory, too.
    void stored(const Write& write, bool on_disk);

    // Written here and not known to be stored elsewhere, in the order of keys, from `first` on.
    std::vector<const RespVersion*> list_own(const kv::SegmentKey& first, const kv::SegmentKey& last) const;

    std::size_t count() const { return entries_.size(); }
    std::size_t waiting() const { return waiting_; }
    std::uint64_t recent_bytes() const { return recent_bytes_; }
    std::uint64_t queued_bytes() const { return queued_bytes_; }

  private:
    using Entries = std::map<kv::SegmentKey, Entry>;

    void make_recent(Entries::iterator entry);
    void drop(Entries::iterator entry);

    const std::uint64_t bytes_max_;
    Entries entries_;
    std::list<kv::SegmentKey> recent_;  // the longest unused last
    std::uint64_t recent_bytes_ = 0;
    std::deque<Write> queue_;
    std::uint64_t queued_bytes_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace exa::app
