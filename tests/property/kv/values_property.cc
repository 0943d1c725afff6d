// Values of the Redis port on exchanges whose messages are late, lost and out of order, with partitions, crashes and
// peers that are lost: what a get answers was set; it is never older than what the same client saw acknowledged by an
// owner in reach; and in the end all peers answer the last write, so that what was removed stays removed.
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kv/exchange.h"
#include "kv/hybrid_clock.h"
#include "support/virtual_cluster.h"
#include "unit/kv/keys.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

struct Version {
    std::uint64_t stamp = 0;
    bool is_removal = false;
};

// What a peer answered to a get: stamp 0 is a miss.
using Got = std::function<void(std::uint64_t stamp)>;

struct Memory {
    Version version;
    bool is_unacked = false;
    bool waits = false;  // for the disk
};

struct Node : test::VirtualPeer<Exchange> {
    std::map<SegmentKey, Memory> memory;  // goes with the process
    MapHoldings disk;
    HybridClock clock;
    std::int64_t skew_us = 0;
    std::map<FindId, std::function<void(const std::vector<ValueVerdict>&)>> finds;
    std::map<FetchId, std::pair<std::uint64_t, Got>> fetches;
    std::map<FetchId, std::uint64_t> delivered;
};

class World : private test::VirtualCluster<Node> {
  public:
    using VirtualCluster::network, VirtualCluster::now, VirtualCluster::peers, VirtualCluster::run_for;

    struct Acknowledged {
        std::uint64_t stamp = 0;
        PeerId by;
        std::uint64_t generation = 0;  // of the process that did
    };

    World(std::uint64_t peers, std::uint64_t seed)
        : VirtualCluster(seed, {.latency_min = microseconds{100},
                                .latency_max = milliseconds{2},
                                .late = 0.05,
                                .late_max = milliseconds{50}}) {
        for (std::uint64_t id = 1; id <= peers; ++id) {
            Node& node = peer(add_peer(PeerId{id}));
            node.skew_us = static_cast<std::int64_t>(rng().below(2'000'000)) - 1'000'000;
            start(node);
        }
        place();
    }

    Node& node(std::uint64_t id) { return peer(id - 1); }

    void set(Node& node, std::uint64_t number) {
        const std::uint64_t stamp = write(node, number, false);
        written[key(number)].insert(stamp);
    }

    void remove(Node& node, std::uint64_t number) {
        find(node, number, [this, &node, number](const ValueVerdict& verdict) {
            observe(node, verdict.stamp);
            if (verdict.is_found() || !verdict.is_sure) write(node, number, true);
        });
    }

    void get(Node& node, std::uint64_t number, const Got& got) {
        find(node, number, [this, &node, number, got](const ValueVerdict& verdict) {
            if (!verdict.is_found()) return got(0);
            if (verdict.is_local) return got(verdict.stamp);
            const FetchId id{++numbered_};
            node.fetches[id] = {number, got};
            node.core->fetch_value(now(), id, {key(number), verdict.stamp, 0}, verdict.holders);
        });
    }

    // Who may speak to whom, as everybody is told after a while: `away` is cut off from the others.
    void cut(const std::set<std::uint64_t>& away) {
        for (Node& node : peers()) node.side = away.contains(node.id.value) ? 1 : 0;
        changed = now();
        place();
    }
    void crash(Node& node) {
        VirtualCluster::crash(index(node.id));
        node.memory.clear();
        node.finds.clear();
        node.fetches.clear();
        place();
    }
    void restart(Node& node) {
        lost.erase(node.id);
        start(node);
        place();
    }

    void place() {
        for (Node& node : peers()) {
            if (!node.is_up()) continue;
            std::vector<Holder> holders;
            for (const Node& other : peers())
                if (!lost.contains(other.id))
                    holders.push_back({other.id, other.id.value, 1, other.is_up() && other.side == node.side});
            act(node, [&](Exchange& e) { e.handle_placement(now(), std::make_shared<const Placement>(holders, 2)); });
        }
    }

    // What is stored goes from memory now and then.
    void evict(Node& node) {
        std::erase_if(node.memory, [&](const auto& one) { return !one.second.waits && rng().below(2) == 0; });
    }

    // A client, in whose eyes a get at `node` that begins now may not be older than this.
    std::uint64_t floor_of(const Node& node, std::uint64_t number) const {
        std::uint64_t floor = 0;
        const auto seen = acknowledged.find(key(number));
        if (seen == acknowledged.end()) return 0;
        for (const Acknowledged& one : seen->second) {
            const Node& by = peer(index(one.by));
            const bool runs = by.is_up() && by.generation == one.generation;
            const bool reachable = runs && by.side == node.side && node.is_up();
            if (reachable && node.core->placement().owns(one.by, key(number))) floor = std::max(floor, one.stamp);
        }
        return floor;
    }

    std::set<PeerId> lost;
    std::map<SegmentKey, std::set<std::uint64_t>> written;
    std::map<SegmentKey, std::vector<Acknowledged>> acknowledged;
    TimePoint changed = now();  // a cut, a crash, a heal

  private:
    static std::size_t index(PeerId id) { return id.value - 1; }

    void start(Node& node) {
        boot(index(node.id),
             [](const Node& peer) { return std::make_unique<Exchange>(peer.id, peer.disk, ExchangeConfig{}); });
        node.clock = HybridClock(static_cast<std::uint16_t>(node.id.value));
        changed = now();
    }

    WallTime wall(const Node& node) const {
        return {1'800'000'000'000'000 + std::chrono::duration_cast<microseconds>(now().time_since_epoch()).count() +
                node.skew_us};
    }
    void observe(Node& node, std::uint64_t stamp) { node.clock.observe(wall(node), stamp); }

    std::uint64_t write(Node& node, std::uint64_t number, bool is_removal) {
        observe(node, known(node, number).item.stamp);
        const std::uint64_t stamp = node.clock.next(wall(node));
        node.memory[key(number)] = {{stamp, is_removal}, true, true};
        acknowledged[key(number)].push_back({stamp, node.id, node.generation});
        const Item item{key(number), stamp, size_of(is_removal)};
        later(index(node.id), [this, item](Node& there) {
            const auto memory = there.memory.find(item.key);
            if (memory != there.memory.end() && memory->second.version.stamp == item.stamp)
                memory->second.waits = false;
            keep(there, item);
            there.core->add(now(), item);
        });
        return stamp;
    }

    // Sealed: a removal is a header and no more.
    static std::uint32_t size_of(bool is_removal) { return segment_header_size + (is_removal ? 0 : 8); }
    static bool is_removal(const Item& item) { return item.bytes == segment_header_size; }

    static void keep(Node& node, const Item& item) {
        const auto there = node.disk.find(item.key);
        if (!there || there->stamp < item.stamp) node.disk.put(item);
    }

    // As another peer or a search of this one's hears of it: removals are of size 0.
    KnownValue known(const Node& node, std::uint64_t number) const {
        KnownValue known{{key(number), 0, 0}};
        if (const auto stored = node.disk.find(key(number))) {
            known.item = {stored->key, stored->stamp, is_removal(*stored) ? 0 : stored->bytes};
            known.is_unacked = !node.core->placement().owns(node.id, key(number));
        }
        const auto memory = node.memory.find(key(number));
        if (memory == node.memory.end() || memory->second.version.stamp < known.item.stamp) return known;
        const Version& version = memory->second.version;
        known.is_unacked = memory->second.is_unacked || (known.is_unacked && known.item.stamp == version.stamp);
        known.item = {key(number), version.stamp, version.is_removal ? 0 : size_of(false)};
        return known;
    }

    void find(Node& node, std::uint64_t number, const std::function<void(const ValueVerdict&)>& then) {
        const FindId id{++numbered_};
        node.finds[id] = [then](const std::vector<ValueVerdict>& verdicts) { then(verdicts.at(0)); };
        act(node, [&](Exchange& exchange) { exchange.find(now(), id, {known(node, number)}); });
    }

    template <class Input>
    void act(Node& node, Input run) {
        command(index(node.id), run);
    }
    void take_outputs(std::size_t i) override {
        while (auto output = core(i).poll_output()) take(peer(i), std::move(*output));
    }

    void take(Node& node, Exchange::Output output) {
        if (auto* send = std::get_if<Exchange::Send>(&output)) {
            question(node, *send);
        } else if (auto* deliver = std::get_if<Exchange::Deliver>(&output)) {
            node.delivered[deliver->id] = stamp_in(*deliver->segment);
        } else if (auto* over = std::get_if<Exchange::FetchOver>(&output)) {
            const auto fetch = node.fetches.extract(over->id);
            if (over->prefix == 0) return fetch.mapped().second(0);
            const auto [number, got] = fetch.mapped();
            const std::uint64_t stamp = node.delivered.at(over->id);
            if (known(node, number).item.stamp < stamp) node.memory[key(number)] = {{stamp, false}, false, false};
            got(stamp);
        } else if (auto* store = std::get_if<Exchange::Store>(&output)) {
            later(index(node.id), [this, item = store->item](Node& there) {
                keep(there, item);
                observe(there, item.stamp);
                there.core->handle_stored(now(), item, OfferOutcome::held);
            });
        } else if (auto* answer = std::get_if<Exchange::Answer>(&output)) {
            const Asker to = offers_.at({node.id, answer->id});
            reply(node, to, [this, ask = to.ask, outcomes = answer->outcomes](Node& there) {
                there.core->handle_outcomes(now(), ask, outcomes);
            });
        } else if (auto* found = std::get_if<Exchange::Found>(&output)) {
            const auto then = node.finds.extract(found->id);
            then.mapped()(found->verdicts);
        } else if (auto* spare = std::get_if<Exchange::Surplus>(&output)) {
            const auto memory = node.memory.find(spare->item.key);
            if (memory != node.memory.end() && memory->second.version.stamp == spare->item.stamp)
                memory->second.is_unacked = false;
            const auto stored = node.disk.find(spare->item.key);
            if (stored && stored->stamp == spare->item.stamp) node.disk.items.erase(spare->item.key);
        }
    }

    // A process and the question it asks: no answer outlives either.
    struct Asker {
        PeerId id;
        std::uint64_t generation = 0;
        AskId ask;
    };

    // Answers arrive as late as they like, in any order, or not at all.
    template <class Input>
    void reply(const Node& from, const Asker& to, Input run) {
        if (happens(network().loss)) return;
        later(index(to.id), [this, from = index(from.id), to, run = std::move(run)](Node& there) {
            if (there.generation == to.generation && reaches(from, index(to.id))) run(there);
        });
    }

    void question(const Node& from, const Exchange::Send& send) {
        const std::size_t asker = index(from.id);
        const std::size_t asked = index(send.to);
        const auto fail = [this, asker, id = send.id] {
            later(asker, [this, id](Node& there) { there.core->handle_failed(now(), id); });
        };
        if (!is_up(asked) || !reaches(asker, asked)) return fail();
        if (happens(network().loss)) return rng().below(2) == 0 ? fail() : void();
        later(asked, [this, send, to = Asker{from.id, from.generation, send.id}](Node& node) {
            if (!reaches(index(to.id), index(node.id))) return;
            if (send.question.kind == QuestionKind::lookup) {
                std::vector<Item> items;
                for (const Item& one : send.question.items) items.push_back(known(node, number_of(one.key)).item);
                reply(node, to,
                      [this, id = send.id, items](Node& there) { there.core->handle_items(now(), id, items); });
            } else if (send.question.kind == QuestionKind::fetch) {
                fetch(node, to, send, 0);
            } else {
                const OfferId offer{++numbered_};
                offers_[{send.to, offer}] = to;
                node.core->handle_offer(now(), offer, to.id, send.question);
            }
        });
    }

    void fetch(const Node& node, const Asker& asker, const Exchange::Send& send, std::size_t place) {
        const Item asked = send.question.items[place];
        const Item there = known(node, number_of(asked.key)).item;
        SealedSegment segment;
        // As the receiver sees to it: not another version than it was told of, but a later one.
        if (there.stamp != 0 && there.stamp >= asked.stamp) segment = sealed(there.stamp, there.bytes == 0);
        reply(node, asker, [this, send, asker, place, segment](Node& there) {
            there.core->handle_segment(now(), send.id, segment);
            const Node& giver = peer(index(send.to));
            if (place + 1 < send.question.items.size() && giver.is_up()) fetch(giver, asker, send, place + 1);
        });
    }

    static SealedSegment sealed(std::uint64_t stamp, bool is_removal) {
        auto buffer = std::make_shared<SegmentBuffer>(size_of(is_removal));
        std::ranges::fill(buffer->bytes(), std::uint8_t{0});
        std::memcpy(buffer->bytes().data(), &stamp, sizeof stamp);
        return buffer;
    }
    static std::uint64_t stamp_in(const SegmentBuffer& segment) {
        std::uint64_t stamp = 0;
        std::memcpy(&stamp, segment.view().data(), sizeof stamp);
        return segment.size() == segment_header_size ? 0 : stamp;
    }
    static std::uint64_t number_of(const SegmentKey& asked) {
        for (std::uint64_t number = 0;; ++number)
            if (key(number) == asked) return number;
    }

    std::map<std::pair<PeerId, OfferId>, Asker> offers_;
    std::uint64_t numbered_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(values_property)

BOOST_AUTO_TEST_CASE(gets_are_never_older_than_what_owners_acknowledged_and_all_peers_agree_in_the_end) {
    BOOST_TEST(rc::check([] {
        constexpr std::uint64_t keys = 6;
        const auto peers = *rc::gen::inRange<std::uint64_t>(1, 7);
        World world(peers, *rc::gen::arbitrary<std::uint64_t>());
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        const auto pick_up = [&]() -> Node& {
            for (;;) {
                Node& node = world.node(1 + rng.below(peers));
                if (node.is_up()) return node;
            }
        };
        std::uint64_t hits = 0;
        for (int turn = 0; turn < 8; ++turn) {
            world.network().loss = rng.below(3) == 0 ? 0.2 : 0;
            for (std::uint64_t op = rng.below(40); op > 0; --op) {
                Node& node = pick_up();
                const std::uint64_t number = rng.below(keys);
                switch (rng.below(5)) {
                    case 0:
                    case 1:
                        world.set(node, number);
                        break;
                    case 2:
                        world.remove(node, number);
                        break;
                    default: {
                        const TimePoint began = world.now();
                        const std::uint64_t floor = world.network().loss == 0 ? world.floor_of(node, number) : 0;
                        world.get(node, number, [&, began, floor, number](std::uint64_t stamp) {
                            if (stamp == 0) return;
                            ++hits;
                            RC_ASSERT(world.written[key(number)].contains(stamp));
                            // A loss before makes an owner look out of reach for a while.
                            if (world.changed < began && world.network().loss == 0) RC_ASSERT(stamp >= floor);
                        });
                    }
                }
                if (rng.below(2) == 0) world.run_for(microseconds{rng.below(5'000)});
                if (rng.below(10) == 0) world.evict(pick_up());
            }
            world.run_for(seconds{2});
            world.network().loss = 0;
            switch (rng.below(4)) {
                case 0:
                    world.cut({1 + rng.below(peers), 1 + rng.below(peers)});
                    break;
                case 1:
                    world.cut({});
                    break;
                case 2: {
                    Node& victim = pick_up();
                    world.crash(victim);
                    world.run_for(milliseconds{rng.below(3'000)});
                    world.restart(victim);
                    break;
                }
                default:
                    break;
            }
            world.run_for(seconds{2});
        }
        world.cut({});
        world.run_for(minutes{30});
        for (std::uint64_t number = 0; number < keys; ++number) {
            // What was acknowledged by a process that has not died since stands, unless it was written over.
            std::uint64_t floor = 0;
            for (const auto& one : world.acknowledged[key(number)])
                if (world.node(one.by.value).generation == one.generation) floor = std::max(floor, one.stamp);
            std::set<std::uint64_t> answers;
            for (Node& node : world.peers()) {
                world.get(node, number, [&](std::uint64_t stamp) { answers.insert(stamp); });
                world.run_for(seconds{2});
            }
            RC_ASSERT(answers.size() == 1);
            const std::uint64_t last = *answers.begin();
            if (last != 0) RC_ASSERT(last >= floor);
            // A miss is due to a removal, that may have outlived the process which made it.
            const auto is_removal = [&](const auto& one) {
                return one.stamp >= floor && !world.written[key(number)].contains(one.stamp);
            };
            if (last == 0 && floor != 0) RC_ASSERT(std::ranges::any_of(world.acknowledged[key(number)], is_removal));
        }
        RC_CLASSIFY(hits > 0);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
