// Oracles: what must hold (DESIGN section 13), checked while the world runs, and what is measured on the way.
//
// They know the truth (who is up, in which life) and hear what every peer tells its owner; from the two follows who
// knew what when. Nothing here asks a peer for a view at every event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "membership/membership.h"
#include "membership/view.h"
#include "router/routing_view.h"
#include "sim/checks/fingerprint.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct Violation {
    std::string check;  // "M2"
    std::string what;
    WorldTime at;
    std::uint64_t entry = 0;  // of the trace, for explain
};

// Seconds, each list in the order things happened.
struct Measured {
    std::vector<double> detect_first;  // crash to the first observer that calls it dead
    std::vector<double> detect_all;    // ... to the last
    std::vector<double> spread;        // between the two
    std::vector<double> join_all;      // from a node's start until all that were up then know it
    std::optional<double> ready_all;   // from the start until every replica is ready in every view
    std::optional<double> settle;      // of the liveness phase
    std::uint64_t false_deaths = 0;    // of peers that were up, punctual and in reach
    std::uint64_t excused_deaths = 0;  // of peers that were up, but stopped or cut off
    std::uint64_t suspicions = 0;
    std::uint64_t ring_changes = 0;  // as one observer's dispatcher would have seen them
    std::uint64_t left_as_dead = 0;  // observers that called a peer dead which had left by its own word
    std::uint64_t strangers = 0;     // datagrams of no member, or heard before, whose effect was looked at
    std::uint64_t placements = 0;    // ring changes and placements of copies that were looked at
    membership::Sizes sizes;         // the most of each that one peer held at a look
};

class Oracles final : public Watcher {
  public:
    // Both outlive it.
    Oracles(const Scenario& scenario, Cluster& cluster);

    void on_up(WorldTime now, const Peer& peer) override;
    void on_down(WorldTime now, const Peer& peer) override;
    void on_told(WorldTime now, const Peer& observer, const membership::Event& event) override;
    void before_stranger(const Peer& peer) override;
    void after_stranger(WorldTime now, const Peer& peer, Origin origin, bool taken) override;
    // A cut ended or a stopped peer goes on: what is overdue gets its time again.
    void on_heal(WorldTime now) { last_heal_ = now; }

    // The plan is over: what goes down from now on is not measured, only judged.
    void end_measuring() { measuring_ = false; }
    // Looks for what is overdue, and at what is bounded.
    void sweep(WorldTime now);
    // Every peer of `core` agrees with the truth about the core and about those that are down. `why` says what is
    // missing, if anything.
    bool is_settled(const std::vector<Host>& core, std::string& why);
    // Once, when all has settled.
    void check_rings(const std::vector<Host>& core);
    void check_bounds();
    // A datagram or link message as it leaves a peer.
    void check_length(Host from, bool link, std::size_t bytes);

    void violate(std::string_view check, std::string what);
    bool watches(std::string_view check) const { return watched_.contains(check); }
    const std::vector<Violation>& violations() const { return violations_; }
    std::uint64_t violation_count() const { return violation_count_; }
    Measured& measured() { return measured_; }
    const Measured& measured() const { return measured_; }

  private:
    struct Cell {
        bool known = false;
        membership::Liveness liveness = membership::Liveness::alive;
        std::uint64_t generation = 0;
        std::uint32_t life = 0;
        Incarnation buried;  // the one that was called dead, of a peer that is gone
        std::uint32_t ready = 0;
    };
    // A crash, a leave or a birth on its way into all heads.
    struct News {
        WorldTime at;
        std::optional<WorldTime> first;
        WorldTime last;
        std::vector<std::uint8_t> waiting;  // by host
        std::uint32_t left = 0;
        std::uint32_t told = 0;
        bool overdue = false;  // reported already
    };
    struct Subject {
        PeerId id;
        Host host = 0;
        std::uint64_t generation = 0;  // of its latest life
        std::uint32_t life = 0;        // tells it from another with that generation, where a disk lied
        std::uint64_t newest = 0;      // of all its lives: a disk that lies takes it back
        bool up = false;
        bool left = false;  // it went by its own word
        WorldTime down_at;
        Incarnation incarnation;  // its last one, of a life that is over
        // The last one that a former life had under this generation, where a disk lied. A fact names no life, so that
        // news of that one's death is taken for this one's by whoever has not heard of it before.
        std::optional<Incarnation> former;
        WorldTime up_at;
        std::optional<News> ending;
        std::optional<News> birth;

        bool is_in(const membership::Event& event) const {
            return event.generation.value == generation && event.instance == life;
        }
        bool is_in(const Cell& cell) const { return cell.generation == generation && cell.life == life; }
    };

    std::size_t subject_of(const Peer& peer);
    std::optional<std::size_t> find(PeerId id) const;
    Cell& cell(Host observer, std::size_t subject);
    void refresh_ready(const Peer& observer, std::size_t subject, Cell& cell);
    void note_ring(const Peer& observer, bool at_once);
    void check_movement(const Peer& observer, const router::RoutingView& before, const router::RoutingView& after);
    void check_copies(const Peer& observer);
    void check_sizes();
    void note_death(WorldTime now, const Peer& observer, std::size_t subject, const membership::Event& event);
    void note_leave(WorldTime now, const Peer& observer, std::size_t subject, const membership::Event& event);
    void note_suspicion(const Peer& observer, std::size_t subject);
    void note_return(WorldTime now, const Peer& observer, std::size_t subject, const membership::Event& event);
    void heard(WorldTime now, std::optional<News>& news, Host observer, bool ending);
    void drop_observer(Host host);
    bool is_excused(WorldTime now, const Peer& peer) const;
    bool is_news_held_up(WorldTime now) const;
    std::string name(std::size_t subject) const;

    const Scenario& scenario_;
    Cluster& cluster_;
    std::set<std::string, std::less<>> watched_;
    Duration detect_bound_;
    std::vector<Subject> subjects_;
    std::unordered_map<std::uint64_t, std::size_t> by_id_;
    std::vector<std::vector<Cell>> cells_;  // [observer][subject]
    std::uint64_t ready_ = 0;               // sum over all cells
    std::uint32_t up_ = 0;
    std::uint64_t false_suspicions_ = 0;
    WorldTime last_heal_{};
    bool measuring_ = true;
    std::map<Host, std::set<Host>> victims_;  // by accuser
    std::optional<Host> ring_observer_;
    std::uint64_t ring_digest_ = 0;
    WorldTime ring_looked_{};
    bool ring_stale_ = false;
    std::shared_ptr<const router::RoutingView> ring_before_;
    Rng placement_;
    std::optional<Fingerprint> stranger_before_;
    std::vector<Violation> violations_;
    std::uint64_t violation_count_ = 0;
    Measured measured_;
};

}  // namespace exa::sim
