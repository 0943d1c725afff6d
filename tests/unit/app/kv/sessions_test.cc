#include "app/kv/sessions.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

constexpr ReplicaId here{PeerId{1}, {}, 0};
constexpr ReplicaId there{PeerId{1}, {}, 1};

std::vector<exa::kv::SegmentKey> keys(std::initializer_list<std::uint8_t> numbers) {
    std::vector<exa::kv::SegmentKey> all;
    for (const std::uint8_t number : numbers) all.push_back(key_of(number));
    return all;
}

// A request whose prompt and answer fill these segments.
void answer(KvSessions& sessions, ReplicaId replica, std::uint64_t session,
            std::initializer_list<std::uint8_t> numbers) {
    exa::kv::SegmentKey parent = key_of(99);
    for (const std::uint8_t number : numbers) {
        sessions.note(replica, session, key_of(number), parent);
        parent = key_of(number);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_sessions)

BOOST_AUTO_TEST_CASE(a_session_grows_turn_by_turn) {
    KvSessions sessions;
    answer(sessions, here, 7, {1, 2});
    answer(sessions, here, 7, {1, 2, 3, 4});
    BOOST_TEST(sessions.of_session(7) == keys({1, 2, 3, 4}));
    BOOST_TEST(sessions.of_session(8).empty());
}

BOOST_AUTO_TEST_CASE(a_shorter_request_of_the_session_takes_nothing_away) {
    KvSessions sessions;
    answer(sessions, here, 7, {1, 2, 3});
    answer(sessions, here, 7, {1});
    BOOST_TEST(sessions.of_session(7) == keys({1, 2, 3}));
    answer(sessions, here, 7, {1, 2, 3, 4});
    BOOST_TEST(sessions.of_session(7) == keys({1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(an_edited_history_replaces_what_was_behind_the_edit) {
    KvSessions sessions;
    answer(sessions, here, 7, {1, 2, 3});
    answer(sessions, here, 7, {1, 5, 6});
    BOOST_TEST(sessions.of_session(7) == keys({1, 5, 6}));
    answer(sessions, here, 7, {8, 9});
    BOOST_TEST(sessions.of_session(7) == keys({8, 9}));
}

BOOST_AUTO_TEST_CASE(a_replica_has_the_sessions_that_it_answered_last) {
    KvSessions sessions;
    answer(sessions, here, 7, {1, 2});
    answer(sessions, here, 8, {3});
    answer(sessions, there, 9, {4});
    BOOST_TEST(sessions.of_replica(here, {}, 10).keys == keys({1, 2, 3}));
    answer(sessions, there, 7, {1, 2});
    BOOST_TEST(sessions.of_replica(here, {}, 10).keys == keys({3}));
    BOOST_TEST(sessions.of_replica(there, {}, 10).keys == keys({1, 2, 4}));
}

BOOST_AUTO_TEST_CASE(all_of_a_replica_is_told_page_by_page_though_sessions_go_on_meanwhile) {
    KvSessions sessions;
    answer(sessions, here, 9, {6});
    answer(sessions, here, 7, {1, 2, 3});
    answer(sessions, there, 8, {10});
    answer(sessions, here, ~0ull, {4, 5});
    const auto first = sessions.of_replica(here, {}, 2);
    BOOST_TEST(first.keys == keys({1, 2}));
    BOOST_TEST_REQUIRE(first.next.has_value());
    answer(sessions, here, 9, {6, 7});
    const auto second = sessions.of_replica(here, *first.next, 3);
    BOOST_TEST(second.keys == keys({3, 6, 7}));
    BOOST_TEST_REQUIRE(second.next.has_value());
    answer(sessions, here, 7, {1, 2, 3, 8});
    const auto third = sessions.of_replica(here, *second.next, 2);
    BOOST_TEST(third.keys == keys({4, 5}));
    BOOST_TEST(!third.next.has_value());
    // A session that has become shorter than a page told.
    answer(sessions, here, 7, {9});
    BOOST_TEST(sessions.of_replica(here, *first.next, 1).keys == keys({6}));
}

BOOST_AUTO_TEST_CASE(the_oldest_sessions_are_forgotten_when_there_are_too_many_keys) {
    KvSessions sessions(4);
    answer(sessions, here, 7, {1, 2});
    answer(sessions, here, 8, {3, 4});
    answer(sessions, here, 9, {5});
    BOOST_TEST(sessions.of_session(7).empty());
    BOOST_TEST(sessions.of_replica(here, {}, 10).keys == keys({3, 4, 5}));
}

BOOST_AUTO_TEST_SUITE_END()
