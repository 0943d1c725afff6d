// Prober: finds out which peers answer, by probes of its own and on behalf of others.
// In each probe_interval (a round; probe_order.h says who probes whom) one peer is pinged (SWIM section 3.1). After
// probe_timeout without an answer a few other peers are asked to ping it (indirect probes) and the link is tried as
// well (the fallback probe, which tells packet loss from death). When neither brings an answer before the interval
// ends, the peer is accused.
//
// Local health (Lifeguard section IV-A): a prober whose own probes fail while those that should have helped are silent
// too is probably slow itself. It stretches its interval and timeout, up to (1 + local_health_max) times.
// Timers: probe -> finish(), then start(); probe_timeout -> ask_others(); indirect_probe -> indirect_timeout().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "membership/probe_order.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class Prober {
  public:
    enum class Path : std::uint8_t { datagram, helper, link };

    // Getters.
    // The probe round, which pings carry.
    std::uint32_t round() const { return rounds_.now(); }
    // 0: healthy; up to Config::local_health_max as our own probes and answers fail.
    std::uint32_t local_health() const { return local_health_; }
    // A probe has failed, the helpers were silent too, and nobody has been heard since it began: it is more likely that
    // this peer is cut off than that all others died.
    bool is_cut_off() const { return is_cut_off_; }
    // Our probes are answered over links only.
    bool is_udp_blocked() const { return udp_blocked_; }
    // Probes under way for others.
    std::size_t indirect_probes() const { return indirect_.size(); }
    std::uint64_t probes() const { return probes_; }
    std::uint64_t probes_failed() const { return probes_failed_; }

    // Own probes.
    // Probes the next peer, if there is one, and sets the timer for the probe after it.
    Effects start(const Step& step);
    // The probe under way has had its time: accuses its target when nothing answered.
    Effects finish(const Step& step);
    // The direct ping has had its time: others try, and the link, in case that only our datagrams are lost.
    Effects ask_others(const Step& step);
    // An ack that came over `path`, to a probe of our own or to one on behalf of another, who is then told.
    Effects handle_ack(const Step& step, PeerId target, std::uint64_t seq, Path path);
    // A peer that we asked is there, and has no answer from the target either.
    void handle_nack(const wire::Packet& nack);
    // A member's datagram has come. After a cut our health is as good as new, since what failed meanwhile says nothing
    // of this process, and the next peer is probed at once.
    void hear(const Step& step);
    // The target of the last finished probe, when it was answered, but not by the target's own datagram.
    std::optional<PeerId> take_indirectly_answered() { return std::exchange(indirectly_answered_, std::nullopt); }
    void hear_round(std::uint32_t round) { rounds_.hear(round); }
    // Probes `suspect` out of turn: at once, unless an answer is still awaited.
    void probe_soon(const Step& step, PeerId suspect);

    // Probes for others.
    Effects handle_request(const Step& step, const Endpoint& from, const wire::Packet& request);
    // The target was silent: the requester is told, and a late answer passed on for a while.
    Effects indirect_timeout(const Step& step, std::uint64_t seq);

    // Local health.
    void worsen(const Config& config, std::size_t by);
    // This process was late itself: the failure of the probe under way says nothing.
    void note_lateness(const Config& config);

    // Forgets the probe under way, and with stop() those for others.
    void pause() {
        probe_.reset();
        is_cut_off_ = false;
    }
    void stop();

  private:
    struct Probe {
        PeerId target;
        Generation generation;
        Incarnation incarnation;
        std::uint64_t seq = 0;
        std::vector<PeerId> helpers;  // asked, and no nack from them yet
        std::size_t nacks_expected = 0;
        std::size_t nacks = 0;
        bool answered = false;
        bool answered_by_datagram = false;  // its own, or a helper's
        bool answered_itself = false;       // by its own
        bool is_void = false;               // we were late ourselves
    };
    struct IndirectProbe {
        Endpoint requester;
        std::uint64_t requester_seq = 0;
        PeerId requester_id;
        PeerId target;
        bool nacked = false;
    };

    Duration stretched(Duration value) const { return value * (1 + local_health_); }
    void watch_datagrams(bool got_through, const Step& step, Effects& effects);

    ProbeOrder order_;
    ProbeRounds rounds_;
    std::optional<Probe> probe_;  // the one of our own that may be under way
    std::map<std::uint64_t, IndirectProbe> indirect_;
    std::uint32_t local_health_ = 0;
    std::optional<PeerId> indirectly_answered_;
    std::uint32_t link_only_ = 0;  // probes in a row that only the link answered
    bool udp_blocked_ = false;
    bool was_heard_ = false;  // somebody, since the last probe began
    bool is_cut_off_ = false;
    std::uint64_t probes_ = 0;
    std::uint64_t probes_failed_ = 0;
};

}  // namespace exa::membership
