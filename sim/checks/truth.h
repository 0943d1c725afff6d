// Truth: which peer is up, in which instance, and what each observer has told its owner of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "membership/event.h"
#include "membership/view.h"
#include "sim/cluster/cluster.h"

namespace exa::sim {

// What one observer believes of one subject.
struct Opinion {
    bool known = false;
    membership::Liveness liveness = membership::Liveness::alive;
    std::uint64_t generation = 0;
    std::uint32_t instance = 0;
    Incarnation ended;  // the one that was called dead or left, of a peer that is not live
};

// A peer, by its id.
struct Subject {
    PeerId id;
    Host host = 0;
    std::uint64_t generation = 0;  // of its latest instance
    std::uint32_t instance = 0;    // tells it from another with that generation, where a disk lied
    std::uint64_t newest = 0;      // generation of all its instances: a disk that lies takes it back
    bool up = false;
    bool left = false;  // it went by its own word
    WorldTime down_at;
    Incarnation incarnation;  // its last one, of an instance that is over
    // The last one that an earlier instance had under this generation, where a disk lied. A fact names no instance, so
    // that a peer that has not heard of that one's death before takes it for this one's.
    std::optional<Incarnation> earlier;
    WorldTime up_at;

    bool is_in(const membership::Event& event) const {
        return event.generation.value == generation && event.instance == instance;
    }
    bool is_in(const Opinion& opinion) const {
        return opinion.generation == generation && opinion.instance == instance;
    }
};

class Truth {
  public:
    explicit Truth(const Cluster& cluster) : cluster_(cluster), opinions_(cluster.size()) {}

    // Its number, which stays; new ids get the next one.
    std::size_t number_of(const Peer& peer);
    std::optional<std::size_t> find(PeerId id) const;
    std::size_t size() const { return subjects_.size(); }
    const Subject& subject(std::size_t number) const { return subjects_[number]; }
    const Opinion& opinion(Host observer, std::size_t number) { return cell(observer, number); }
    // Peers that are up.
    std::uint32_t up() const { return up_; }
    // For messages.
    std::string name(std::size_t number) const;

    void note_up(WorldTime now, const Peer& peer);
    void note_down(WorldTime now, const Peer& peer);
    void note_event(Host observer, std::size_t number, const membership::Event& event);

  private:
    Opinion& cell(Host observer, std::size_t number);

    const Cluster& cluster_;
    std::vector<Subject> subjects_;
    std::unordered_map<std::uint64_t, std::size_t> by_id_;
    std::vector<std::vector<Opinion>> opinions_;  // [observer][subject]
    std::uint32_t up_ = 0;
};

inline bool is_live(membership::Liveness liveness) {
    return liveness == membership::Liveness::alive || liveness == membership::Liveness::suspect;
}

}  // namespace exa::sim
