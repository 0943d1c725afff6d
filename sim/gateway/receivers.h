// Receivers: the target's side of every peer. It carries out what gateway/receiver.h and gateway/admission.h decide,
// and makes answers with the manners of an engine: prefill, then pieces of tokens, slower as the batch grows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "base/mutant.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/gateway/call.h"
#include "wire/link_messages.h"

namespace exa::sim {

using ReplyPart = std::variant<wire::Head, wire::Data, wire::End>;

// Of one attempt, at its ingress.
struct ReplyAddress {
    std::uint32_t slot = 0;
    std::uint32_t serial = 0;
    bool operator==(const ReplyAddress&) const = default;
};

// Takes replies to their ingress. `bytes`: on the line; parts of one reply keep their order.
class ReplySink {
  public:
    virtual ~ReplySink() = default;
    virtual void reply(ReplyAddress to, ReplyPart part, std::size_t bytes) = 0;
};

struct ReceiverShape {
    std::uint32_t chunk_tokens = 16;
    double slow_tokens = 10;  // a second, of a client that reads slowly
};

// Names the work of an attempt at its target; void once it has ended.
struct WorkId {
    std::uint32_t index = 0;
    std::uint32_t serial = 0;
};

class Receivers {
  public:
    // Takes the cluster's events `receiver`.
    Receivers(Cluster& cluster, Oracles& oracles, const ReceiverShape& shape, Mutant mutant);

    void set_sink(ReplySink& sink) { sink_ = &sink; }
    // A request arrived at `host`. Nothing: it was refused, and the reply has ended already.
    std::optional<WorkId> open(Host host, const wire::Open& open, const Call& call, ReplyAddress from);
    // Word that nobody wants the rest arrives at `at`; until then the work goes on.
    void cancel_at(WorldTime at, WorkId work);

    // Ends everything under way at `host` so that it goes on elsewhere.
    void stop(Host host);

    std::uint64_t waited() const { return waited_; }

  private:
    enum class Step : std::uint8_t { produce, expire, cancel };

    struct Work {
        bool live = false;
        std::uint32_t serial = 0;
        Host host = 0;
        std::uint32_t boot = 0;
        std::uint16_t slot = 0;                    // of the replica
        std::optional<engine::WaitTicket> ticket;  // while it waits for a permit
        std::uint32_t unread_tokens = 0;           // of the prompt, before prefill
        std::uint32_t next = 0;                    // token of the answer
        std::uint32_t left = 0;
        std::uint64_t seed = 0;
        bool slow = false;
        bool begun = false;  // its head was sent
        ReplyAddress from;
    };

    void handle(const Event& event);
    void plan(WorldTime at, Step step, std::uint32_t index);
    std::uint32_t make_work(Host host, const wire::Open& open, const Call& call, ReplyAddress from);
    bool wait(std::uint32_t index, Duration at_most);
    void begin(std::uint32_t index);
    void produce(std::uint32_t index);
    // Ends a wait in vain.
    void turn_away(std::uint32_t index, const Error& why);
    void release(std::uint32_t index);
    // Gives free permits to those that wait.
    void grant(Replica& replica);
    void end(ReplyAddress to, wire::End end);
    Replica& replica_of(const Work& work) { return cluster_.peer(work.host).replicas[work.slot]; }
    // Until the next piece is ready, and its client ready for it.
    Duration piece_time(const Work& work, const Replica& replica) const;
    // Queues live on the world's time line.
    TimePoint queue_time() const { return TimePoint{cluster_.now().time_since_epoch()}; }

    Cluster& cluster_;
    Oracles& oracles_;
    const ReceiverShape shape_;
    const Mutant mutant_;
    ReplySink* sink_ = nullptr;
    std::deque<Work> works_;
    std::vector<std::uint32_t> free_;
    std::uint64_t waited_ = 0;
};

}  // namespace exa::sim
