// ExchangeWorld: some exchanges on one time line, with delays, losses and stores that keep what they get.
#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "keys.h"
#include "kv/exchange.h"

namespace exa::kv::samples {

class ExchangeWorld {
  public:
    struct Node {
        PeerId id;
        bool up = true;
        bool stores = true;  // its disk takes writes
        MapHoldings holdings;
        std::map<SegmentKey, SealedSegment> bodies;
        std::unique_ptr<Exchange> exchange;
        std::vector<std::pair<PeerId, Item>> acked;
        std::map<FetchId, std::vector<std::uint32_t>> delivered;
        std::map<FetchId, std::uint32_t> over;
        std::map<FindId, std::vector<ValueVerdict>> found;
        std::vector<Item> surplus;
        std::uint32_t boot = 0;
    };

    // Peers 1 .. `peers`; each has a rack of its own.
    explicit ExchangeWorld(std::uint64_t peers, ExchangeConfig config = {}, std::uint64_t seed = 1)
        : config_(config), rng(seed) {
        for (std::uint64_t id = 1; id <= peers; ++id) {
            Node& node = nodes[PeerId{id}];
            node.id = PeerId{id};
            start(node);
        }
        place();
    }

    Node& node(std::uint64_t id) { return nodes.at(PeerId{id}); }

    // Publishes who is a member: peers that are down are out of reach, lost ones are no holders.
    void place() {
        std::vector<Holder> holders;
        for (const auto& [id, node] : nodes)
            if (!lost.contains(id)) holders.push_back({id, id.value, 1, node.up});
        placement = std::make_shared<const Placement>(holders, copies);
        for (auto& [id, node] : nodes)
            if (node.up) act(node, [&](Exchange& exchange) { exchange.handle_placement(now, placement); });
    }

    void crash(std::uint64_t id) {
        node(id).up = false;
        node(id).exchange.reset();
        ++node(id).boot;
    }
    void restart(std::uint64_t id) {
        node(id).up = true;
        lost.erase(PeerId{id});
        start(node(id));
    }

    void put(std::uint64_t id, std::uint64_t number) {
        keep(node(id), item(number), body(number));
        act(node(id), [&](Exchange& exchange) { exchange.add(now, item(number)); });
    }

    void load(std::uint64_t id, std::uint64_t load, const std::vector<std::uint64_t>& numbers) {
        std::vector<SegmentKey> chain;
        std::vector<bool> held;
        for (const std::uint64_t number : numbers) {
            chain.push_back(key(number));
            held.push_back(node(id).holdings.find(key(number)).has_value());
        }
        chains[{PeerId{id}, FetchId{load}}] = numbers;
        act(node(id), [&](Exchange& exchange) { exchange.fetch_chain(now, {load}, chain, held); });
    }

    // The disk of that peer has lost it, and this was noticed.
    void rot(std::uint64_t id, std::uint64_t number) {
        node(id).holdings.items.erase(key(number));
        node(id).bodies.erase(key(number));
        act(node(id), [&](Exchange& exchange) { exchange.recover(now, key(number)); });
    }

    // A version of a value, of which only the stamp is told apart.
    void put_value(std::uint64_t id, std::uint64_t number, std::uint64_t stamp) {
        Item version = item(number);
        version.stamp = stamp;
        keep(node(id), version, body(number));
        act(node(id), [&](Exchange& exchange) { exchange.add(now, version); });
    }
    void find(std::uint64_t id, std::uint64_t find, std::uint64_t number) {
        const KnownValue known{node(id).holdings.find(key(number)).value_or(Item{key(number)})};
        act(node(id), [&](Exchange& exchange) { exchange.find(now, {find}, {known}); });
    }
    void fetch(std::uint64_t id, std::uint64_t load, std::uint64_t number, std::vector<PeerId> holders) {
        chains[{PeerId{id}, FetchId{load}}] = {number};
        act(node(id), [&](Exchange& exchange) { exchange.fetch_value(now, {load}, item(number), std::move(holders)); });
    }

    // Until nothing happens any more, or for so long.
    void run(Duration at_most = std::chrono::minutes{30}) {
        const TimePoint until = now + at_most;
        for (;;) {
            TimePoint next = events.empty() ? time_never : events.begin()->first.first;
            for (auto& [id, node] : nodes)
                if (node.up) next = std::min(next, node.exchange->next_timeout());
            if (next == time_never || next > until) break;
            now = std::max(now, next);
            if (!events.empty() && events.begin()->first.first <= now) {
                const auto what = std::move(events.begin()->second);
                events.erase(events.begin());
                what();
                continue;
            }
            for (auto& [id, node] : nodes)
                if (node.up && node.exchange->next_timeout() <= now)
                    act(node, [&](Exchange& exchange) { exchange.handle_timeout(now); });
        }
    }

    std::size_t copies_of(std::uint64_t number) const {
        std::size_t count = 0;
        for (const PeerId owner : placement->owners(key(number)))
            count += nodes.at(owner).up && nodes.at(owner).bodies.contains(key(number)) ? 1 : 0;
        return count;
    }

    std::map<PeerId, Node> nodes;
    std::set<PeerId> lost;
    std::shared_ptr<const Placement> placement;
    std::size_t copies = 2;
    double question_loss = 0;  // chance that a question fails
    double segment_loss = 0;   // chance that a segment does not verify
    std::uint64_t fetched = 0;
    std::map<SegmentKey, SealedSegment> cold;  // what all share
    std::uint64_t cold_looks = 0;
    std::uint64_t cold_reads = 0;
    TimePoint now{std::chrono::seconds{100}};

  private:
    using Chain = std::pair<PeerId, FetchId>;

    void start(Node& node) {
        node.exchange = std::make_unique<Exchange>(node.id, node.holdings, config_);
        ++node.boot;
        if (placement) node.exchange->handle_placement(now, placement);
    }

    static void keep(Node& node, const Item& item, SealedSegment segment) {
        node.holdings.put(item);
        node.bodies[item.key] = std::move(segment);
    }

    void at(Duration delay, std::function<void()> what) {
        events.emplace(std::pair(now + delay, ++numbered_), std::move(what));
    }
    Duration delay() { return std::chrono::microseconds{100 + rng.below(400)}; }
    // Later, if the process that is meant still runs then.
    void later(PeerId id, std::function<void(Node&)> what) {
        at(delay(), [this, id, boot = nodes.at(id).boot, what = std::move(what)] {
            Node& node = nodes.at(id);
            if (node.up && node.boot == boot) what(node);
        });
    }

    void act(Node& node, const std::function<void(Exchange&)>& what) {
        what(*node.exchange);
        while (auto output = node.exchange->poll_output()) take(node, std::move(*output));
    }

    void take(Node& node, Exchange::Output output) {
        if (auto* send = std::get_if<Exchange::Send>(&output)) {
            question(node.id, *send);
        } else if (auto* deliver = std::get_if<Exchange::Deliver>(&output)) {
            const std::uint64_t number = chains.at({node.id, deliver->id})[deliver->place];
            BOOST_TEST(std::ranges::equal(deliver->segment->view(), body(number)->view()));
            node.delivered[deliver->id].push_back(deliver->place);
        } else if (auto* over = std::get_if<Exchange::FetchOver>(&output)) {
            BOOST_TEST(node.over.emplace(over->id, over->prefix).second);
        } else if (auto* store = std::get_if<Exchange::Store>(&output)) {
            later(node.id, [this, item = store->item, segment = store->segment](Node& at) {
                if (at.stores) keep(at, item, segment);
                const OfferOutcome outcome = at.stores ? OfferOutcome::held : OfferOutcome::refused;
                act(at, [&](Exchange& exchange) { exchange.handle_stored(now, item, outcome); });
            });
        } else if (auto* answer = std::get_if<Exchange::Answer>(&output)) {
            const auto [to, ask] = offers.at({node.id, answer->id});
            later(to, [this, ask, outcomes = answer->outcomes](Node& at) {
                act(at, [&](Exchange& exchange) { exchange.handle_outcomes(now, ask, outcomes); });
            });
        } else if (auto* look = std::get_if<Exchange::LookupCold>(&output)) {
            later(node.id, [this, look = *look](Node& at) {
                std::vector<Item> items;
                for (const SegmentKey& one : look.keys) {
                    const auto found = cold.find(one);
                    if (found == cold.end()) break;
                    items.push_back({one, 0, static_cast<std::uint32_t>(found->second->size())});
                }
                items.resize(look.keys.size());
                ++cold_looks;
                act(at, [&](Exchange& exchange) { exchange.handle_items(now, look.id, items); });
            });
        } else if (auto* read = std::get_if<Exchange::ReadCold>(&output)) {
            read_cold(node.id, *read, 0);
        } else if (auto* acked = std::get_if<Exchange::Acked>(&output)) {
            BOOST_TEST(nodes.at(acked->by).bodies.contains(acked->item.key));
            node.acked.emplace_back(acked->by, acked->item);
        } else if (auto* one = std::get_if<Exchange::Surplus>(&output)) {
            node.surplus.push_back(one->item);
        } else if (auto* found = std::get_if<Exchange::Found>(&output)) {
            BOOST_TEST(node.found.emplace(found->id, found->verdicts).second);
        }
    }

    void read_cold(PeerId id, const Exchange::ReadCold& read, std::size_t place) {
        if (place == read.keys.size()) return;
        later(id, [this, read, place](Node& at) {
            const SealedSegment segment = read_cold(read.keys[place]);
            act(at, [&](Exchange& exchange) { exchange.handle_segment(now, read.id, segment); });
            read_cold(at.id, read, place + 1);
        });
    }

    SealedSegment read_cold(const SegmentKey& key) {
        ++cold_reads;
        const auto found = cold.find(key);
        return found != cold.end() && rng.unit() >= segment_loss ? found->second : nullptr;
    }

    void question(PeerId from, const Exchange::Send& send) {
        const auto fail = [this, from, id = send.id] {
            later(from, [this, id](Node& node) { act(node, [&](Exchange& e) { e.handle_failed(now, id); }); });
        };
        if (!nodes.at(send.to).up || rng.unit() < question_loss) return fail();
        const std::uint32_t boot = nodes.at(send.to).boot;
        at(delay(), [this, from, send, fail, boot] {
            Node& node = nodes.at(send.to);
            if (!node.up || node.boot != boot) return fail();
            if (send.question.kind == QuestionKind::lookup) {
                std::vector<Item> items;
                for (const Item& asked : send.question.items)
                    items.push_back(node.holdings.find(asked.key).value_or(Item{asked.key}));
                later(from, [this, id = send.id, items](Node& asker) {
                    act(asker, [&](Exchange& exchange) { exchange.handle_items(now, id, items); });
                });
            } else if (send.question.kind == QuestionKind::fetch) {
                fetch(from, send, 0);
            } else {
                const OfferId offer{++numbered_};
                offers[{send.to, offer}] = {from, send.id};
                act(node, [&](Exchange& exchange) { exchange.handle_offer(now, offer, from, send.question); });
            }
        });
    }

    // One segment after the other; the stream breaks when its sender goes down.
    void fetch(PeerId from, const Exchange::Send& send, std::size_t place) {
        if (place == send.question.items.size()) return;
        Node& node = nodes.at(send.to);
        const auto found = node.bodies.find(send.question.items[place].key);
        const bool is_lost = rng.unit() < segment_loss;
        SealedSegment segment = found != node.bodies.end() && !is_lost ? found->second : nullptr;
        // Whoever is asked for what it does not have reads it for all.
        if (found == node.bodies.end() && config_.chain.has_cold) {
            segment = read_cold(send.question.items[place].key);
            if (segment) node.bodies[send.question.items[place].key] = segment;
        }
        ++fetched;
        later(from, [this, from, send, place, segment, boot = node.boot](Node& asker) {
            const Node& sender = nodes.at(send.to);
            const bool broke = !sender.up || sender.boot != boot;
            act(asker, [&](Exchange& exchange) {
                if (broke)
                    exchange.handle_failed(now, send.id);
                else
                    exchange.handle_segment(now, send.id, segment);
            });
            if (!broke) fetch(from, send, place + 1);
        });
    }

    ExchangeConfig config_;
    std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events;
    std::map<std::pair<PeerId, OfferId>, std::pair<PeerId, AskId>> offers;
    std::map<Chain, std::vector<std::uint64_t>> chains;
    std::uint64_t numbered_ = 0;

  public:
    Rng rng;
};

}  // namespace exa::kv::samples
