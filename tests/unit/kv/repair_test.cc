#include "kv/repair.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::seconds;

namespace {

const PeerId me{1};

struct World {
    explicit World(RepairConfig config = {}, std::uint64_t items = 100, OfferQueueConfig queues = {})
        : offers(queues), repair(me, config) {
        for (std::uint64_t n = 0; n < items; ++n) holdings.put(item(n));
    }

    void place(std::shared_ptr<const Placement> next) {
        placement = std::move(next);
        repair.handle_placement(now, placement);
    }

    void run() {
        while (repair.next_timeout() < now + std::chrono::minutes{30}) {
            now = std::max(now, repair.next_timeout());
            repair.handle_timeout(now, holdings, offers);
            ++steps;
        }
    }

    // Who was offered what since the last call.
    std::set<std::pair<PeerId, SegmentKey>> offered() {
        std::set<std::pair<PeerId, SegmentKey>> all;
        while (auto offer = offers.next(now, *placement)) {
            for (const Item& one : offer->question.items) all.emplace(offer->to, one.key);
            offers.answered(now, offer->to, std::vector(offer->question.items.size(), OfferOutcome::held));
        }
        return all;
    }

    // What the owners that `was` did not name, or which `back` says, lack by `is`.
    static std::set<std::pair<PeerId, SegmentKey>> lacking(const MapHoldings& held, const Placement& was,
                                                           const Placement& is, PeerId back = {}) {
        std::set<std::pair<PeerId, SegmentKey>> all;
        for (const auto& [key, item] : held.items)
            for (const PeerId owner : is.owners(key))
                if (owner != me && (owner == back || !was.owns(owner, key))) all.emplace(owner, key);
        return all;
    }

    MapHoldings holdings;
    OfferQueue offers;
    Repair repair;
    std::shared_ptr<const Placement> placement;
    TimePoint now{seconds{100}};
    std::size_t steps = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(repair)

BOOST_AUTO_TEST_CASE(at_first_every_owner_is_offered_what_it_owns) {
    World world;
    const auto placement = placement_of(5);
    world.place(placement);
    BOOST_TEST(world.repair.progress().is_running);
    world.run();
    BOOST_TEST(world.offered() == World::lacking(world.holdings, Placement(), *placement));
    BOOST_TEST(!world.repair.progress().is_running);
    BOOST_TEST(world.repair.progress().passes == 1U);
    BOOST_TEST(world.repair.progress().looked_at == 100U);
}

BOOST_AUTO_TEST_CASE(after_a_loss_only_new_owners_are_offered_anything) {
    World world;
    const auto before = placement_of(5);
    world.place(before);
    world.run();
    world.offered();
    std::vector<Holder> left(before->holders());
    left.erase(left.begin() + 2);
    const auto after = std::make_shared<const Placement>(left, 2);
    world.place(after);
    world.run();
    const auto offered = world.offered();
    BOOST_TEST(!offered.empty());
    BOOST_TEST(offered == World::lacking(world.holdings, *before, *after));
}

BOOST_AUTO_TEST_CASE(a_peer_back_in_reach_is_offered_all_it_owns) {
    World world;
    world.place(placement_of(5));
    world.run();
    world.offered();
    world.place(placement_of(5, {3}));
    BOOST_TEST(!world.repair.progress().is_running);
    const auto back = placement_of(5);
    world.place(back);
    world.run();
    BOOST_TEST(world.offered() == World::lacking(world.holdings, *back, *back, PeerId{3}));
}

BOOST_AUTO_TEST_CASE(a_peer_out_of_reach_is_offered_nothing) {
    World world;
    world.place(placement_of(5, {2, 3, 4, 5}));
    world.run();
    BOOST_TEST(world.offered().empty());
}

BOOST_AUTO_TEST_CASE(a_change_in_the_middle_begins_the_pass_again_and_loses_nothing) {
    RepairConfig config;
    config.step_items = 10;
    World world(config);
    const auto first = placement_of(4);
    world.place(first);
    for (int step = 0; step < 5; ++step) {
        world.now = world.repair.next_timeout();
        world.repair.handle_timeout(world.now, world.holdings, world.offers);
    }
    BOOST_TEST(world.repair.progress().looked_at == 50U);
    auto offered = world.offered();
    const auto second = placement_of(6);
    world.place(second);
    world.run();
    const auto rest = world.offered();
    offered.insert(rest.begin(), rest.end());
    for (const auto& lacking : World::lacking(world.holdings, Placement(), *second))
        BOOST_TEST(offered.contains(lacking));
    BOOST_TEST(world.repair.progress().passes == 1U);
}

BOOST_AUTO_TEST_CASE(a_pass_is_paced_in_items_and_in_bytes) {
    RepairConfig config;
    config.step_items = 10;
    World by_items(config);
    by_items.place(placement_of(3));
    by_items.run();
    BOOST_TEST(by_items.steps >= 10U);
    RepairConfig small;
    small.step_bytes = 4 * item(0).bytes;
    World by_bytes(small);
    by_bytes.place(placement_of(3));
    const TimePoint began = by_bytes.now;
    by_bytes.run();
    BOOST_TEST(by_bytes.steps >= by_bytes.repair.progress().offered / 4);
    BOOST_TEST(by_bytes.now - began >= (by_bytes.steps - 1) * small.step);
}

BOOST_AUTO_TEST_CASE(a_reminder_offers_everything_again_when_it_is_due) {
    World world({.period = {}});
    const auto placement = placement_of(5);
    world.place(placement);
    world.run();
    world.offered();
    world.repair.schedule_pass(world.now + seconds{60});
    world.repair.schedule_pass(world.now + seconds{600});
    BOOST_TEST(!world.repair.progress().is_running);
    BOOST_TEST(world.repair.next_timeout() == world.now + seconds{60});
    world.run();
    BOOST_TEST(world.offered() == World::lacking(world.holdings, Placement(), *placement));
    BOOST_TEST(world.repair.progress().passes == 2U);
    BOOST_TEST(world.repair.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(periodically_every_peer_is_offered_all_it_owns) {
    World world({.period = std::chrono::hours{2}});
    world.place(placement_of(5));
    world.run();
    const auto first = world.offered();
    BOOST_TEST(!first.empty());
    const TimePoint round = world.repair.next_timeout();
    BOOST_TEST(round > world.now + std::chrono::minutes{119});
    BOOST_TEST(round <= world.now + std::chrono::hours{2});
    world.now = round;
    world.run();
    BOOST_TEST(world.offered() == first);
    BOOST_TEST(world.repair.progress().passes == 2U);
}

BOOST_AUTO_TEST_CASE(it_waits_where_a_queue_is_full) {
    World world({.period = {}}, 50, {.queue_items = 8});
    const auto placement = placement_of(2);
    world.place(placement);
    std::set<std::pair<PeerId, SegmentKey>> offered;
    for (int turns = 0; world.repair.next_timeout() != time_never && turns < 100; ++turns) {
        world.now = world.repair.next_timeout();
        world.repair.handle_timeout(world.now, world.holdings, world.offers);
        offered.merge(world.offered());
    }
    BOOST_TEST(offered == World::lacking(world.holdings, Placement(), *placement));
    BOOST_TEST(world.offers.counters().dropped == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
