// Replicators: the very node::KvReplicator of production at every host, one for each boot of its process, over the
// links of the network. It carries actions and answers as app/kv does and decides nothing; what a host has on its disk
// and in memory, and what becomes of it, is its user's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kv/holdings.h"
#include "node/kv_answer.h"
#include "node/kv_replicator.h"
#include "sim/cluster/cluster.h"

namespace exa::sim {

struct ReplicatorTraffic {
    EventKind kind{};  // of all its events
    LinkPool pool{};
    std::size_t segment_bytes = 0;  // of one that is fetched, on the line
};

// Where what is written comes from.
enum class WriteOrigin : std::uint8_t {
    made,     // by this host: offered to its owners
    offered,  // by a peer, which awaits the outcome
    fetched,  // for a client: not offered to any peer
};

// The hosts' disks and memories. Called for hosts whose process runs, except on_crash(); what it asks of the replicator
// during a call is carried out after it.
class ReplicatorUser {
  public:
    virtual ~ReplicatorUser() = default;

    // A process begins; the value is what it finds on its disk, and outlives it.
    virtual const kv::Holdings& on_start(Host host) = 0;
    // The host lost its memory and the writes under way.
    virtual void on_crash(Host host) = 0;
    // Before each poll of its view.
    virtual void on_poll(Host) {}

    // The store, as other hosts' questions ask it. The item's stamp and size are 0, and the segment null, when it is
    // not there.
    virtual kv::Item lookup(Host host, const kv::SegmentKey& key) = 0;
    virtual kv::SealedSegment read(Host host, const kv::SegmentKey& key) = 0;
    // A stamp that another host issued.
    virtual void observe(Host, std::uint64_t) {}
    // A question failed or was given up.
    virtual void on_trouble(Host) {}
    // A write that write_later() began is on disk; the replicator is told after this.
    virtual void on_written(Host host, const kv::Item& item) = 0;

    // Actions of the replicator.
    virtual void deliver(Host host, const kv::Exchange::Deliver& deliver) = 0;
    virtual void end_fetch(Host host, const kv::Exchange::FetchOver& over) = 0;
    virtual void store(Host host, const kv::Exchange::Store& store) = 0;
    virtual void on_acked(const kv::Exchange::Acked&) {}
    virtual void on_surplus(Host, const kv::Exchange::Surplus&) {}
    virtual void on_found(Host, const kv::Exchange::Found&) {}
};

class Replicators {
  public:
    // The `arg` of the user's own events; others are numbers of messages.
    static constexpr std::uint64_t user_arg = ~std::uint64_t{0};

    // All outlive it.
    Replicators(Cluster& cluster, ReplicatorUser& user, const kv::SegmentSealer& sealer,
                const ReplicatorTraffic& traffic, const node::KvReplicatorConfig& config);

    // From now on every host polls its view.
    void start();
    // An event of its kind that is not the user's own.
    void handle(const Event& event);

    // The replicator of a host whose process is up, or null; each process has a new one. Call pump() after asking
    // anything of it outside the calls of ReplicatorUser.
    node::KvReplicator* find(Host host);
    void pump(Host host);
    // As find() has left it last.
    node::KvReplicator* last(Host host) const { return processes_[host].replicator.get(); }
    std::uint32_t boot(Host host) const { return processes_[host].boot; }

    // Where this peer lived when it was seen last; another may live there by now.
    std::optional<Host> host_of(PeerId peer) const;
    TimePoint now(Host host) const { return cluster_.local_now(cluster_.peer(host)); }
    WallTime wall(Host host) const { return cluster_.peer(host).clock.wall(cluster_.now()); }
    // Never twice, for whatever the user numbers.
    std::uint64_t number() { return ++numbered_; }
    // Segments that arrived at any host and did not verify.
    std::uint64_t corrupt() const { return corrupt_; }

    // on_written() comes when the host's disk has synced, unless its process is gone by then.
    void write_later(Host host, const kv::Item& item, WriteOrigin origin);

  private:
    // What reaches a peer over a link, or comes of what it asked its disk.
    struct Question {
        kv::AskId id;
        std::string body;
        std::uint32_t boot = 0;  // of the host that asks
    };
    // A whole answer that is not of segments.
    struct Body {
        kv::AskId id;
        std::string bytes;
    };
    struct Segment {
        kv::AskId id;
        std::size_t place = 0;
        kv::SealedSegment segment;
        bool is_last = false;
    };
    struct Failed {
        kv::AskId id;
    };
    // The rest of an answer is not wanted.
    struct Cancel {
        kv::AskId id;
        std::uint32_t boot = 0;  // whose question it was
    };
    // A part of a segment.
    struct Part {
        kv::AskId id;
        std::uint32_t boot = 0;  // of the host that sends it
    };
    // So much of what this host has sent to another is there.
    struct Left {
        Host to = 0;
        std::size_t bytes = 0;
    };
    struct Written {
        kv::Item item;
        WriteOrigin origin{};
    };
    struct Wake {};  // a timer of the replicator
    struct Poll {};  // of the view
    using Happening = std::variant<Question, Body, Segment, Failed, Cancel, Part, Left, Written, Wake, Poll>;
    struct Message {
        Host from = 0;
        Host to = 0;
        Happening what;
    };
    // A question of this host.
    struct Asked {
        Host to = 0;
        std::vector<kv::Item> items;
    };
    // To a question of another host, as far as it has not been sent.
    struct Reply {
        Host to = 0;
        kv::AskId id;
        std::uint32_t boot = 0;  // of the host that asked
        node::KvAnswer answer;
        std::size_t place = 0;  // of the next segment
    };
    // Replies to one host take turns, and little of them is on the line at a time, so that the rest can be cancelled.
    struct Lane {
        std::deque<Reply> replies;
        std::size_t on_the_way = 0;
    };
    struct Process {
        std::unique_ptr<node::KvReplicator> replicator;
        std::map<kv::AskId, Asked> asked;
        std::map<Host, Lane> lanes;           // fetches
        std::map<kv::OfferId, Reply> offers;  // that wait for the replicator
        std::uint32_t boot = 0;
        WorldTime armed_for = world_never;
    };

    void act(Message& message);
    void handle_segment(Host host, Segment& segment);
    void handle_written(Host host, const Written& written);
    void answer(Host host, Host from, const Question& asked);
    void send_body(Host host, Reply& reply);
    void carry_out(Host host, node::KvReplicator::Action& action);
    void ask(Host host, kv::Exchange::Send& send);
    void drop(Host host, kv::AskId id);
    void cancel(Host host, Host from, const Cancel& cancelled);
    void pump_lane(Host host, Host to);
    void send_parts(Host from, Host to, kv::AskId id, WorldTime until);
    // When it arrives, if it does. `fails`: which question of the sender's fails when it cannot be sent.
    std::optional<WorldTime> send(Host from, Host to, Happening what, std::optional<kv::AskId> fails = std::nullopt);
    std::size_t size_of(const Happening& what) const;
    void later(Host host, Duration wait, Happening what);
    void push(WorldTime at, Message message, std::uint32_t boot);

    Cluster& cluster_;
    ReplicatorUser& user_;
    const kv::SegmentSealer& sealer_;
    const ReplicatorTraffic traffic_;
    const node::KvReplicatorConfig config_;
    std::vector<Process> processes_;
    std::map<PeerId, Host> hosts_;
    std::map<std::uint64_t, Message> messages_;
    std::uint64_t numbered_ = 0;
    std::uint64_t corrupt_ = 0;
};

}  // namespace exa::sim
