// KvReplicator: everything that a peer decides about sharing KV with others, as one machine: which peer is asked for
// what and when, what an answer is worth, what is offered after the view changes, what counts as converged. Production
// (app/kv) carries its actions over links and to the store, the simulator over its network and model disks; neither
// decides anything.
//
// It drives kv::Exchange, the protocol, and adds what lies between that and a transport: the view, the bytes of
// answers, segments that are verified out of order, what may be moved, and a status.
//
// Sans-IO. Polling order: handle_*() and commands at any time, then poll_action() until it is empty, then
// next_timeout(). A question of this peer (Send) is answered by handle_bytes() and handle_end() for a lookup, an offer
// or a move, by handle_segment() once for each place for a fetch, in any order, or ends in handle_failed(). After that,
// and after a Drop, its id is unknown, and late answers change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kv/exchange.h"
#include "kv/segment.h"
#include "membership/view.h"

namespace exa::node {

struct KvReplicatorConfig {
    kv::ExchangeConfig exchange;
    // How often handle_view() should be called. Learning of a new owner that much later costs nothing.
    Duration view_period = std::chrono::milliseconds{200};
    // While segments arrive, how often their progress counts: a fraction of the timeout that it resets.
    Duration progress_period = std::chrono::milliseconds{100};
};

// A segment from a peer or the cold tier, after it was checked.
struct ReceivedSegment {
    kv::SealedSegment segment;      // null: it was not there, or is not what was asked for
    std::size_t arrived_bytes = 0;  // sealed, from a peer; 0: it was not there
};

// Whether what came is what was asked for: sealed under the key, and of no earlier stamp. Any number of threads at a
// time; takes about 0.17 ms a megabyte.
ReceivedSegment check_received(const kv::SegmentSealer& sealer, const kv::Item& asked, kv::SealedSegment segment);

struct KvReplicatorStatus {
    std::uint64_t holders = 0;  // peers that keep KV, this one among them
    bool converged = false;     // everything here is where it should be, as far as that can be
    bool handed_over = false;   // and this peer owns nothing
    std::uint64_t waiting = 0;  // offers to others without an outcome
    kv::OfferCounters offers{};
    kv::RepairProgress repair{};
    std::uint64_t fetched = 0;  // segments that came from other peers
    std::uint64_t fetched_bytes = 0;
    std::uint64_t corrupt = 0;    // of these, the ones that did not verify
    std::uint64_t recovered = 0;  // segments that the disk here had lost

    // That many more segments will be offered.
    void await(std::uint64_t segments) {
        waiting += segments;
        converged = converged && segments == 0;
        handed_over = handed_over && segments == 0;
    }
};

class KvReplicator {
  public:
    using Exchange = kv::Exchange;
    // To an offer of another peer: the bytes of its answer.
    struct Answer {
        kv::OfferId id;
        std::string body;
    };
    // The peers that share the cold tier's GC.
    struct ColdPeers {
        std::vector<PeerId> peers;
    };
    using Action = std::variant<Exchange::Send, Exchange::Drop, Exchange::Deliver, Exchange::FetchOver, Exchange::Store,
                                Answer, Exchange::Acked, Exchange::Surplus, Exchange::Found, Exchange::LookupCold,
                                Exchange::ReadCold, ColdPeers>;

    // `holdings` outlives it.
    KvReplicator(PeerId self, const kv::Holdings& holdings, const KvReplicatorConfig& config);

    // -- commands --------------------------------------------------------------------------------------------------

    // Fetches what is missing of `chain`: `held` says, place by place, what is here. Ends with a FetchOver.
    kv::FetchId fetch_chain(TimePoint now, std::vector<kv::SegmentKey> chain, std::vector<bool> held,
                            const kv::FetchTerms& terms = {});
    // Fetches one segment of this stamp or a later one from the first holder that has it. Delivers and ends like a
    // chain of one place.
    kv::FetchId fetch_value(TimePoint now, const kv::Item& item, std::vector<PeerId> holders);
    // Ends either kind of fetch: no Deliver and no FetchOver follows.
    void cancel(TimePoint now, kv::FetchId id) { exchange_.cancel(now, id); }
    // Finds the last version of each value and the peers that have it. Ends with a Found.
    kv::FindId find(TimePoint now, const std::vector<kv::KnownValue>& values);
    // Offers what is stored here under `keys` to that peer, whether or not it owns it. Returns how many were queued:
    // what is not here, is a value, or does not fit the queue is left out. Nothing: that peer is out of reach, or keeps
    // no KV.
    std::optional<std::size_t> move(TimePoint now, PeerId to, std::span<const kv::SegmentKey> keys);

    // -- what happens here -----------------------------------------------------------------------------------------

    // The current view of the cluster; without effect when it is the same one.
    void handle_view(TimePoint now, const std::shared_ptr<const membership::View>& view);
    // Stored here, and new: it is offered to its owners.
    void handle_written(TimePoint now, const kv::Item& item) { exchange_.add(now, item); }
    // The disk listed it and could not read it: if this peer owns it, it is fetched again, and ends in a Store.
    void handle_lost(TimePoint now, const kv::SegmentKey& key) { exchange_.recover(now, key); }
    // What became of a Store.
    void handle_stored(TimePoint now, const kv::Item& item, kv::OfferOutcome outcome) {
        exchange_.handle_stored(now, item, outcome);
    }
    // The sizes of what a LookupCold asked for, 0 for what is not there.
    void handle_cold_sizes(TimePoint now, kv::AskId id, std::span<const std::uint32_t> sizes);

    // -- what comes from other peers -------------------------------------------------------------------------------

    // An offer or a move. Ends with an Answer, unless it is forgotten.
    void handle_offer(TimePoint now, kv::OfferId id, PeerId from, const kv::Question& question) {
        exchange_.handle_offer(now, id, from, question);
    }
    void forget_offer(kv::OfferId id) { exchange_.forget_offer(id); }
    // A part of the answer to a lookup, an offer or a move. False when nothing more is wanted: the question is unknown,
    // or has failed because the answer is longer than any valid one.
    bool handle_bytes(TimePoint now, kv::AskId id, std::string_view bytes);
    // The other peer said that its answer is whole.
    void handle_end(TimePoint now, kv::AskId id);
    // Bytes of a fetch have arrived.
    void handle_progress(TimePoint now, kv::AskId id);
    // The segment at that place of a fetch, or of a ReadCold.
    void handle_segment(TimePoint now, kv::AskId id, std::size_t place, ReceivedSegment segment);
    // The other peer cannot be asked, or its answer ended early.
    void handle_failed(TimePoint now, kv::AskId id);

    // -- what is due -----------------------------------------------------------------------------------------------

    void handle_timeout(TimePoint now) { exchange_.handle_timeout(now); }
    TimePoint next_timeout() const { return exchange_.next_timeout(); }
    std::optional<Action> poll_action();

    // -- getters ---------------------------------------------------------------------------------------------------

    const kv::Placement& placement() const { return exchange_.placement(); }
    // Another peer keeps KV and is in reach.
    bool has_others() const { return has_others_; }
    KvReplicatorStatus status() const;
    const kv::RepairProgress& repair() const { return exchange_.repair(); }
    std::uint64_t recovered() const { return exchange_.recovery().recovered(); }

  private:
    // A question whose answer is not whole yet.
    struct Asked {
        kv::QuestionKind kind{};
        PeerId to;
        std::vector<kv::SegmentKey> cold_keys;  // of a LookupCold
        std::size_t items = 0;
        std::string body;                                       // of a lookup, an offer or a move
        std::vector<std::optional<kv::SealedSegment>> arrived;  // of a fetch, by place
        std::size_t next = 0;                                   // place to be handed on next
    };

    void note(const Exchange::Output& output);

    const PeerId self_;
    const kv::Holdings& holdings_;
    const KvReplicatorConfig config_;
    Exchange exchange_;
    std::map<kv::AskId, Asked> asked_;
    std::map<PeerId, TimePoint> progress_;  // when the exchange last heard of it
    std::deque<ColdPeers> cold_;            // at most one
    std::shared_ptr<const membership::View> view_;
    std::vector<PeerId> cold_peers_;
    bool has_others_ = false;
    std::uint64_t last_id_ = 0;  // of fetches and searches
    std::uint64_t fetched_ = 0;
    std::uint64_t fetched_bytes_ = 0;
    std::uint64_t corrupt_ = 0;
};

}  // namespace exa::node
