#include "app/kv/sessions.h"

#include <algorithm>

namespace exa::app::kv {

KvSessions::Session& KvSessions::session_at(std::uint64_t position) {
    const auto known = by_position_.find(position);
    if (known != by_position_.end()) {
        sessions_.splice(sessions_.begin(), sessions_, known->second);
    } else {
        sessions_.push_front({position, {}, {}});
        by_position_.emplace(position, sessions_.begin());
    }
    return sessions_.front();
}

void KvSessions::forget_oldest() {
    while (keys_ > keys_max_ && sessions_.size() > 1) {
        keys_ -= sessions_.back().keys.size();
        by_position_.erase(sessions_.back().position);
        sessions_.pop_back();
    }
}

void KvSessions::note(ReplicaId replica, std::uint64_t position, const exa::kv::SegmentKey& key,
                      const exa::kv::SegmentKey& parent) {
    const std::lock_guard lock(mutex_);
    Session& session = session_at(position);
    session.replica = replica;
    std::vector<exa::kv::SegmentKey>& keys = session.keys;
    if (session.next >= keys.size() || keys[session.next] != key) {
        // Not what followed last time: a request from its start, or one that goes another way from here on.
        const auto place = [&keys](const exa::kv::SegmentKey& wanted) {
            return static_cast<std::size_t>(std::ranges::find(keys, wanted) - keys.begin());
        };
        session.next = place(key);
        if (session.next == keys.size()) {
            const std::size_t before = place(parent);
            session.next = before < keys.size() ? before + 1 : 0;
            keys_ -= keys.size();
            keys.resize(session.next);
            keys.push_back(key);
            keys_ += keys.size();
        }
    }
    ++session.next;
    forget_oldest();
}

std::vector<exa::kv::SegmentKey> KvSessions::of_session(std::uint64_t position) const {
    const std::lock_guard lock(mutex_);
    const auto known = by_position_.find(position);
    return known == by_position_.end() ? std::vector<exa::kv::SegmentKey>() : known->second->keys;
}

KvSessions::Page KvSessions::of_replica(ReplicaId replica, Place from, std::size_t limit) const {
    const std::lock_guard lock(mutex_);
    Page page;
    for (auto at = by_position_.lower_bound(from.session); at != by_position_.end(); ++at) {
        const Session& session = *at->second;
        if (session.replica != replica) continue;
        const std::size_t first = at->first == from.session ? std::min(from.key, session.keys.size()) : 0;
        const std::size_t past = first + std::min(limit - page.keys.size(), session.keys.size() - first);
        page.keys.insert(page.keys.end(), session.keys.begin() + static_cast<std::ptrdiff_t>(first),
                         session.keys.begin() + static_cast<std::ptrdiff_t>(past));
        if (past == session.keys.size()) continue;
        page.next = Place{at->first, past};
        break;
    }
    return page;
}

}  // namespace exa::app::kv
