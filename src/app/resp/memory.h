// RespMemory: the values of the Redis port that are in memory: those that wait for the disk, and those used recently,
// of which the least recently used go. One thread at a time.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "app/resp/version.h"
#include "kv/segment_key.h"

namespace exa::app::resp {

class RespMemory {
  public:
    struct Entry {
        RespVersion version;
        bool waits = false;                               // for the disk
        bool is_unacked = false;                          // written here, and its owners may not have it yet
        std::list<exa::kv::SegmentKey>::iterator recent;  // of those that do not wait
    };

    // Of values used recently; what waits for the disk comes on top.
    explicit RespMemory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    // Null: it is not here. Not used by that.
    const Entry* find(const exa::kv::SegmentKey& key) const;
    // A part of a version that is here, by its own key.
    const RespVersion* find_part(const exa::kv::SegmentKey& key, std::size_t& part) const;
    void touch(const exa::kv::SegmentKey& key);
    // In the place of what was under the key, which is dropped even if it waits.
    void enter(const exa::kv::SegmentKey& key, RespVersion version, bool waits, bool is_unacked);
    // Unless it waits.
    void forget(const exa::kv::SegmentKey& key);
    // The least recently used. False: there is none.
    bool forget_oldest();
    void handle_acked(const exa::kv::SegmentKey& key, std::uint64_t stamp);

    // What waited for the disk has been written, or refused by it. A removal that is on the disk is not kept in memory,
    // too.
    void handle_stored(const exa::kv::SegmentKey& key, std::uint64_t stamp, bool on_disk);

    // Written here and not known to be stored elsewhere, in the order of keys, from `first` on.
    std::vector<const RespVersion*> list_own(const exa::kv::SegmentKey& first, const exa::kv::SegmentKey& last) const;

    std::size_t count() const { return entries_.size(); }
    std::size_t waiting() const { return waiting_; }
    std::uint64_t recent_bytes() const { return recent_bytes_; }

  private:
    using Entries = std::map<exa::kv::SegmentKey, Entry>;

    void make_recent(Entries::iterator entry);
    void drop(Entries::iterator entry);

    const std::uint64_t bytes_max_;
    Entries entries_;
    std::list<exa::kv::SegmentKey> recent_;  // the least recently used last
    std::uint64_t recent_bytes_ = 0;
    std::size_t waiting_ = 0;
};

}  // namespace exa::app::resp
