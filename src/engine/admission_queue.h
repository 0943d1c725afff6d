// AdmissionQueue: requests that wait for a permit of a replica, and which of them is next.
//
// A higher priority goes first, but who is passed over `passed_over_max` times by higher ones goes before them once.
// Within a priority tenants take turns by deficit round robin (Shreedhar and Varghese 1995): over any time in which two
// of them wait all along, what was admitted of them differs by less than a quantum and the largest request, however
// many requests each of them has. Of a tenant's own requests the one whose deadline comes first is next: who asks with
// the same patience keeps his turn, and who was refused before and asks again is as old as he is.
//
// The queue is bounded in requests and in tokens. When it is full, a newcomer takes the room of the last request of the
// tenant that has most waiting, in the lowest priority; in its own priority only if that tenant still has more than its
// own would. So neither a flood of one tenant nor one of low priority keeps others out.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace exa::engine {

// Names a request that waits; never given twice by one queue.
struct WaitTicket {
    std::uint64_t value = 0;
    auto operator<=>(const WaitTicket&) const = default;
};

struct WaitTerms {
    std::string tenant{};             // empty: anonymous, a tenant like others
    std::uint32_t priority = 1;       // 0 first; below AdmissionQueue::levels
    std::uint32_t tokens = 0;         // about what it will take of the replica, at least 1
    TimePoint deadline = time_never;  // from then on it gets no permit
};

struct QueueConfig {
    std::uint32_t requests_max = 64;     // 0: nobody waits
    std::uint64_t tokens_max = 131'072;  // of all that wait; one request alone may have more
    std::uint32_t quantum = 1'024;       // tokens of a tenant's turn, at least 1
};

class AdmissionQueue {
  public:
    static constexpr std::uint32_t levels = 3;
    static constexpr std::uint32_t passed_over_max = 8;

    explicit AdmissionQueue(const QueueConfig& config);

    struct Pushed {
        WaitTicket ticket;
        std::optional<WaitTicket> displaced{};  // whose room it took; out now
    };
    // errc::busy when there is no room; nothing changed then.
    Result<Pushed> push(TimePoint now, WaitTerms terms);

    // Who gets the next permit; nothing when nobody waits. Never one past its deadline: those wait for expire().
    std::optional<WaitTicket> pop(TimePoint now);

    // Those past their deadline since it was asked last, by deadline.
    std::vector<WaitTicket> expire(TimePoint now);
    // time_never when nobody has one.
    TimePoint next_deadline() const;

    // False when it does not wait.
    bool erase(WaitTicket ticket);

    std::size_t size() const { return waiting_.size(); }
    std::uint64_t tokens() const { return tokens_; }

  private:
    struct Tenant {
        std::string name;
        std::uint64_t deficit = 0;
        bool has_turn = false;  // and got the quantum for it
        std::uint64_t tokens = 0;
        std::deque<WaitTicket> waiting;
    };
    struct Level {
        std::deque<Tenant> tenants;  // in the order of their turns, all with waiting requests
        std::uint32_t passed_over = 0;
    };

    bool has_room(std::size_t requests, std::uint64_t tokens) const;
    std::optional<WaitTicket> find_victim(const WaitTerms& newcomer) const;
    // Moves those past their deadline to expired_.
    void sweep(TimePoint now);
    WaitTicket next_of(Level& level);
    void remove(WaitTicket ticket);

    QueueConfig config_;
    std::array<Level, levels> levels_;
    std::map<WaitTicket, WaitTerms> waiting_;
    std::set<std::pair<TimePoint, WaitTicket>> deadlines_;
    std::vector<std::pair<TimePoint, WaitTicket>> expired_;
    std::uint64_t tokens_ = 0;
    std::uint64_t next_ticket_ = 1;
};

}  // namespace exa::engine
