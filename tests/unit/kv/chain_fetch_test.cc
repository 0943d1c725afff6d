#include "kv/chain_fetch.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <numeric>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;

namespace {

const PeerId me{1};

// Peers 1 .. 6, ourselves among them, each on a rack of its own.
Placement placement() {
    std::vector<Holder> holders;
    for (std::uint64_t id = 1; id <= 6; ++id) holders.push_back({PeerId{id}, id, 1, true});
    return Placement(std::move(holders), 2);
}

std::vector<SegmentKey> keys_of(std::uint32_t length) {
    std::vector<SegmentKey> keys;
    for (std::uint32_t place = 0; place < length; ++place) keys.push_back(key(place));
    return keys;
}

ChainFetch chain_of(std::uint32_t length, std::vector<bool> held = {}, const ChainFetchConfig& config = {}) {
    held.resize(length);
    return ChainFetch(keys_of(length), std::move(held), me, placement(), config);
}

// Everybody who is asked has everything but `missing`.
void answer_lookups(ChainFetch& chain, const std::vector<std::uint32_t>& missing = {}) {
    while (auto lookup = chain.next_lookup()) {
        std::vector<Item> items;
        for (const std::uint32_t place : lookup->places) {
            const bool is_there = std::ranges::find(missing, place) == missing.end();
            items.push_back(is_there ? item(place) : Item{key(place)});
        }
        chain.handle_lookup(*lookup, items);
    }
}

std::vector<std::uint32_t> delivered_places(ChainFetch& chain) {
    std::vector<std::uint32_t> places;
    while (auto one = chain.next_delivery()) places.push_back(one->place);
    return places;
}

std::vector<std::uint32_t> upto(std::uint32_t end, std::uint32_t first = 0) {
    std::vector<std::uint32_t> places(end - first);
    std::iota(places.begin(), places.end(), first);
    return places;
}

void deliver_all(ChainFetch& chain) {
    while (auto fetch = chain.next_fetch())
        for (const std::uint32_t place : fetch->places) chain.arrived(fetch->to, place, body(place));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chain_fetch)

BOOST_AUTO_TEST_CASE(each_owner_gets_one_lookup_for_all_its_keys) {
    ChainFetch chain = chain_of(40);
    std::map<PeerId, std::size_t> looks;
    std::size_t asked = 0;
    while (auto lookup = chain.next_lookup()) {
        ++looks[lookup->to];
        asked += lookup->places.size();
        BOOST_TEST(lookup->to != me);
    }
    for (const auto& [peer, count] : looks) BOOST_TEST(count == 1U);
    std::size_t owned = 0;
    for (const SegmentKey& one : keys_of(40))
        for (const PeerId owner : placement().owners(one)) owned += owner != me ? 1 : 0;
    BOOST_TEST(asked == owned);
}

BOOST_AUTO_TEST_CASE(a_chain_is_fetched_whole_from_several_peers) {
    ChainFetch chain = chain_of(40);
    answer_lookups(chain);
    std::map<PeerId, std::size_t> from;
    std::vector<ChainFetch::Asks> fetches;
    while (auto fetch = chain.next_fetch()) {
        from[fetch->to] += fetch->places.size();
        fetches.push_back(std::move(*fetch));
    }
    BOOST_TEST(from.size() > 3U);
    for (auto fetch = fetches.rbegin(); fetch != fetches.rend(); ++fetch)
        for (const std::uint32_t place : fetch->places) chain.arrived(fetch->to, place, body(place));
    BOOST_TEST(delivered_places(chain) == upto(40), boost::test_tools::per_element());
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 40U);
}

BOOST_AUTO_TEST_CASE(nothing_after_a_gap_is_fetched) {
    ChainFetch chain = chain_of(20);
    answer_lookups(chain, {7});
    std::size_t fetched = 0;
    while (auto fetch = chain.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            BOOST_TEST(place < 7U);
            chain.arrived(fetch->to, place, body(place));
            ++fetched;
        }
    }
    BOOST_TEST(fetched == 7U);
    BOOST_TEST(delivered_places(chain) == upto(7), boost::test_tools::per_element());
    BOOST_TEST(chain.is_over());
}

BOOST_AUTO_TEST_CASE(held_segments_join_the_run_without_being_fetched) {
    std::vector<bool> held(10);
    held[0] = held[4] = held[9] = true;
    ChainFetch chain = chain_of(10, held);
    answer_lookups(chain);
    deliver_all(chain);
    BOOST_TEST(delivered_places(chain) == (std::vector<std::uint32_t>{1, 2, 3, 5, 6, 7, 8}),
               boost::test_tools::per_element());
    BOOST_TEST(chain.delivered() == 10U);
    BOOST_TEST(chain.is_over());
}

BOOST_AUTO_TEST_CASE(a_failed_segment_is_fetched_from_the_other_holder) {
    ChainFetch chain = chain_of(6);
    answer_lookups(chain);
    std::map<std::uint32_t, std::vector<PeerId>> tries;
    while (auto fetch = chain.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            tries[place].push_back(fetch->to);
            chain.arrived(fetch->to, place, tries[place].size() == 1 ? nullptr : body(place));
        }
    }
    std::uint32_t end = 0;  // the first place that had one holder only, since the other is this peer
    while (end < 6 && !placement().owns(me, key(end))) ++end;
    BOOST_TEST(chain.delivered() == 0U);
    BOOST_TEST(delivered_places(chain) == upto(end), boost::test_tools::per_element());
    BOOST_TEST(chain.is_over());
    for (std::uint32_t place = 0; place < end; ++place) BOOST_TEST(tries[place][0] != tries[place][1]);
}

BOOST_AUTO_TEST_CASE(the_run_ends_where_no_holder_is_left) {
    ChainFetch chain = chain_of(12);
    answer_lookups(chain);
    while (auto fetch = chain.next_fetch())
        for (const std::uint32_t place : fetch->places)
            chain.arrived(fetch->to, place, place == 5 ? nullptr : body(place));
    BOOST_TEST(delivered_places(chain) == upto(5), boost::test_tools::per_element());
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 5U);
}

BOOST_AUTO_TEST_CASE(bytes_under_way_stay_within_the_window) {
    ChainFetchConfig config;
    config.window_bytes = 4 * item(0).bytes;
    config.fetch_bytes = 2 * item(0).bytes;
    ChainFetch chain = chain_of(30, {}, config);
    answer_lookups(chain);
    std::vector<std::pair<PeerId, std::uint32_t>> open;
    std::vector<std::uint32_t> got;
    while (!chain.is_over()) {
        while (auto fetch = chain.next_fetch()) {
            BOOST_TEST(fetch->places.size() <= 2U);
            for (const std::uint32_t place : fetch->places) open.emplace_back(fetch->to, place);
        }
        BOOST_TEST(open.size() <= 4U);
        BOOST_REQUIRE(!open.empty());
        // The latest first: what comes early waits within the window, too.
        chain.arrived(open.back().first, open.back().second, body(open.back().second));
        open.pop_back();
        while (auto one = chain.next_delivery()) got.push_back(one->place);
    }
    BOOST_TEST(got == upto(30), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_owner_without_an_answer_has_nothing) {
    ChainFetch chain = chain_of(8);
    while (auto lookup = chain.next_lookup()) chain.handle_lookup_failed();
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 0U);
    BOOST_TEST(!chain.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_about_another_key_counts_for_nothing) {
    ChainFetch chain = chain_of(1);
    while (auto lookup = chain.next_lookup()) chain.handle_lookup(*lookup, std::vector{item(99)});
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 0U);
}

BOOST_AUTO_TEST_CASE(without_owners_it_ends_at_once_with_what_is_held) {
    ChainFetch chain(keys_of(3), {true, true, false}, me, Placement(), {});
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 2U);
}

BOOST_AUTO_TEST_CASE(what_nobody_has_is_read_from_the_cold_tier_by_one_owner) {
    ChainFetchConfig config;
    config.has_cold = true;
    ChainFetch chain = chain_of(30, {}, config);
    answer_lookups(chain, {4, 7, 8, 20});
    // What others have is fetched meanwhile.
    std::vector<std::uint32_t> warm;
    while (auto fetch = chain.next_fetch())
        for (const std::uint32_t place : fetch->places) {
            warm.push_back(place);
            chain.arrived(fetch->to, place, body(place));
        }
    BOOST_TEST(warm.size() == 4U);
    BOOST_TEST(delivered_places(chain) == upto(4), boost::test_tools::per_element());
    BOOST_TEST(!chain.is_over());
    const auto places = chain.next_cold_lookup();
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(*places == (std::vector<std::uint32_t>{4, 7, 8, 20}), boost::test_tools::per_element());
    BOOST_TEST(!chain.next_cold_lookup().has_value());
    BOOST_TEST(!chain.is_over());
    chain.handle_cold_lookup(*places, std::vector<Item>{item(4), item(7), item(8), Item{key(20)}});
    while (auto fetch = chain.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            BOOST_TEST(place < 20U);
            if (place == 4 || place == 7 || place == 8) BOOST_TEST(fetch->to == placement().owners(key(place)).front());
            chain.arrived(fetch->to, place, body(place));
        }
    }
    while (auto one = chain.next_delivery()) {
        const bool is_own = placement().owners(key(one->place)).front() == me;
        BOOST_TEST(one->is_cold == (is_own && (one->place == 4 || one->place == 7 || one->place == 8)));
    }
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 20U);
}

BOOST_AUTO_TEST_CASE(when_the_cold_reader_fails_this_peer_reads_itself_once) {
    ChainFetchConfig config;
    config.has_cold = true;
    ChainFetch chain = chain_of(12, {}, config);
    answer_lookups(chain, upto(12));
    const auto places = chain.next_cold_lookup();
    BOOST_REQUIRE(places.has_value());
    std::vector<Item> items;
    for (const std::uint32_t place : *places) items.push_back(item(place));
    chain.handle_cold_lookup(*places, items);
    std::map<std::uint32_t, std::vector<PeerId>> asked;
    while (auto fetch = chain.next_fetch())
        for (const std::uint32_t place : fetch->places) {
            asked[place].push_back(fetch->to);
            const bool is_good = fetch->to == me && place != 9;
            chain.arrived(fetch->to, place, is_good ? body(place) : nullptr);
        }
    for (const auto& [place, peers] : asked) {
        BOOST_TEST(peers.back() == me);
        BOOST_TEST(peers.size() == (placement().owners(key(place)).front() == me ? 1U : 2U));
    }
    BOOST_TEST(delivered_places(chain) == upto(9), boost::test_tools::per_element());
    BOOST_TEST(!chain.next_cold_lookup().has_value());
    BOOST_TEST(chain.is_over());
}

BOOST_AUTO_TEST_CASE(when_a_holder_fails_the_cold_tier_is_tried) {
    ChainFetchConfig config;
    config.has_cold = true;
    ChainFetch chain = chain_of(6, {}, config);
    answer_lookups(chain);
    BOOST_TEST(!chain.next_cold_lookup().has_value());
    while (auto fetch = chain.next_fetch())
        for (const std::uint32_t place : fetch->places)
            chain.arrived(fetch->to, place, place == 2 ? nullptr : body(place));
    delivered_places(chain);
    BOOST_TEST(!chain.is_over());
    const auto places = chain.next_cold_lookup();
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(places->front() == 2U);
    chain.handle_cold_lookup(*places, std::vector<Item>(places->size()));
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 2U);
}

BOOST_AUTO_TEST_CASE(a_cold_lookup_without_an_answer_ends_the_run) {
    ChainFetchConfig config;
    config.has_cold = true;
    ChainFetch chain(keys_of(3), {true, false, false}, me, Placement(), config);
    const auto places = chain.next_cold_lookup();
    BOOST_TEST(*places == (std::vector<std::uint32_t>{1, 2}), boost::test_tools::per_element());
    chain.handle_cold_lookup_failed();
    BOOST_TEST(chain.is_over());
    BOOST_TEST(chain.delivered() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
