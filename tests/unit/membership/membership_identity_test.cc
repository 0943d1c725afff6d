#include <boost/test/unit_test.hpp>

#include "driver.h"
#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using wire::MemberState;

namespace {

// Another instance of peer 101, of the same generation, says something to `driver`.
wire::Packet of_doubtful_life(wire::PacketKind kind = wire::PacketKind::ping) {
    wire::Packet packet;
    packet.header = Driver::header(101);
    packet.header.instance = 2;
    packet.kind = kind;
    packet.target = kind == wire::PacketKind::ack ? PeerId{101} : me;
    return packet;
}

// The questions that `driver` has sent to peer 101 since it was last looked at.
std::vector<wire::Packet> questions(Driver& driver) {
    std::vector<wire::Packet> found;
    for (const Sent& item : driver.sent_of(wire::PacketKind::ping))
        if (item.packet.target == PeerId{101} && item.to == endpoint(101)) found.push_back(item.packet);
    driver.sent.clear();
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(membership_lives)

BOOST_AUTO_TEST_CASE(a_stale_instance_is_told_so_and_ignored) {
    Driver driver;
    driver.gather(1);
    wire::Packet restarted;
    restarted.header = Driver::header(101, 2);
    restarted.records = {whole(101, 2)};
    driver.give(restarted).value();
    driver.sent.clear();
    wire::Packet old;
    old.header = Driver::header(101, 1);
    old.kind = wire::PacketKind::ping;
    old.facts = {fact(101, MemberState::left, 0, 0, 2)};
    driver.give(old).value();
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
    BOOST_TEST_REQUIRE(driver.sent.size() == 1U);
    BOOST_TEST(driver.sent[0].packet.facts.at(0).generation == Generation{2});
    BOOST_TEST(driver.core.counters().stale == 1U);
}

BOOST_AUTO_TEST_CASE(we_refuse_to_serve_when_a_second_message_says_that_a_newer_instance_of_us_is_alive) {
    Driver driver;
    driver.gather(1);
    driver.give(101, {fact(me.value, MemberState::alive, 0, 0, 6)}).value();
    BOOST_TEST(!driver.core.is_over());
    BOOST_TEST(questions(driver).size() == 1U);
    driver.give(101, {fact(me.value, MemberState::alive, 0, 0, 6)}).value();
    BOOST_TEST(driver.core.is_over());
    BOOST_TEST_REQUIRE(driver.events.size() == 1U);
    BOOST_TEST(driver.events[0] == (Event{EventKind::id_conflict, me, Generation{6}, {}, true}));
    BOOST_TEST(driver.core.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(no_packet_alone_ends_us_whatever_it_says) {
    Driver driver;
    driver.gather(1);
    for (std::uint64_t generation = 6; generation < 40; ++generation) {
        driver.give(101, {fact(me.value, MemberState::alive, 0, 0, generation)}).value();
        BOOST_TEST(!driver.core.is_over());
    }
    driver.give(101, {fact(me.value, MemberState::alive, 0, 0, 90)}).value();
    driver.run_for(std::chrono::seconds{31}, true);
    driver.give(101, {fact(me.value, MemberState::alive, 0, 0, 90)}).value();
    BOOST_TEST(!driver.core.is_over());
}

BOOST_AUTO_TEST_CASE(a_clone_of_us_that_joins_later_is_loud_but_does_not_stop_us) {
    Driver driver;
    driver.gather(1);
    wire::Packet clone;
    clone.header = Driver::header(me.value, 5);
    clone.header.instance = 12345;
    for (int twice = 0; twice < 2; ++twice) driver.give(clone).value();
    BOOST_TEST(!driver.core.is_over());
    BOOST_TEST(driver.told(EventKind::id_conflict, me) == 1U);
}

BOOST_AUTO_TEST_CASE(an_instance_that_answers_at_the_known_address_takes_over) {
    Driver driver;
    driver.gather(2);
    driver.give(102, {fact(101, MemberState::suspect, 0, 102)}).value();
    driver.give(of_doubtful_life()).value();
    BOOST_TEST(driver.told(EventKind::id_conflict, PeerId{101}) == 1U);
    const auto asked = questions(driver);
    BOOST_TEST_REQUIRE(asked.size() == 1U);
    BOOST_TEST(driver.liveness(101) == Liveness::suspect);

    wire::Packet answer = of_doubtful_life(wire::PacketKind::ack);
    answer.seq = asked[0].seq;
    driver.give(answer).value();
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
    BOOST_TEST(driver.events.back().instance == 2U);
    BOOST_TEST(driver.events.back().kind == EventKind::joined);
    // Of the record of the earlier instance nothing is left but the profile; the new one is asked for its own.
    BOOST_TEST(driver.core.roster().find(PeerId{101})->record->replicas.empty());
    BOOST_TEST(driver.syncs.back().sync.pulls == (std::vector{wire::Pull{PeerId{101}, Generation{1}, 0}}));
}

BOOST_AUTO_TEST_CASE(an_instance_that_was_called_dead_is_replaced_as_well) {
    Driver driver;
    driver.gather(3);
    driver.give(102, {fact(101, MemberState::dead, 0, 102)}).value();
    BOOST_TEST(driver.liveness(101) == Liveness::dead);
    driver.sent.clear();
    driver.give(of_doubtful_life()).value();
    wire::Packet answer = of_doubtful_life(wire::PacketKind::ack);
    answer.seq = questions(driver).at(0).seq;
    driver.give(answer).value();
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
}

BOOST_AUTO_TEST_CASE(only_the_answer_to_our_own_question_makes_a_successor) {
    Driver driver;
    driver.gather(2);
    wire::Packet answer = of_doubtful_life(wire::PacketKind::ack);
    answer.seq = 12345;
    driver.give(answer).value();
    const auto asked = questions(driver);
    BOOST_TEST_REQUIRE(asked.size() == 1U);
    driver.give(answer).value();
    wire::Packet not_an_answer = of_doubtful_life();
    not_an_answer.seq = asked[0].seq;
    driver.give(not_an_answer).value();
    BOOST_TEST(driver.told(EventKind::joined, PeerId{101}) == 0U);
    BOOST_TEST(driver.core.roster().find(PeerId{101})->instance == 1U);
}

BOOST_AUTO_TEST_CASE(a_clone_elsewhere_changes_nothing_while_the_original_answers) {
    Driver driver;
    driver.gather(2);
    driver.give(of_doubtful_life()).value();
    driver.give(Driver::ack_of(questions(driver).at(0))).value();
    BOOST_TEST(driver.told(EventKind::joined, PeerId{101}) == 0U);
    BOOST_TEST(driver.liveness(101) == Liveness::alive);
    BOOST_TEST(driver.core.roster().find(PeerId{101})->instance == 1U);
}

BOOST_AUTO_TEST_CASE(the_address_is_asked_once_while_its_answer_may_come) {
    Driver driver;
    driver.gather(2);
    for (int times = 0; times < 5; ++times) driver.give(of_doubtful_life()).value();
    BOOST_TEST(questions(driver).size() == 1U);
    BOOST_TEST(driver.told(EventKind::id_conflict, PeerId{101}) == 1U);
    driver.run_for(Config{}.pull_timeout, true);
    questions(driver);
    driver.give(of_doubtful_life()).value();
    BOOST_TEST(questions(driver).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_record_of_an_instance_in_doubt_has_its_address_asked) {
    Driver driver;
    driver.gather(2);
    wire::Packet packet;
    packet.header = Driver::header(102);
    packet.records = {whole(record(101), 2)};
    driver.give(packet).value();
    BOOST_TEST(questions(driver).size() == 1U);
    BOOST_TEST(driver.core.roster().find(PeerId{101})->instance == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
