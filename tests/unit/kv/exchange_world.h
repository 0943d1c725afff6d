// ExchangeWorld: a VirtualCluster of exchanges, whose stores keep what they get.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "keys.h"
#include "kv/exchange.h"
#include "support/virtual_cluster.h"

namespace exa::kv::samples {

struct ExchangePeer : test::VirtualPeer<Exchange> {
    bool stores = true;  // its disk takes writes
    MapHoldings holdings;
    std::map<SegmentKey, SealedSegment> bodies;
    std::vector<std::pair<PeerId, Item>> acked;
    std::map<FetchId, std::vector<std::uint32_t>> delivered;
    std::map<FetchId, std::uint32_t> over;
    std::map<FindId, std::vector<ValueVerdict>> found;
    std::vector<Item> surplus;
};

class ExchangeWorld : private test::VirtualCluster<ExchangePeer> {
  public:
    using Node = ExchangePeer;
    using VirtualCluster::now, VirtualCluster::peers;

    // Peers 1 .. `peers`; each has a rack of its own.
    explicit ExchangeWorld(std::uint64_t peers, ExchangeConfig config = {}, std::uint64_t seed = 1)
        : VirtualCluster(
              seed, {.latency_min = std::chrono::microseconds{100}, .latency_max = std::chrono::microseconds{500}}),
          config_(config) {
        for (std::uint64_t id = 1; id <= peers; ++id) start(add_peer(PeerId{id}));
        place();
    }

    Node& node(PeerId id) { return peer(index(id)); }
    const Node& node(PeerId id) const { return peer(index(id)); }
    Node& node(std::uint64_t id) { return node(PeerId{id}); }

    // Publishes who is a member: peers that are down are out of reach, lost ones are no holders.
    void place() {
        std::vector<Holder> holders;
        for (const Node& node : peers())
            if (!lost.contains(node.id)) holders.push_back({node.id, node.id.value, 1, node.is_up()});
        placement = std::make_shared<const Placement>(holders, copies);
        for (std::size_t i = 0; i < size(); ++i)
            if (is_up(i)) command(i, [&](Exchange& exchange) { exchange.handle_placement(now(), placement); });
    }

    void crash(std::uint64_t id) { VirtualCluster::crash(index(PeerId{id})); }
    void restart(std::uint64_t id) {
        lost.erase(PeerId{id});
        start(index(PeerId{id}));
    }
    // An input to the exchange of peer `id`, made by `run(exchange)`.
    template <class Command>
    void act(std::uint64_t id, Command run) {
        command(index(PeerId{id}), run);
    }

    void put(std::uint64_t id, std::uint64_t number) { put(id, item(number), number); }
    // A version of a value, of which only the stamp is told apart.
    void put_value(std::uint64_t id, std::uint64_t number, std::uint64_t stamp) {
        Item version = item(number);
        version.stamp = stamp;
        put(id, version, number);
    }

    void load(std::uint64_t id, std::uint64_t load, const std::vector<std::uint64_t>& numbers) {
        std::vector<SegmentKey> chain;
        std::vector<bool> held;
        for (const std::uint64_t number : numbers) {
            chain.push_back(key(number));
            held.push_back(node(id).holdings.find(key(number)).has_value());
        }
        chains_[{PeerId{id}, FetchId{load}}] = numbers;
        act(id, [&](Exchange& exchange) { exchange.fetch_chain(now(), {load}, chain, held); });
    }

    // The disk of that peer has lost it, and this was noticed.
    void rot(std::uint64_t id, std::uint64_t number) {
        node(id).holdings.items.erase(key(number));
        node(id).bodies.erase(key(number));
        act(id, [&](Exchange& exchange) { exchange.recover(now(), key(number)); });
    }

    void find(std::uint64_t id, std::uint64_t find, std::uint64_t number) {
        const KnownValue known{node(id).holdings.find(key(number)).value_or(Item{key(number)})};
        act(id, [&](Exchange& exchange) { exchange.find(now(), {find}, {known}); });
    }
    void fetch(std::uint64_t id, std::uint64_t load, std::uint64_t number, std::vector<PeerId> holders) {
        chains_[{PeerId{id}, FetchId{load}}] = {number};
        act(id, [&](Exchange& exchange) { exchange.fetch_value(now(), {load}, item(number), std::move(holders)); });
    }

    // Long enough for everything to end, unless a test says how long.
    void run(Duration wait = std::chrono::minutes{30}) { run_for(wait); }

    std::size_t copies_of(std::uint64_t number) const {
        const auto owners = placement->owners(key(number));
        return static_cast<std::size_t>(std::ranges::count_if(
            owners, [&](PeerId owner) { return node(owner).is_up() && node(owner).bodies.contains(key(number)); }));
    }

    std::set<PeerId> lost;
    std::shared_ptr<const Placement> placement;
    std::size_t copies = 2;
    double question_loss = 0;  // chance that a question fails
    double segment_loss = 0;   // chance that a segment does not verify
    std::uint64_t fetched = 0;
    std::map<SegmentKey, SealedSegment> cold;  // what all share
    std::uint64_t cold_looks = 0;
    std::uint64_t cold_reads = 0;

  private:
    using Chain = std::pair<PeerId, FetchId>;

    static std::size_t index(PeerId id) { return id.value - 1; }

    void start(std::size_t i) {
        boot(i, [&](const Node& node) {
            auto exchange = std::make_unique<Exchange>(node.id, node.holdings, config_);
            if (placement) exchange->handle_placement(now(), placement);
            return exchange;
        });
    }

    void put(std::uint64_t id, const Item& version, std::uint64_t number) {
        keep(node(id), version, body(number));
        act(id, [&](Exchange& exchange) { exchange.add(now(), version); });
    }
    static void keep(Node& node, const Item& item, SealedSegment segment) {
        node.holdings.put(item);
        node.bodies[item.key] = std::move(segment);
    }

    void take_outputs(std::size_t i) override {
        while (auto output = core(i).poll_output()) take(i, std::move(*output));
    }

    void take(std::size_t i, Exchange::Output output) {
        Node& node = peer(i);
        if (auto* send = std::get_if<Exchange::Send>(&output)) {
            question(i, *send);
        } else if (auto* deliver = std::get_if<Exchange::Deliver>(&output)) {
            const std::uint64_t number = chains_.at({node.id, deliver->id})[deliver->place];
            BOOST_TEST(std::ranges::equal(deliver->segment->view(), body(number)->view()));
            node.delivered[deliver->id].push_back(deliver->place);
        } else if (auto* over = std::get_if<Exchange::FetchOver>(&output)) {
            BOOST_TEST(node.over.emplace(over->id, over->prefix).second);
        } else if (auto* store = std::get_if<Exchange::Store>(&output)) {
            later(i, [this, item = store->item, segment = store->segment](Node& at) {
                if (at.stores) keep(at, item, segment);
                at.core->handle_stored(now(), item, at.stores ? OfferOutcome::held : OfferOutcome::refused);
            });
        } else if (auto* answer = std::get_if<Exchange::Answer>(&output)) {
            const auto [to, ask] = offers_.at({node.id, answer->id});
            later(to, [this, ask, outcomes = answer->outcomes](Node& at) {
                at.core->handle_outcomes(now(), ask, outcomes);
            });
        } else if (auto* look = std::get_if<Exchange::LookupCold>(&output)) {
            later(i, [this, look = *look](Node& at) {
                std::vector<Item> items;
                for (const SegmentKey& one : look.keys) {
                    const auto found = cold.find(one);
                    if (found == cold.end()) break;
                    items.push_back({one, 0, static_cast<std::uint32_t>(found->second->size())});
                }
                items.resize(look.keys.size());
                ++cold_looks;
                at.core->handle_items(now(), look.id, items);
            });
        } else if (auto* read = std::get_if<Exchange::ReadCold>(&output)) {
            read_cold(i, *read, 0);
        } else if (auto* acked = std::get_if<Exchange::Acked>(&output)) {
            BOOST_TEST(this->node(acked->by).bodies.contains(acked->item.key));
            node.acked.emplace_back(acked->by, acked->item);
        } else if (auto* one = std::get_if<Exchange::Surplus>(&output)) {
            node.surplus.push_back(one->item);
        } else if (auto* found = std::get_if<Exchange::Found>(&output)) {
            BOOST_TEST(node.found.emplace(found->id, found->verdicts).second);
        }
    }

    void read_cold(std::size_t i, const Exchange::ReadCold& read, std::size_t place) {
        if (place == read.keys.size()) return;
        later(i, [this, i, read, place](Node& at) {
            at.core->handle_segment(now(), read.id, read_cold(read.keys[place]));
            read_cold(i, read, place + 1);
        });
    }

    SealedSegment read_cold(const SegmentKey& key) {
        ++cold_reads;
        const auto found = cold.find(key);
        return found != cold.end() && !happens(segment_loss) ? found->second : nullptr;
    }

    void question(std::size_t from, const Exchange::Send& send) {
        const std::size_t to = index(send.to);
        if (!is_up(to) || happens(question_loss)) return fail(from, send.id);
        at(now() + latency(), [this, from, to, send, generation = peer(to).generation] {
            if (!runs(to, generation)) return fail(from, send.id);
            Node& node = peer(to);
            if (send.question.kind == QuestionKind::lookup) {
                std::vector<Item> items;
                for (const Item& asked : send.question.items)
                    items.push_back(node.holdings.find(asked.key).value_or(Item{asked.key}));
                later(from, [this, id = send.id, items](Node& at) { at.core->handle_items(now(), id, items); });
            } else if (send.question.kind == QuestionKind::fetch) {
                fetch(from, send, 0);
            } else {
                const OfferId offer{++offered_};
                offers_[{send.to, offer}] = {from, send.id};
                command(to, [&](Exchange& e) { e.handle_offer(now(), offer, peer(from).id, send.question); });
            }
        });
    }
    void fail(std::size_t from, AskId id) {
        later(from, [this, id](Node& at) { at.core->handle_failed(now(), id); });
    }
    bool runs(std::size_t i, std::uint64_t generation) const { return is_up(i) && peer(i).generation == generation; }

    // One segment after the other; the stream breaks when its sender goes down.
    void fetch(std::size_t from, const Exchange::Send& send, std::size_t place) {
        if (place == send.question.items.size()) return;
        const std::size_t to = index(send.to);
        Node& node = peer(to);
        const SegmentKey& asked = send.question.items[place].key;
        const auto found = node.bodies.find(asked);
        const bool is_lost = happens(segment_loss);
        SealedSegment segment = found != node.bodies.end() && !is_lost ? found->second : nullptr;
        // Whoever is asked for what it does not have reads it for all.
        if (found == node.bodies.end() && config_.chain.has_cold) {
            segment = read_cold(asked);
            if (segment) node.bodies[asked] = segment;
        }
        ++fetched;
        later(from, [this, from, to, send, place, segment, generation = node.generation](Node& asker) {
            if (!runs(to, generation)) return asker.core->handle_failed(now(), send.id);
            asker.core->handle_segment(now(), send.id, segment);
            fetch(from, send, place + 1);
        });
    }

    ExchangeConfig config_;
    std::map<std::pair<PeerId, OfferId>, std::pair<std::size_t, AskId>> offers_;
    std::map<Chain, std::vector<std::uint64_t>> chains_;
    std::uint64_t offered_ = 0;
};

}  // namespace exa::kv::samples
