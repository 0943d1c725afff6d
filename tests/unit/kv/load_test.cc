#include "kv/load.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <numeric>

#include "keys.h"

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

std::vector<SegmentKey> chain(std::uint32_t length) {
    std::vector<SegmentKey> keys;
    for (std::uint32_t place = 0; place < length; ++place) keys.push_back(key(place));
    return keys;
}

Load load_of(std::uint32_t length, std::vector<bool> held = {}, const LoadConfig& config = {}) {
    held.resize(length);
    return Load(chain(length), std::move(held), me, placement(), config);
}

// Everybody who is asked has everything but `missing`.
void answer_looks(Load& load, const std::vector<std::uint32_t>& missing = {}) {
    while (auto look = load.next_look()) {
        std::vector<Item> items;
        for (const std::uint32_t place : look->places) {
            const bool is_there = std::ranges::find(missing, place) == missing.end();
            items.push_back(is_there ? item(place) : Item{key(place)});
        }
        load.looked(*look, items);
    }
}

std::vector<std::uint32_t> given(Load& load) {
    std::vector<std::uint32_t> places;
    while (auto one = load.next_given()) places.push_back(one->place);
    return places;
}

std::vector<std::uint32_t> upto(std::uint32_t end, std::uint32_t first = 0) {
    std::vector<std::uint32_t> places(end - first);
    std::iota(places.begin(), places.end(), first);
    return places;
}

void deliver_all(Load& load) {
    while (auto fetch = load.next_fetch())
        for (const std::uint32_t place : fetch->places) load.arrived(fetch->to, place, body(place));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load)

BOOST_AUTO_TEST_CASE(each_owner_is_asked_once_for_all_that_it_may_have) {
    Load load = load_of(40);
    std::map<PeerId, std::size_t> looks;
    std::size_t asked = 0;
    while (auto look = load.next_look()) {
        ++looks[look->to];
        asked += look->places.size();
        BOOST_TEST((look->to != me));
    }
    for (const auto& [peer, count] : looks) BOOST_TEST(count == 1U);
    std::size_t owned = 0;
    for (const SegmentKey& one : chain(40))
        for (const PeerId owner : placement().owners(one)) owned += owner != me ? 1 : 0;
    BOOST_TEST(asked == owned);
}

BOOST_AUTO_TEST_CASE(a_chain_that_is_all_there_comes_whole_from_several_peers) {
    Load load = load_of(40);
    answer_looks(load);
    std::map<PeerId, std::size_t> from;
    std::vector<Load::Asks> fetches;
    while (auto fetch = load.next_fetch()) {
        from[fetch->to] += fetch->places.size();
        fetches.push_back(std::move(*fetch));
    }
    BOOST_TEST(from.size() > 3U);
    for (auto fetch = fetches.rbegin(); fetch != fetches.rend(); ++fetch)
        for (const std::uint32_t place : fetch->places) load.arrived(fetch->to, place, body(place));
    BOOST_TEST(given(load) == upto(40), boost::test_tools::per_element());
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 40U);
}

BOOST_AUTO_TEST_CASE(nothing_behind_a_gap_is_fetched) {
    Load load = load_of(20);
    answer_looks(load, {7});
    std::size_t fetched = 0;
    while (auto fetch = load.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            BOOST_TEST(place < 7U);
            load.arrived(fetch->to, place, body(place));
            ++fetched;
        }
    }
    BOOST_TEST(fetched == 7U);
    BOOST_TEST(given(load) == upto(7), boost::test_tools::per_element());
    BOOST_TEST(load.is_over());
}

BOOST_AUTO_TEST_CASE(what_is_here_is_neither_asked_for_nor_handed_out_and_joins_the_run) {
    std::vector<bool> held(10);
    held[0] = held[4] = held[9] = true;
    Load load = load_of(10, held);
    answer_looks(load);
    deliver_all(load);
    BOOST_TEST(given(load) == (std::vector<std::uint32_t>{1, 2, 3, 5, 6, 7, 8}), boost::test_tools::per_element());
    BOOST_TEST(load.given() == 10U);
    BOOST_TEST(load.is_over());
}

BOOST_AUTO_TEST_CASE(a_segment_that_fails_at_one_holder_is_taken_from_the_other) {
    Load load = load_of(6);
    answer_looks(load);
    std::map<std::uint32_t, std::vector<PeerId>> tries;
    while (auto fetch = load.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            tries[place].push_back(fetch->to);
            load.arrived(fetch->to, place, tries[place].size() == 1 ? nullptr : body(place));
        }
    }
    std::uint32_t end = 0;  // the first place that had one holder only, since the other is this peer
    while (end < 6 && !placement().owns(me, key(end))) ++end;
    BOOST_TEST(load.given() == 0U);
    BOOST_TEST(given(load) == upto(end), boost::test_tools::per_element());
    BOOST_TEST(load.is_over());
    for (std::uint32_t place = 0; place < end; ++place) BOOST_TEST((tries[place][0] != tries[place][1]));
}

BOOST_AUTO_TEST_CASE(the_run_ends_where_no_holder_is_left) {
    Load load = load_of(12);
    answer_looks(load);
    while (auto fetch = load.next_fetch())
        for (const std::uint32_t place : fetch->places)
            load.arrived(fetch->to, place, place == 5 ? nullptr : body(place));
    BOOST_TEST(given(load) == upto(5), boost::test_tools::per_element());
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 5U);
}

BOOST_AUTO_TEST_CASE(bytes_under_way_stay_within_the_window) {
    LoadConfig config;
    config.window_bytes = 4 * item(0).bytes;
    config.fetch_bytes = 2 * item(0).bytes;
    Load load = load_of(30, {}, config);
    answer_looks(load);
    std::vector<std::pair<PeerId, std::uint32_t>> open;
    std::vector<std::uint32_t> got;
    while (!load.is_over()) {
        while (auto fetch = load.next_fetch()) {
            BOOST_TEST(fetch->places.size() <= 2U);
            for (const std::uint32_t place : fetch->places) open.emplace_back(fetch->to, place);
        }
        BOOST_TEST(open.size() <= 4U);
        BOOST_REQUIRE(!open.empty());
        // The latest first: what comes early waits within the window, too.
        load.arrived(open.back().first, open.back().second, body(open.back().second));
        open.pop_back();
        while (auto one = load.next_given()) got.push_back(one->place);
    }
    BOOST_TEST(got == upto(30), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_does_not_answer_has_nothing) {
    Load load = load_of(8);
    while (auto look = load.next_look()) load.look_failed();
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 0U);
    BOOST_TEST(!load.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_about_another_key_counts_for_nothing) {
    Load load = load_of(1);
    while (auto look = load.next_look()) load.looked(*look, std::vector{item(99)});
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 0U);
}

BOOST_AUTO_TEST_CASE(with_nobody_to_ask_it_is_over_at_once_with_what_is_here) {
    Load load(chain(3), {true, true, false}, me, Placement(), {});
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 2U);
}

BOOST_AUTO_TEST_CASE(what_nobody_has_is_looked_for_in_the_cold_tier_and_taken_from_the_first_owner) {
    LoadConfig config;
    config.has_cold = true;
    Load load = load_of(30, {}, config);
    answer_looks(load, {4, 7, 8, 20});
    // What others have is fetched meanwhile.
    std::vector<std::uint32_t> warm;
    while (auto fetch = load.next_fetch())
        for (const std::uint32_t place : fetch->places) {
            warm.push_back(place);
            load.arrived(fetch->to, place, body(place));
        }
    BOOST_TEST(warm.size() == 4U);
    BOOST_TEST(given(load) == upto(4), boost::test_tools::per_element());
    BOOST_TEST(!load.is_over());
    const auto places = load.next_cold_look();
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(*places == (std::vector<std::uint32_t>{4, 7, 8, 20}), boost::test_tools::per_element());
    BOOST_TEST(!load.next_cold_look().has_value());
    BOOST_TEST(!load.is_over());
    load.looked_cold(*places, std::vector<Item>{item(4), item(7), item(8), Item{key(20)}});
    while (auto fetch = load.next_fetch()) {
        for (const std::uint32_t place : fetch->places) {
            BOOST_TEST(place < 20U);
            if (place == 4 || place == 7 || place == 8)
                BOOST_TEST((fetch->to == placement().owners(key(place)).front()));
            load.arrived(fetch->to, place, body(place));
        }
    }
    while (auto one = load.next_given()) {
        const bool is_own = placement().owners(key(one->place)).front() == me;
        BOOST_TEST(one->is_cold == (is_own && (one->place == 4 || one->place == 7 || one->place == 8)));
    }
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 20U);
}

BOOST_AUTO_TEST_CASE(a_reader_that_fails_is_followed_by_this_peer_and_then_the_run_ends) {
    LoadConfig config;
    config.has_cold = true;
    Load load = load_of(12, {}, config);
    answer_looks(load, upto(12));
    const auto places = load.next_cold_look();
    BOOST_REQUIRE(places.has_value());
    std::vector<Item> items;
    for (const std::uint32_t place : *places) items.push_back(item(place));
    load.looked_cold(*places, items);
    std::map<std::uint32_t, std::vector<PeerId>> asked;
    while (auto fetch = load.next_fetch())
        for (const std::uint32_t place : fetch->places) {
            asked[place].push_back(fetch->to);
            const bool is_good = fetch->to == me && place != 9;
            load.arrived(fetch->to, place, is_good ? body(place) : nullptr);
        }
    for (const auto& [place, peers] : asked) {
        BOOST_TEST((peers.back() == me));
        BOOST_TEST(peers.size() == (placement().owners(key(place)).front() == me ? 1U : 2U));
    }
    BOOST_TEST(given(load) == upto(9), boost::test_tools::per_element());
    BOOST_TEST(!load.next_cold_look().has_value());
    BOOST_TEST(load.is_over());
}

BOOST_AUTO_TEST_CASE(a_holder_that_fails_is_followed_by_the_cold_tier) {
    LoadConfig config;
    config.has_cold = true;
    Load load = load_of(6, {}, config);
    answer_looks(load);
    BOOST_TEST(!load.next_cold_look().has_value());
    while (auto fetch = load.next_fetch())
        for (const std::uint32_t place : fetch->places)
            load.arrived(fetch->to, place, place == 2 ? nullptr : body(place));
    given(load);
    BOOST_TEST(!load.is_over());
    const auto places = load.next_cold_look();
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(places->front() == 2U);
    load.looked_cold(*places, std::vector<Item>(places->size()));
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 2U);
}

BOOST_AUTO_TEST_CASE(a_cold_look_without_an_answer_ends_the_run) {
    LoadConfig config;
    config.has_cold = true;
    Load load(chain(3), {true, false, false}, me, Placement(), config);
    const auto places = load.next_cold_look();
    BOOST_TEST(*places == (std::vector<std::uint32_t>{1, 2}), boost::test_tools::per_element());
    load.cold_look_failed();
    BOOST_TEST(load.is_over());
    BOOST_TEST(load.given() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
