#include "io/link/keep_alive.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

using namespace exa;
using namespace exa::io;
using namespace exa::io::link;
using std::chrono::seconds;
using Status = KeepAlive::Status;

namespace {

constexpr TimePoint start{std::chrono::hours(1)};

struct Fixture {
    LinkConfig config;  // pings every 5 s, idle after 60 s
    KeepAlive dialler{config, false, start};
    KeepAlive acceptor{config, true, start};

    // The verdict of the next look.
    static Status look(KeepAlive& link, bool has_streams) {
        return link.handle_timeout(link.next_timeout(), has_streams);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(keep_alive, Fixture)

BOOST_AUTO_TEST_CASE(early_call_changes_nothing) {
    const TimePoint next = dialler.next_timeout();
    BOOST_TEST(dialler.handle_timeout(next - Duration{1}, true) == Status::alive);
    BOOST_TEST(dialler.next_timeout() == next);
}

BOOST_AUTO_TEST_CASE(open_streams_and_silence_make_two_pings_and_then_silent) {
    BOOST_TEST(look(dialler, true) == Status::ping);
    BOOST_TEST(look(dialler, true) == Status::ping);
    BOOST_TEST(look(dialler, true) == Status::silent);
}

BOOST_AUTO_TEST_CASE(any_byte_starts_the_count_again) {
    BOOST_TEST(look(dialler, true) == Status::ping);
    BOOST_TEST(look(dialler, true) == Status::ping);
    dialler.note_heard(dialler.next_timeout() - Duration{1});
    BOOST_TEST(look(dialler, true) == Status::alive);
    BOOST_TEST(look(dialler, true) == Status::ping);
}

BOOST_AUTO_TEST_CASE(sync_without_an_answer_is_followed_by_pings) {
    BOOST_TEST(look(dialler, false) == Status::alive);
    dialler.note_sync(dialler.next_timeout() - seconds(1));
    BOOST_TEST(look(dialler, false) == Status::ping);
    dialler.note_heard(dialler.next_timeout());
    BOOST_TEST(look(dialler, false) == Status::alive);
}

BOOST_AUTO_TEST_CASE(acceptor_waits_three_times_as_long_for_an_idle_link) {
    while (look(dialler, false) != Status::idle) BOOST_TEST_REQUIRE(dialler.next_timeout() < start + seconds(100));
    while (look(acceptor, false) != Status::idle) BOOST_TEST_REQUIRE(acceptor.next_timeout() < start + seconds(300));
    BOOST_TEST(dialler.next_timeout() == start + seconds(65));
    BOOST_TEST(acceptor.next_timeout() == start + seconds(185));
}

BOOST_AUTO_TEST_CASE(link_is_idle_only_after_its_last_stream) {
    for (int i = 0; i < 100; ++i) {
        dialler.note_heard(dialler.next_timeout());
        BOOST_TEST(look(dialler, true) == Status::alive);
    }
    dialler.note_busy(dialler.next_timeout());
    BOOST_TEST(look(dialler, false) == Status::alive);
}

BOOST_AUTO_TEST_SUITE_END()
