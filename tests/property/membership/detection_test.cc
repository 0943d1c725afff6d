// Who is down is known to all in time, and who is up is not called dead.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "cluster.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// The longest time after `crash` until an observer calls `id` dead; time_never when one does not.
Duration slowest(const Cluster& cluster, std::size_t crashed, TimePoint crash) {
    Duration slowest{0};
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        if (!cluster.is_up(i)) continue;
        const auto death = [&](const auto& happening) {
            return happening.peer == i && happening.at >= crash && happening.event.kind == EventKind::dead &&
                   happening.event.peer == cluster.peer(crashed).id;
        };
        const auto at = std::ranges::find_if(cluster.happenings(), death);
        slowest = std::max(slowest, at == cluster.happenings().end() ? Duration::max() : at->at - crash);
    }
    return slowest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detection)

BOOST_AUTO_TEST_CASE(a_silent_crash_of_one_of_a_few_is_known_to_all_within_ten_seconds) {
    for (const std::size_t peers : {2U, 3U, 4U, 5U, 8U, 16U}) {
        Duration worst{0};
        for (std::uint64_t seed = 1; seed <= 25; ++seed) {
            Cluster cluster(seed * 100 + peers, {});
            cluster.up_all(peers, milliseconds{500});
            cluster.run_for(seconds{3} + milliseconds{37 * static_cast<int>(seed)});
            const TimePoint crash = cluster.now();
            cluster.crash(peers - 1);
            cluster.run_for(seconds{11});
            worst = std::max(worst, slowest(cluster, peers - 1, crash));
            BOOST_TEST(cluster.count(EventKind::dead) == peers - 1, peers << " peers, seed " << seed);
        }
        BOOST_TEST(worst <= seconds{10}, peers << " peers: " << worst.count() << " us");
    }
}

BOOST_AUTO_TEST_CASE(silent_crashes_among_two_hundred_are_known_to_all_within_ten_seconds) {
    Cluster cluster(11, {});
    cluster.up_all(200, seconds{5});
    cluster.converge(seconds{15});
    Duration worst{0};
    for (std::size_t crashed = 150; crashed < 160; ++crashed) {
        const TimePoint crash = cluster.now();
        cluster.crash(crashed);
        cluster.run_for(seconds{11});
        worst = std::max(worst, slowest(cluster, crashed, crash));
    }
    BOOST_TEST(worst <= seconds{10}, worst.count() << " us");
    BOOST_TEST(cluster.count(EventKind::dead) == 190U * 10 + 45);
}

BOOST_AUTO_TEST_CASE(ten_percent_loss_kills_nobody) {
    for (const std::size_t peers : {3U, 60U}) {
        Cluster cluster(21, {.loss = 0.1, .duplicate = 0.02, .latency_max = milliseconds{20}});
        cluster.up_all(peers, seconds{2});
        cluster.run_for(std::chrono::minutes{4});
        BOOST_TEST(cluster.count(EventKind::dead) == 0U);
        BOOST_TEST(cluster.fault() == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()
