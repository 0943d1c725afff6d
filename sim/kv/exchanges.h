// Exchanges: the very kv::Exchange of production at every host, one for each life of its process, over the links of the
// fabric. It carries questions and answers, sees to timers and shows them the view; what a host has on its disk and in
// memory, and what becomes of it, is its user's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "kv/exchange.h"
#include "kv/holdings.h"
#include "sim/cluster/cluster.h"

namespace exa::sim {

// What its links carry, sizes in bytes.
struct ExchangeTraffic {
    EventKind kind{};  // of all its events
    LinkPool pool{};
    std::size_t item_bytes = 0;     // of each item that is asked for, or told of, beyond the message itself
    std::size_t segment_bytes = 0;  // of one that is fetched
};

// Whoever has the hosts' disks and memories. Called for hosts whose process runs, but for on_crash(); what it asks of
// the exchange in a call is carried out after it.
class ExchangeUser {
  public:
    virtual ~ExchangeUser() = default;

    // A process begins; the value is what it finds on its disk, and outlives it.
    virtual const kv::Holdings& on_start(Host host) = 0;
    // What it had in memory, or had begun, is gone.
    virtual void on_crash(Host host) = 0;
    virtual void on_look(Host) {}

    // The host's answers to others. The item's stamp and size are 0, and the segment null, when it is not there.
    virtual kv::Item look(Host host, const kv::SegmentKey& key) = 0;
    virtual kv::SealedSegment fetch(Host host, const kv::Item& item) = 0;
    virtual void on_offer(Host, const std::vector<kv::Item>&) {}
    // Of a segment that arrives, before anything else sees it; false: it is as if it had not been there.
    virtual bool verify(const kv::SegmentKey&, const kv::SegmentBuffer&) { return true; }

    // A bug to plant: nobody is asked this, and all of it is taken for kept.
    virtual bool is_forgotten(Host, const kv::Question&) { return false; }
    // A question failed or was given up.
    virtual void on_trouble(Host) {}
    // A write that write_later() began is on the disk; `own`: of this peer's making, else of an offer.
    virtual void on_written(Host host, const kv::Item& item, bool own) = 0;

    // Outputs of the exchange.
    virtual void give(Host host, const kv::Exchange::Give& give) = 0;
    virtual void end_load(Host host, const kv::Exchange::LoadOver& over) = 0;
    virtual void store(Host host, const kv::Exchange::Store& store) = 0;
    virtual void on_kept(const kv::Exchange::Kept&) {}
    virtual void on_spare(Host, const kv::Exchange::Spare&) {}
    virtual void on_found(Host, const kv::Exchange::Found&) {}
};

class Exchanges {
  public:
    // The `arg` of the user's own events; others are numbers of messages.
    static constexpr std::uint64_t user_arg = ~std::uint64_t{0};

    // Both outlive it.
    Exchanges(Cluster& cluster, ExchangeUser& user, const ExchangeTraffic& traffic, const kv::ExchangeConfig& config);

    // From now on every host looks at its view, again and again.
    void start();
    // An event of its kind that is not the user's own.
    void handle(const Event& event);

    // Of a host whose process is up, or null; made anew with each process, as what it knew is gone. What is asked of it
    // outside the calls of ExchangeUser is carried out by pump().
    kv::Exchange* find(Host host);
    void pump(Host host);
    // As find() has left it last.
    kv::Exchange* last(Host host) const { return processes_[host].exchange.get(); }
    std::uint32_t boot(Host host) const { return processes_[host].boot; }

    // Where this peer lived when it was seen last; another may live there by now.
    std::optional<Host> host_of(PeerId peer) const;
    TimePoint now(Host host) const { return cluster_.local_now(cluster_.peer(host)); }
    WallTime wall(Host host) const { return cluster_.peer(host).clock.wall(cluster_.now()); }
    // Never twice, for loads, searches and whatever else the user numbers.
    std::uint64_t number() { return ++numbered_; }

    // on_written() comes when the host's disk has synced, unless its process is gone by then.
    void write_later(Host host, const kv::Item& item, bool own);

  private:
    // What reaches a peer over a link, or comes of what it asked its disk.
    struct Question {
        kv::AskId id;
        kv::Question question;
        std::uint32_t boot = 0;  // of who asks
    };
    struct Items {
        kv::AskId id;
        std::vector<kv::Item> items;
    };
    struct Segment {
        kv::AskId id;
        kv::SegmentKey key;  // that was asked for
        kv::SealedSegment segment;
        bool is_last = false;
    };
    struct Outcomes {
        kv::AskId id;
        std::vector<kv::OfferOutcome> outcomes;
    };
    struct Failed {
        kv::AskId id;
    };
    // The rest of a fetch is not wanted.
    struct Cancel {
        kv::AskId id;
        std::uint32_t boot = 0;  // whose question it was
    };
    // A part of a segment.
    struct Part {
        std::uint32_t boot = 0;  // who sends it
    };
    // So much of what this host has sent to another is there.
    struct Left {
        Host to = 0;
        std::size_t bytes = 0;
    };
    struct Written {
        kv::Item item;
        bool own = false;
    };
    struct Wake {};  // a timer of the exchange
    struct Look {};  // at the view
    using Happening = std::variant<Question, Items, Segment, Outcomes, Failed, Cancel, Part, Left, Written, Wake, Look>;
    struct Message {
        Host from = 0;
        Host to = 0;
        Happening what;
    };
    // To a fetch, as far as it has not been sent.
    struct Reply {
        kv::AskId id;
        std::uint32_t boot = 0;  // of who asked
        std::deque<kv::Item> left;
    };
    // Replies to one host take turns, and little of them is on the way at a time: the rest may still be cancelled.
    struct Lane {
        std::deque<Reply> replies;
        std::size_t on_the_way = 0;
    };
    struct Process {
        std::unique_ptr<kv::Exchange> exchange;
        std::map<kv::AskId, Host> fetches;  // who is asked
        std::map<Host, Lane> lanes;
        std::uint32_t boot = 0;
        std::uint64_t placed = 0;  // number of the view
        WorldTime armed_for = world_never;
    };

    void act(const Message& message);
    void look(Host host);
    void answer(Host host, Host from, const Question& asked);
    void carry_out(Host host, const kv::Exchange::Output& output);
    void ask(Host host, const kv::Exchange::Send& asked);
    void drop(Host host, kv::AskId id);
    void cancel(Host host, Host from, const Cancel& cancelled);
    void pump_lane(Host host, Host to);
    void send_parts(Host from, Host to, WorldTime until);
    // When it arrives, if it does.
    std::optional<WorldTime> send(Host from, Host to, std::size_t items, Happening what,
                                  std::optional<kv::AskId> fails = std::nullopt);
    std::size_t size_of(std::size_t items, const Happening& what) const;
    void later(Host host, Duration wait, Happening what);
    void push(WorldTime at, Message message, std::uint32_t boot);

    Cluster& cluster_;
    ExchangeUser& user_;
    const ExchangeTraffic traffic_;
    const kv::ExchangeConfig config_;
    std::vector<Process> processes_;
    std::map<PeerId, Host> hosts_;
    std::map<std::uint64_t, Message> messages_;
    // Whose offer it is.
    struct Offerer {
        Host host = 0;
        std::uint32_t boot = 0;
        kv::AskId id;
    };
    std::map<std::pair<Host, kv::OfferId>, Offerer> offers_;
    std::uint64_t numbered_ = 0;
};

}  // namespace exa::sim
