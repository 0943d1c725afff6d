// KV replicators whose questions are lost or never answered, and whose answers come late, cut, out of order, twice or
// as garbage, even to what has been dropped: a fetch delivers a prefix of true segments and ends once, and when the
// trouble is over every replicator converges and each segment has its copies.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "node/kv_answer.h"
#include "node/kv_replicator.h"
#include "support/virtual_cluster.h"
#include "unit/kv/keys.h"
#include "unit/node/kv_views.h"

using namespace exa;
using namespace exa::node;
using namespace exa::kv::samples;
using namespace exa::node::samples;
using Exchange = kv::Exchange;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

struct Fetch {
    std::vector<std::uint64_t> numbers;
    std::vector<bool> held;
    std::uint32_t next = 0;
    bool is_over = false;
    bool is_cancelled = false;
};

struct Peer : test::VirtualPeer<KvReplicator> {
    MapHoldings holdings;
    std::map<kv::FetchId, Fetch> fetches;
    std::map<kv::OfferId, std::pair<PeerId, kv::AskId>> offers;
};

class World : private test::VirtualCluster<Peer> {
  public:
    using VirtualCluster::rng, VirtualCluster::run_for;

    // Peers 1 .. `peers`.
    World(std::uint64_t peers, std::uint64_t seed)
        : VirtualCluster(seed, {.latency_min = microseconds{100},
                                .latency_max = milliseconds{3},
                                .late = 0.05,
                                .late_max = seconds{3}}) {
        for (std::uint64_t id = 1; id <= peers; ++id)
            boot(add_peer(PeerId{id}), [](const Peer& peer) {
                return std::make_unique<KvReplicator>(peer.id, peer.holdings, KvReplicatorConfig{});
            });
        for (std::size_t i = 0; i < peers; ++i)
            command(i, [&](KvReplicator& replicator) { replicator.handle_view(now(), view_of(peers)); });
    }

    void end_trouble() {
        has_trouble_ = false;
        network().late = 0;
    }

    void write(std::uint64_t number) {
        const std::size_t i = any();
        peer(i).holdings.put(item(number));
        command(i, [&](KvReplicator& replicator) { replicator.handle_written(now(), item(number)); });
    }

    void fetch(std::vector<std::uint64_t> numbers) {
        const std::size_t i = any();
        std::vector<kv::SegmentKey> chain;
        std::vector<bool> held;
        for (const std::uint64_t number : numbers) {
            chain.push_back(key(number));
            held.push_back(peer(i).holdings.find(key(number)).has_value());
        }
        command(i, [&](KvReplicator& replicator) {
            const kv::FetchId id = replicator.fetch_chain(now(), chain, held);
            Fetch& fetch = peer(i).fetches[id] = {std::move(numbers), std::move(held)};
            if (rng().below(10) != 0) return;
            replicator.cancel(now(), id);
            fetch.is_cancelled = true;
        });
    }

    bool has_all(std::uint64_t numbers) const {
        for (std::uint64_t number = 0; number < numbers; ++number)
            for (const PeerId owner : peer(0).core->placement().owners(key(number)))
                if (!peer(index(owner)).holdings.find(key(number))) return false;
        return true;
    }
    bool has_converged() const {
        return std::ranges::all_of(peers(), [](const Peer& peer) { return peer.core->status().converged; });
    }
    void check_fetches_ended() const {
        for (const Peer& peer : peers())
            for (const auto& [id, fetch] : peer.fetches) RC_ASSERT(fetch.is_over != fetch.is_cancelled);
    }

  private:
    static std::size_t index(PeerId id) { return id.value - 1; }
    std::size_t any() { return static_cast<std::size_t>(rng().below(size())); }
    bool happens(double chance) { return has_trouble_ && VirtualCluster::happens(chance); }

    void take_outputs(std::size_t i) override {
        while (auto action = core(i).poll_action()) take(i, *action);
    }

    // Drops are not heeded: what was asked is answered all the same.
    void take(std::size_t i, KvReplicator::Action& action) {
        Peer& peer = this->peer(i);
        if (auto* send = std::get_if<Exchange::Send>(&action)) {
            question(peer.id, std::move(*send));
        } else if (const auto* deliver = std::get_if<Exchange::Deliver>(&action)) {
            Fetch& fetch = peer.fetches.at(deliver->id);
            RC_ASSERT(!fetch.is_over && !fetch.is_cancelled);
            while (fetch.next < deliver->place) RC_ASSERT(fetch.held[fetch.next++]);
            RC_ASSERT(deliver->place == fetch.next++);
            RC_ASSERT(std::ranges::equal(deliver->segment->view(), body(fetch.numbers[deliver->place])->view()));
        } else if (const auto* over = std::get_if<Exchange::FetchOver>(&action)) {
            Fetch& fetch = peer.fetches.at(over->id);
            RC_ASSERT(!std::exchange(fetch.is_over, true) && !fetch.is_cancelled);
            while (fetch.next < over->prefix) RC_ASSERT(fetch.held[fetch.next++]);
            RC_ASSERT(fetch.next == over->prefix);
        } else if (const auto* store = std::get_if<Exchange::Store>(&action)) {
            later(i, [this, item = store->item](Peer& there) {
                const bool is_refused = happens(0.1);
                if (!is_refused) there.holdings.put(item);
                there.core->handle_stored(now(), item, is_refused ? kv::OfferOutcome::later : kv::OfferOutcome::held);
            });
        } else if (auto* answer = std::get_if<KvReplicator::Answer>(&action)) {
            const auto offer = peer.offers.extract(answer->id);
            RC_ASSERT(!offer.empty());
            body_to(offer.mapped().first, offer.mapped().second, std::move(answer->body));
        }
    }

    void question(PeerId from, Exchange::Send send) {
        if (happens(0.1)) return;  // never answered
        if (happens(0.1))
            return later(index(from), [this, id = send.id](Peer& asker) { asker.core->handle_failed(now(), id); });
        later(index(send.to), [this, from, send](Peer& asked) { answer(asked, from, send); });
    }

    void answer(Peer& asked, PeerId from, const Exchange::Send& send) {
        KvAnswer answer(kv::encode(send.question));
        std::size_t place = 0;
        while (const auto work = answer.poll_work()) {
            if (const auto* lookup = std::get_if<KvAnswer::Lookup>(&*work)) {
                std::vector<kv::Item> items;
                for (const kv::SegmentKey& one : lookup->keys)
                    items.push_back(asked.holdings.find(one).value_or(kv::Item{one}));
                answer.handle_items(items);
            } else if (const auto* offer = std::get_if<KvAnswer::Offer>(&*work)) {
                const kv::OfferId id{++offered_};
                asked.offers[id] = {from, send.id};
                asked.core->handle_offer(now(), id, from, offer->question);
                return;
            } else {
                const kv::SegmentKey& one = std::get<KvAnswer::Read>(*work).key;
                answer.handle_read(asked.holdings.find(one) ? body_of(one) : nullptr);
                const auto part = answer.poll_part();
                segment_to(from, send.id, place++, std::get<KvAnswer::Segment>(*part).segment);
            }
        }
        if (auto part = answer.poll_part(); part && std::holds_alternative<KvAnswer::Body>(*part))
            body_to(from, send.id, std::get<KvAnswer::Body>(*part).bytes);
    }

    static kv::SealedSegment body_of(const kv::SegmentKey& asked) {
        for (std::uint64_t number = 0;; ++number)
            if (key(number) == asked) return body(number);
    }

    void segment_to(PeerId to, kv::AskId id, std::size_t place, const kv::SealedSegment& segment) {
        const std::size_t bytes = segment ? segment->size() : 0;
        const ReceivedSegment received{happens(0.05) ? nullptr : segment, bytes};
        for (int times = happens(0.1) ? 2 : 1; times > 0; --times)
            later(index(to), [this, id, place, received](Peer& asker) {
                asker.core->handle_progress(now(), id);
                asker.core->handle_segment(now(), id, place, received);
            });
    }

    void body_to(PeerId to, kv::AskId id, std::string bytes) {
        if (happens(0.05)) bytes.resize(rng().below(100), 'x');
        for (int times = happens(0.1) ? 2 : 1; times > 0; --times)
            later(index(to), [this, id, bytes](Peer& asker) {
                const std::size_t cut = rng().below(bytes.size() + 1);
                if (asker.core->handle_bytes(now(), id, std::string_view(bytes).substr(0, cut)) &&
                    asker.core->handle_bytes(now(), id, std::string_view(bytes).substr(cut)))
                    asker.core->handle_end(now(), id);
            });
    }

    bool has_trouble_ = true;
    std::uint64_t offered_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_replicator_property)

BOOST_AUTO_TEST_CASE(late_lost_and_repeated_answers_cost_time_and_nothing_else) {
    BOOST_TEST(rc::check([] {
        World world(*rc::gen::inRange<std::uint64_t>(2, 6), *rc::gen::arbitrary<std::uint64_t>());
        std::uint64_t numbers = 0;
        for (int turn = 0; turn < 20; ++turn) {
            for (std::uint64_t more = world.rng().below(4); more > 0; --more) world.write(numbers++);
            std::vector<std::uint64_t> chain;
            for (std::uint64_t number = 0; number < numbers; ++number)
                if (world.rng().below(2) == 0) chain.push_back(number);
            world.fetch(std::move(chain));
            world.run_for(milliseconds{world.rng().below(1000)});
        }
        world.end_trouble();
        world.run_for(minutes{30});
        world.check_fetches_ended();
        RC_ASSERT(world.has_converged());
        RC_ASSERT(world.has_all(numbers));
    }));
}

BOOST_AUTO_TEST_SUITE_END()
