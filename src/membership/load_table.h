// LoadTable: the newest load reports of every peer, and when our own are worth telling.
//
// A peer's reports are cut by replica id into groups of wire::load_group_max, each small enough to find room in any
// packet. A group replaces the one before it as a whole; (generation, number) orders them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/news_queue.h"
#include "membership/view.h"
#include "wire/gossip.h"

namespace exa::membership {

class LoadTable {
  public:
    // Of a peer that the caller knows to be alive in this generation. False when it held the same or newer.
    bool apply(TimePoint now, const wire::LoadGroup& group);
    // A single report that came with an answer: taken when its replica is known and it was measured later. True when
    // it changed something.
    bool note(TimePoint now, const wire::LoadReport& report);
    void drop(PeerId peer);

    // Our own, all of them.
    void set_own(TimePoint now, PeerId self, Generation generation, std::span<const wire::LoadReport> reports);
    // Our groups in which a report changed by at least `change` of its last told value. They count as told.
    std::vector<NewsKey> take_own_news(PeerId self, double change);

    // As it would leave now; nothing when there is none.
    std::optional<wire::LoadGroup> group(TimePoint now, NewsKey key) const;
    std::vector<NewsKey> keys() const;

    // Sorted by replica id, one each.
    std::vector<LoadEntry> entries() const;

  private:
    struct Group {
        Generation generation;
        std::uint64_t number = 0;
        TimePoint measured;
        std::vector<LoadEntry> entries;
    };

    std::map<NewsKey, Group> groups_;
    std::map<NewsKey, std::vector<LoadEntry>> told_;  // of our own groups
    std::uint64_t number_ = 0;
};

}  // namespace exa::membership
