#include "membership/broadcast_queue.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <compare>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using Take = BroadcastQueue::Take;

namespace {

UpdateKey key(std::uint64_t peer, std::uint16_t part = 0) {
    return {PeerId{peer}, part};
}

// The peers offered by one take() that sends `most` of them.
std::vector<std::uint64_t> sent(BroadcastQueue& queue, std::size_t most, std::uint32_t budget = 100) {
    std::vector<std::uint64_t> peers;
    queue.take(budget, 1, [&](UpdateKey offered, std::uint64_t) {
        if (peers.size() >= most) return Take::skip;
        peers.push_back(offered.peer.value);
        return Take::sent;
    });
    return peers;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(broadcast_queue)

BOOST_AUTO_TEST_CASE(updates_sent_least_often_come_first_and_then_the_newest) {
    BroadcastQueue queue;
    for (const std::uint64_t peer : {1U, 2U, 3U}) queue.put(key(peer));
    BOOST_TEST(sent(queue, 2) == (std::vector<std::uint64_t>{3, 2}));
    BOOST_TEST(sent(queue, 2) == (std::vector<std::uint64_t>{1, 3}));
    queue.put(key(4));
    BOOST_TEST(sent(queue, 2) == (std::vector<std::uint64_t>{4, 2}));
}

BOOST_AUTO_TEST_CASE(an_update_ends_with_its_budget_and_starts_again_when_put_again) {
    BroadcastQueue queue;
    queue.put(key(1));
    BOOST_TEST(sent(queue, 1, 3).size() == 1U);
    BOOST_TEST(sent(queue, 1, 3).size() == 1U);
    queue.put(key(1));
    for (int round = 0; round < 3; ++round) BOOST_TEST(sent(queue, 1, 3).size() == 1U);
    BOOST_TEST(queue.empty());
    BOOST_TEST(sent(queue, 1, 3).empty());
}

BOOST_AUTO_TEST_CASE(of_two_bases_the_lower_is_kept) {
    BroadcastQueue queue;
    queue.put(key(1), 5);
    queue.put(key(1), 7);
    queue.take(10, 1, [](UpdateKey, std::uint64_t base) {
        BOOST_TEST(base == 5U);
        return Take::sent;
    });
    BOOST_TEST(queue.size() == 1U);
}

BOOST_AUTO_TEST_CASE(skips_are_limited_and_updates_without_content_are_removed) {
    BroadcastQueue queue;
    for (std::uint64_t peer = 1; peer <= 9; ++peer) queue.put(key(peer));
    int offers = 0;
    queue.take(10, 4, [&](UpdateKey, std::uint64_t) {
        ++offers;
        return Take::skip;
    });
    BOOST_TEST(offers == 4);
    queue.take(10, 4, [](UpdateKey, std::uint64_t) { return Take::drop; });
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(dropping_a_peer_drops_all_its_parts_and_no_others) {
    BroadcastQueue queue;
    queue.put(key(1, 65535));
    queue.put(key(2, 0));
    queue.put(key(2, 3));
    queue.put(key(3, 0));
    queue.drop(PeerId{2});
    BOOST_TEST(sent(queue, 9) == (std::vector<std::uint64_t>{3, 1}));
}

// What the header promises, said with a sorted list and nothing else.
BOOST_AUTO_TEST_CASE(any_history_of_orders_leaves_the_order_that_a_sorted_list_has) {
    struct Told {
        std::uint32_t told;
        std::uint64_t age;
        std::uint64_t peer;
        std::uint64_t base;
        auto operator<=>(const Told&) const = default;
    };
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Rng rng(seed);
        BroadcastQueue queue;
        std::vector<Told> model;
        std::uint64_t age = ~std::uint64_t{0};
        for (int step = 0; step < 600; ++step) {
            const std::uint64_t peer = 1 + rng.below(40);
            const auto is_of_peer = [peer](const Told& told) { return told.peer == peer; };
            const std::uint64_t what = rng.below(8);
            if (what == 0) {
                queue.drop(PeerId{peer});
                std::erase_if(model, is_of_peer);
            } else if (what < 5) {
                std::uint64_t base = rng.below(9);
                queue.put(key(peer), base);
                if (const auto at = std::ranges::find_if(model, is_of_peer); at != model.end())
                    base = std::min(base, at->base);
                std::erase_if(model, is_of_peer);
                model.push_back({0, age--, peer, base});
            } else {
                const std::uint64_t pattern = rng.next();
                const auto fate = [pattern](std::uint64_t of) {
                    const std::uint64_t bits = pattern >> (of % 32) & 7;
                    return bits == 0 ? Take::drop : bits < 3 ? Take::skip : Take::sent;
                };
                std::vector<std::pair<std::uint64_t, std::uint64_t>> offered;
                queue.take(3, 2, [&](UpdateKey of, std::uint64_t base) {
                    offered.emplace_back(of.peer.value, base);
                    return fate(of.peer.value);
                });
                std::ranges::sort(model);
                std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
                int skips = 0;
                for (Told& told : model) {
                    if (skips == 2) break;
                    expected.emplace_back(told.peer, told.base);
                    if (fate(told.peer) == Take::skip) ++skips;
                    if (fate(told.peer) == Take::sent) ++told.told;
                    if (fate(told.peer) == Take::drop) told.told = 3;
                }
                std::erase_if(model, [](const Told& told) { return told.told >= 3; });
                BOOST_TEST(offered == expected);
            }
            BOOST_TEST(queue.size() == model.size());
        }
    }
}

BOOST_AUTO_TEST_CASE(above_its_bound_the_most_often_sent_and_oldest_makes_room) {
    BroadcastQueue queue(4);
    for (const std::uint64_t peer : {1U, 2U, 3U, 4U}) queue.put(key(peer));
    BOOST_TEST(sent(queue, 2) == (std::vector<std::uint64_t>{4, 3}));
    queue.put(key(5));
    queue.put(key(5));
    BOOST_TEST(queue.size() == 4U);
    queue.put(key(6));
    queue.put(key(7));
    BOOST_TEST(queue.size() == 4U);
    BOOST_TEST(sent(queue, 4) == (std::vector<std::uint64_t>{7, 6, 5, 2}));
    // What had to go starts again when it is put again.
    queue.put(key(3));
    BOOST_TEST(sent(queue, 1) == std::vector<std::uint64_t>{3});
}

BOOST_AUTO_TEST_SUITE_END()
