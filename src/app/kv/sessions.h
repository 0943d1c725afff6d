// KvSessions: which segments the sessions hold that this peer's replicas have answered, the latest ones, so that an
// operator can find a session's KV and move it. What is forgotten here is in the caches all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "kv/segment_key.h"

namespace exa::app::kv {

// Thread-safe.
class KvSessions {
  public:
    // A key among those of all sessions.
    struct Place {
        std::uint64_t session = 0;  // its position
        std::size_t key = 0;
        bool operator==(const Place&) const = default;
    };
    struct Page {
        std::vector<exa::kv::SegmentKey> keys;
        std::optional<Place> next;  // nothing: that was all
    };

    // `keys_max`: of all sessions together, 32 bytes each; the sessions used longest ago go first.
    explicit KvSessions(std::size_t keys_max = 262'144) : keys_max_(keys_max) {}

    // A replica has answered a request of the session (its position on the ring) as far as this segment. The segments
    // of a request come in order, the first one first.
    void note(ReplicaId replica, std::uint64_t session, const exa::kv::SegmentKey& key,
              const exa::kv::SegmentKey& parent);

    // Of the session's latest prompt and answer, in order; empty when it is not known.
    std::vector<exa::kv::SegmentKey> of_session(std::uint64_t session) const;
    // Of the sessions that this replica was the last to answer, in the order of their positions, up to `limit` keys
    // from `from` on. What changes between two pages shows as it then is.
    Page of_replica(ReplicaId replica, Place from, std::size_t limit) const;

  private:
    struct Session {
        std::uint64_t position = 0;
        ReplicaId replica;
        std::vector<exa::kv::SegmentKey> keys;
        std::size_t next = 0;  // after the one that was noted last
    };

    Session& session_at(std::uint64_t position);
    void forget_oldest();

    const std::size_t keys_max_;
    mutable std::mutex mutex_;
    std::list<Session> sessions_;  // used last first
    std::map<std::uint64_t, std::list<Session>::iterator> by_position_;
    std::size_t keys_ = 0;
};

}  // namespace exa::app::kv
