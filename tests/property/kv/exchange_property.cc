// Exchanges under churn: loads give prefixes of true segments, what two owners have acknowledged outlives any one of
// them (K3), and in the end whatever is held is held twice (K4), however questions fail, segments do not verify and
// peers come and go.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "base/rng.h"
#include "unit/kv/mesh.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// What two owners that are up have acknowledged or made.
std::set<std::uint64_t> safe(const Mesh& mesh, std::uint64_t numbers) {
    std::set<std::uint64_t> all;
    for (std::uint64_t n = 0; n < numbers; ++n)
        if (mesh.copies_of(n) == 2) all.insert(n);
    return all;
}

bool is_held(const Mesh& mesh, std::uint64_t number) {
    return std::ranges::any_of(
        mesh.nodes, [&](const auto& node) { return node.second.up && node.second.bodies.contains(key(number)); });
}

void check_loads(const Mesh& mesh) {
    for (const auto& [id, node] : mesh.nodes)
        for (const auto& [load, places] : node.given) RC_ASSERT(std::ranges::is_sorted(places));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange_property)

BOOST_AUTO_TEST_CASE(copies_outlive_one_loss_at_a_time_and_loads_are_prefixes) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(3, 9);
        Mesh mesh(peers, {}, *rc::gen::arbitrary<std::uint64_t>());
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        const auto pick_up = [&] {
            for (;;) {
                const std::uint64_t id = 1 + rng.below(peers);
                if (mesh.node(id).up) return id;
            }
        };
        std::uint64_t numbers = 0;
        std::uint64_t loads = 0;
        for (int turn = 0; turn < 6; ++turn) {
            mesh.question_loss = rng.below(2) == 0 ? 0 : 0.3 * rng.unit();
            mesh.segment_loss = rng.below(2) == 0 ? 0 : 0.3 * rng.unit();
            // A disk loses some of what it has; it comes back.
            const auto sound = safe(mesh, numbers);
            const std::uint64_t rotten = pick_up();
            for (const std::uint64_t n : sound)
                if (mesh.node(rotten).bodies.contains(key(n)) && rng.below(4) == 0) mesh.rot(rotten, n);
            mesh.run(minutes{1});
            const double question_loss = std::exchange(mesh.question_loss, 0);
            const double segment_loss = std::exchange(mesh.segment_loss, 0);
            mesh.run(minutes{30});
            mesh.question_loss = question_loss;
            mesh.segment_loss = segment_loss;
            for (const std::uint64_t n : sound) RC_ASSERT(mesh.copies_of(n) == 2);
            for (std::uint64_t i = rng.below(40); i > 0; --i) mesh.put(pick_up(), numbers++);
            mesh.run(milliseconds{rng.below(20)});
            std::vector<std::uint64_t> chain(rng.below(numbers + 1));
            std::iota(chain.begin(), chain.end(), 0);
            const std::uint64_t loader = pick_up();
            mesh.load(loader, ++loads, chain);
            // One at a time goes, at any moment; the next one only when all is mended.
            const std::uint64_t victim = pick_up();
            mesh.run(milliseconds{rng.below(5)});
            const auto before = safe(mesh, numbers);
            mesh.crash(victim);
            mesh.run(milliseconds{rng.below(100)});
            mesh.place();
            for (std::uint64_t i = rng.below(20); i > 0; --i) mesh.put(pick_up(), numbers++);
            const bool comes_back = rng.below(2) == 0;
            if (comes_back) {
                mesh.run(seconds{rng.below(20)});
                mesh.restart(victim);
            } else if (mesh.nodes.size() - mesh.lost.size() > 3) {
                mesh.lost.insert(PeerId{victim});
            } else {
                mesh.restart(victim);
            }
            mesh.place();
            mesh.question_loss = mesh.segment_loss = 0;
            mesh.run(minutes{30});
            for (const std::uint64_t n : before) RC_ASSERT(mesh.copies_of(n) == 2);
            bool gave_up = false;
            for (auto& [id, node] : mesh.nodes) {
                if (!node.up) continue;
                RC_ASSERT(node.exchange->is_settled());
                gave_up = gave_up || node.exchange->spread().dropped > 0;
            }
            for (std::uint64_t n = 0; n < numbers && !gave_up; ++n)
                RC_ASSERT(mesh.copies_of(n) == 2 || !is_held(mesh, n));
            if (loader != victim) RC_ASSERT(mesh.node(loader).over.contains({loads}));
            check_loads(mesh);
        }
    }));
}

BOOST_AUTO_TEST_SUITE_END()
