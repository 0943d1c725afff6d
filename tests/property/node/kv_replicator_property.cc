// KV replicators whose questions are lost or never answered, and whose answers come late, cut, out of order, twice or
// as garbage, even to what has been dropped: a fetch delivers a prefix of true segments and ends once, and when the
// trouble is over every replicator converges and each segment has its copies.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "node/kv_answer.h"
#include "node/kv_replicator.h"
#include "unit/kv/keys.h"
#include "unit/node/kv_views.h"

using namespace exa;
using namespace exa::node;
using namespace exa::kv::samples;
using namespace exa::node::samples;
using Exchange = kv::Exchange;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

class World {
  public:
    World(std::uint64_t peers, std::uint64_t seed) : rng(seed) {
        for (std::uint64_t id = 1; id <= peers; ++id) {
            Peer& peer = peers_[PeerId{id}];
            peer.replicator = std::make_unique<KvReplicator>(PeerId{id}, peer.holdings, KvReplicatorConfig{});
        }
        view = view_of(peers);
        for (auto& [id, peer] : peers_) peer.replicator->handle_view(now, view);
    }

    void write(std::uint64_t at, std::uint64_t number) {
        Peer& peer = peers_.at(PeerId{at});
        peer.holdings.put(item(number));
        peer.replicator->handle_written(now, item(number));
        pump(PeerId{at});
    }

    void fetch(std::uint64_t at, std::vector<std::uint64_t> numbers) {
        Peer& peer = peers_.at(PeerId{at});
        std::vector<kv::SegmentKey> chain;
        std::vector<bool> held;
        for (const std::uint64_t number : numbers) {
            chain.push_back(key(number));
            held.push_back(peer.holdings.find(key(number)).has_value());
        }
        const kv::FetchId id = peer.replicator->fetch_chain(now, chain, held);
        peer.fetches[id] = {std::move(numbers), std::move(held)};
        if (rng.below(10) == 0) {
            peer.replicator->cancel(now, id);
            peer.fetches[id].is_cancelled = true;
        }
        pump(PeerId{at});
    }

    void run(Duration wait) {
        const TimePoint until = now + wait;
        for (;;) {
            TimePoint next = events.empty() ? time_never : events.begin()->first.first;
            for (auto& [id, peer] : peers_) next = std::min(next, peer.replicator->next_timeout());
            if (next > until) break;
            now = std::max(now, next);
            if (!events.empty() && events.begin()->first.first <= now) {
                const auto what = std::move(events.begin()->second);
                events.erase(events.begin());
                what();
            }
            for (auto& [id, peer] : peers_) {
                if (peer.replicator->next_timeout() <= now) peer.replicator->handle_timeout(now);
                pump(id);
            }
        }
        now = until;
    }

    bool has_all(std::uint64_t numbers) const {
        for (std::uint64_t number = 0; number < numbers; ++number)
            for (const PeerId owner : peers_.begin()->second.replicator->placement().owners(key(number)))
                if (!peers_.at(owner).holdings.find(key(number))) return false;
        return true;
    }
    bool has_converged() const {
        return std::ranges::all_of(peers_, [](const auto& one) { return one.second.replicator->status().converged; });
    }
    void check_fetches_ended() const {
        for (const auto& [id, peer] : peers_)
            for (const auto& [fetch, state] : peer.fetches) RC_ASSERT(state.is_over != state.is_cancelled);
    }

    Rng rng;
    bool has_trouble = true;
    std::shared_ptr<const membership::View> view;

  private:
    struct Fetch {
        std::vector<std::uint64_t> numbers;
        std::vector<bool> held;
        std::uint32_t next = 0;
        bool is_over = false;
        bool is_cancelled = false;
    };
    struct Peer {
        MapHoldings holdings;
        std::unique_ptr<KvReplicator> replicator;
        std::map<kv::FetchId, Fetch> fetches;
        std::map<kv::OfferId, std::pair<PeerId, kv::AskId>> offers;
    };

    bool happens(double chance) { return has_trouble && rng.unit() < chance; }

    void later(std::function<void()> what) {
        const auto delay = std::chrono::microseconds{100 + rng.below(happens(0.05) ? 3'000'000 : 3'000)};
        events.emplace(std::pair(now + delay, ++numbered_), std::move(what));
    }

    void pump(PeerId id) {
        Peer& peer = peers_.at(id);
        while (auto action = peer.replicator->poll_action()) {
            if (auto* send = std::get_if<Exchange::Send>(&*action)) {
                question(id, *send);
            } else if (const auto* deliver = std::get_if<Exchange::Deliver>(&*action)) {
                Fetch& fetch = peer.fetches.at(deliver->id);
                RC_ASSERT(!fetch.is_over && !fetch.is_cancelled);
                while (fetch.next < deliver->place) RC_ASSERT(fetch.held[fetch.next++]);
                RC_ASSERT(deliver->place == fetch.next++);
                RC_ASSERT(std::ranges::equal(deliver->segment->view(), body(fetch.numbers[deliver->place])->view()));
            } else if (const auto* over = std::get_if<Exchange::FetchOver>(&*action)) {
                Fetch& fetch = peer.fetches.at(over->id);
                RC_ASSERT(!std::exchange(fetch.is_over, true) && !fetch.is_cancelled);
                while (fetch.next < over->prefix) RC_ASSERT(fetch.held[fetch.next++]);
                RC_ASSERT(fetch.next == over->prefix);
            } else if (const auto* store = std::get_if<Exchange::Store>(&*action)) {
                later([this, id, item = store->item] {
                    const bool is_refused = happens(0.1);
                    if (!is_refused) peers_.at(id).holdings.put(item);
                    const auto outcome = is_refused ? kv::OfferOutcome::later : kv::OfferOutcome::held;
                    peers_.at(id).replicator->handle_stored(now, item, outcome);
                });
            } else if (auto* answer = std::get_if<KvReplicator::Answer>(&*action)) {
                const auto offer = peer.offers.extract(answer->id);
                RC_ASSERT(!offer.empty());
                body_to(offer.mapped().first, offer.mapped().second, std::move(answer->body));
            }
            // Drops are not heeded: what was asked is answered all the same.
        }
    }

    void question(PeerId from, Exchange::Send send) {
        if (happens(0.1)) return;  // never answered
        if (happens(0.1))
            return later([this, from, id = send.id] { peers_.at(from).replicator->handle_failed(now, id); });
        later([this, from, send = std::move(send)] { answer(send.to, from, send); });
    }

    void answer(PeerId at, PeerId from, const Exchange::Send& send) {
        Peer& peer = peers_.at(at);
        KvAnswer answer(kv::encode(send.question));
        std::size_t place = 0;
        while (const auto work = answer.poll_work()) {
            if (const auto* lookup = std::get_if<KvAnswer::Lookup>(&*work)) {
                std::vector<kv::Item> items;
                for (const kv::SegmentKey& one : lookup->keys)
                    items.push_back(peer.holdings.find(one).value_or(kv::Item{one}));
                answer.handle_items(items);
            } else if (const auto* offer = std::get_if<KvAnswer::Offer>(&*work)) {
                const kv::OfferId id{++numbered_};
                peer.offers[id] = {from, send.id};
                peer.replicator->handle_offer(now, id, from, offer->question);
                return;
            } else {
                const kv::SegmentKey& asked = std::get<KvAnswer::Read>(*work).key;
                answer.handle_read(peer.holdings.find(asked) ? body_of(asked) : nullptr);
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
            later([this, to, id, place, received] {
                peers_.at(to).replicator->handle_progress(now, id);
                peers_.at(to).replicator->handle_segment(now, id, place, received);
            });
    }

    void body_to(PeerId to, kv::AskId id, std::string bytes) {
        if (happens(0.05)) bytes.resize(rng.below(100), 'x');
        for (int times = happens(0.1) ? 2 : 1; times > 0; --times)
            later([this, to, id, bytes] {
                KvReplicator& replicator = *peers_.at(to).replicator;
                const std::size_t cut = rng.below(bytes.size() + 1);
                if (replicator.handle_bytes(now, id, std::string_view(bytes).substr(0, cut)) &&
                    replicator.handle_bytes(now, id, std::string_view(bytes).substr(cut)))
                    replicator.handle_end(now, id);
            });
    }

    std::map<PeerId, Peer> peers_;
    std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events;
    TimePoint now{seconds{100}};
    std::uint64_t numbered_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_replicator_property)

BOOST_AUTO_TEST_CASE(late_lost_and_repeated_answers_cost_time_and_nothing_else) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(2, 6);
        World world(peers, *rc::gen::arbitrary<std::uint64_t>());
        std::uint64_t numbers = 0;
        for (int turn = 0; turn < 20; ++turn) {
            for (std::uint64_t more = world.rng.below(4); more > 0; --more)
                world.write(1 + world.rng.below(peers), numbers++);
            std::vector<std::uint64_t> chain;
            for (std::uint64_t number = 0; number < numbers; ++number)
                if (world.rng.below(2) == 0) chain.push_back(number);
            world.fetch(1 + world.rng.below(peers), std::move(chain));
            world.run(milliseconds{world.rng.below(1000)});
        }
        world.has_trouble = false;
        world.run(minutes{30});
        world.check_fetches_ended();
        RC_ASSERT(world.has_converged());
        RC_ASSERT(world.has_all(numbers));
    }));
}

BOOST_AUTO_TEST_SUITE_END()
