// Ingresses: the client's side of every peer. Production's own gateway::Request and router::Dispatcher decide; this
// carries out their actions over the simulated network, as app/gateway does over HTTP and links.
//
// A call lives in a slot of a table from submit() to its Done; the time line holds only (slot, serial, step).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/request.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/gateway/call.h"
#include "sim/gateway/receivers.h"

namespace exa::sim {

struct IngressCounters {
    std::uint64_t attempts = 0;
    std::uint64_t resumed = 0;  // streams that went on at another replica
    // Of each request that met a silent host before its client had anything: seconds from its arrival to the attempt
    // that answered, or to the error.
    std::vector<double> lost_to_silence_s;
    // By gateway::Outcome: how attempts ended.
    std::array<std::uint64_t, 12> outcomes{};

    std::uint64_t of(gateway::Outcome outcome) const { return outcomes[static_cast<std::size_t>(outcome)]; }
};

class Ingresses final : public ReplySink {
  public:
    // Takes the cluster's events `step`.
    Ingresses(Cluster& cluster, Oracles& oracles, Receivers& receivers, CallObserver& observer,
              const gateway::Config& config);

    // Names a call at its ingress; void once its Done was told, or the ingress died.
    struct CallHandle {
        std::uint32_t slot = 0;
        std::uint32_t serial = 0;
    };
    // The call's bytes arrive at `host`, which is up, at `at`. `call` lives until its Done or drop().
    CallHandle submit(WorldTime at, Host host, const Call& call);
    // Whether the process that took the call is still there and at it.
    bool is_served(CallHandle handle);
    // What the request waits for, for people; of one that is served.
    std::string waiting_for(CallHandle handle) const;
    Host ingress(CallHandle handle) const { return slots_[handle.slot].host; }
    // Whether that process runs as it should (sim/process/peer.h).
    bool is_punctual(CallHandle handle) const { return cluster_.peer(slots_[handle.slot].host).is_punctual(); }
    // The client goes away; nothing more of the call is told.
    void client_gone(CallHandle handle);
    // The client gave up on an ingress that died.
    void drop(CallHandle handle);

    void reply(ReplyAddress to, ReplyPart part, std::size_t bytes) override;

    const IngressCounters& counters() const { return counters_; }
    // Sums over the dispatchers that are up.
    router::Counters dispatched() const;

  private:
    enum class Step : std::uint8_t {
        enter,    // the client's bytes are here
        open,     // the request is at its target
        failed,   // no link could be dialled
        part,     // the next part of the reply is here
        look,     // is the other end of the link still there? (io/link's ping)
        timeout,  // the request's own
    };

    struct Slot {
        bool live = false;
        std::uint32_t serial = 0;  // grows with every call in this slot and every attempt of it
        std::uint32_t life = 0;    // grows with every call
        Host host = 0;
        std::uint32_t boot = 0;
        const Call* call = nullptr;
        std::optional<gateway::Request> request;  // nothing until the bytes are here
        bool complete = false;
        bool early = false;  // it came before its ingress began to drain
        WorldTime came;
        bool met_silence = false;  // an attempt that was in vain did
        // Of the current attempt.
        WorldTime begun;
        bool is_silent = false;  // its target, from the start
        Host target = 0;
        std::uint32_t target_boot = 0;
        Generation target_generation{};
        std::optional<WorkId> work;
        std::deque<ReplyPart> coming;
        WorldTime reply_at;
        bool reply_dead = false;  // nothing of the reply arrives any more
        bool sent_lost = false;   // it went out on a link to a process that is gone
        std::uint32_t silent_looks = 0;
        WorldTime armed_for = world_never;
    };

    void handle(const Event& event);
    void plan(WorldTime at, Step step, std::uint32_t index, std::uint32_t serial);
    Peer* ingress_of(const Slot& slot);
    void enter(std::uint32_t index);
    void open(std::uint32_t index);
    void take_parts(std::uint32_t index);
    void take_end(Slot& slot, Peer& peer, wire::End end, gateway::Actions& actions);
    void look(std::uint32_t index);
    void link_broken(std::uint32_t index);
    void timeout(std::uint32_t index);
    void carry_out(std::uint32_t index, gateway::Actions& actions);
    void begin_attempt(std::uint32_t index);
    void send_open(std::uint32_t index);
    void let_go(Slot& slot);
    bool is_silent(Host from, Host target) const;
    void note_silence(Slot& slot);
    void note_first_byte(const Slot& slot, bool is_error);
    void finish(std::uint32_t index, const gateway::Done& done);
    void free(std::uint32_t index);
    void arm(std::uint32_t index);
    TimePoint local(const Peer& peer) const { return cluster_.local_now(peer); }
    // Of the replica of the current attempt, at the ingress's dispatcher; false when its view has none.
    bool is_breaker_open(const Peer& peer, const ReplicaId& replica) const;

    Cluster& cluster_;
    Oracles& oracles_;
    Receivers& receivers_;
    CallObserver& observer_;
    const gateway::Config config_;
    std::deque<Slot> slots_;
    std::vector<std::uint32_t> free_;
    IngressCounters counters_;
};

}  // namespace exa::sim
