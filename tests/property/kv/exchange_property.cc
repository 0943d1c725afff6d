// Exchanges under churn: loads give prefixes of true segments, what two owners have acknowledged outlives any one of
// them (K3), and in the end whatever is held is held twice (K4), however questions fail, segments do not verify and
// peers come and go.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "base/rng.h"
#include "unit/kv/exchange_world.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// What two owners that are up have acknowledged or made.
std::set<std::uint64_t> safe(const ExchangeWorld& world, std::uint64_t numbers) {
    std::set<std::uint64_t> all;
    for (std::uint64_t n = 0; n < numbers; ++n)
        if (world.copies_of(n) == 2) all.insert(n);
    return all;
}

bool is_held(const ExchangeWorld& world, std::uint64_t number) {
    return std::ranges::any_of(world.peers(),
                               [&](const auto& node) { return node.is_up() && node.bodies.contains(key(number)); });
}

void check_loads(const ExchangeWorld& world) {
    for (const auto& node : world.peers())
        for (const auto& [fetch, places] : node.delivered) RC_ASSERT(std::ranges::is_sorted(places));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange_property)

BOOST_AUTO_TEST_CASE(copies_outlive_one_loss_at_a_time_and_loads_are_prefixes) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(3, 9);
        ExchangeWorld world(peers, {}, *rc::gen::arbitrary<std::uint64_t>());
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        const auto pick_up = [&] {
            for (;;) {
                const std::uint64_t id = 1 + rng.below(peers);
                if (world.node(id).is_up()) return id;
            }
        };
        std::uint64_t numbers = 0;
        std::uint64_t loads = 0;
        for (int turn = 0; turn < 6; ++turn) {
            world.question_loss = rng.below(2) == 0 ? 0 : 0.3 * rng.unit();
            world.segment_loss = rng.below(2) == 0 ? 0 : 0.3 * rng.unit();
            // A disk loses some of what it has; it comes back.
            const auto sound = safe(world, numbers);
            const std::uint64_t rotten = pick_up();
            for (const std::uint64_t n : sound)
                if (world.node(rotten).bodies.contains(key(n)) && rng.below(4) == 0) world.rot(rotten, n);
            world.run(minutes{1});
            const double question_loss = std::exchange(world.question_loss, 0);
            const double segment_loss = std::exchange(world.segment_loss, 0);
            world.run(minutes{30});
            world.question_loss = question_loss;
            world.segment_loss = segment_loss;
            for (const std::uint64_t n : sound) RC_ASSERT(world.copies_of(n) == 2);
            for (std::uint64_t i = rng.below(40); i > 0; --i) world.put(pick_up(), numbers++);
            world.run(milliseconds{rng.below(20)});
            std::vector<std::uint64_t> chain(rng.below(numbers + 1));
            std::iota(chain.begin(), chain.end(), 0);
            const std::uint64_t loader = pick_up();
            world.load(loader, ++loads, chain);
            // One at a time goes, at any moment; the next one only when all is mended.
            const std::uint64_t victim = pick_up();
            world.run(milliseconds{rng.below(5)});
            const auto before = safe(world, numbers);
            world.crash(victim);
            world.run(milliseconds{rng.below(100)});
            world.place();
            for (std::uint64_t i = rng.below(20); i > 0; --i) world.put(pick_up(), numbers++);
            const bool comes_back = rng.below(2) == 0;
            if (comes_back) {
                world.run(seconds{rng.below(20)});
                world.restart(victim);
            } else if (world.peers().size() - world.lost.size() > 3) {
                world.lost.insert(PeerId{victim});
            } else {
                world.restart(victim);
            }
            world.place();
            world.question_loss = world.segment_loss = 0;
            world.run(minutes{30});
            for (const std::uint64_t n : before) RC_ASSERT(world.copies_of(n) == 2);
            bool gave_up = false;
            for (const auto& node : world.peers()) {
                if (!node.is_up()) continue;
                RC_ASSERT(node.core->has_converged());
                gave_up = gave_up || node.core->offers().dropped > 0;
            }
            for (std::uint64_t n = 0; n < numbers && !gave_up; ++n)
                RC_ASSERT(world.copies_of(n) == 2 || !is_held(world, n));
            if (loader != victim) RC_ASSERT(world.node(loader).over.contains({loads}));
            check_loads(world);
        }
    }));
}

BOOST_AUTO_TEST_SUITE_END()
