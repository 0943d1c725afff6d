#include "membership/identity_guard.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using Own = IdentityGuard::Own;
using Sender = IdentityGuard::Sender;
using wire::PacketKind;

namespace {

wire::Header header(std::uint64_t peer, std::uint64_t generation, std::uint32_t instance,
                    std::uint64_t incarnation = 0) {
    wire::Header header;
    header.sender = PeerId{peer};
    header.generation = Generation{generation};
    header.instance = instance;
    header.incarnation = Incarnation{incarnation};
    return header;
}

// What instance 2 of peer 101 says to the challenge in `asked`.
wire::Packet answer(const Effects& asked, std::uint32_t instance) {
    wire::Packet ack = make_packet(PacketKind::ack, asked.packets.at(0).packet.seq, PeerId{101});
    ack.header = header(101, 1, instance);
    return ack;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(identity_guard)

BOOST_AUTO_TEST_CASE(generations_order_the_instances_of_a_peer) {
    Bench bench(1);
    bench.roster.apply(start, whole(101, 5));
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 4, 1)) == Sender::stale);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 5, 1)) == Sender::accepted);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 6, 9)) == Sender::accepted);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(102, 1, 9)) == Sender::accepted);
}

BOOST_AUTO_TEST_CASE(another_instance_of_one_generation_is_in_doubt) {
    Bench bench(1);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 1, 2)) == Sender::in_doubt);
}

BOOST_AUTO_TEST_CASE(a_later_incarnation_is_a_refutation_except_of_a_peer_that_left) {
    Bench bench(1);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 1, 1, 1)) == Sender::refuted);
    bench.set_liveness(101, Liveness::left);
    BOOST_TEST(IdentityGuard::check_sender(bench.roster, header(101, 1, 1, 1)) == Sender::accepted);
}

BOOST_AUTO_TEST_CASE(our_own_packets_are_told_from_those_of_a_clone) {
    const Roster roster(start, record(me.value, 5), 1, 100);
    BOOST_TEST(IdentityGuard::check_own(roster, Generation{5}, 1) == Own::ours);
    BOOST_TEST(IdentityGuard::check_own(roster, Generation{4}, 2) == Own::earlier);
    BOOST_TEST(IdentityGuard::check_own(roster, Generation{5}, 2) == Own::conflict);
    BOOST_TEST(IdentityGuard::check_own(roster, Generation{6}, 2) == Own::conflict);
}

BOOST_AUTO_TEST_CASE(each_other_instance_is_reported_once) {
    IdentityGuard guard;
    BOOST_TEST(guard.report(PeerId{101}, 0));
    BOOST_TEST(!guard.report(PeerId{101}, 0));
    BOOST_TEST(guard.report(PeerId{101}, 2));
    BOOST_TEST(!guard.report(PeerId{101}, 2));
    BOOST_TEST(guard.report(PeerId{102}, 2));
    BOOST_TEST(guard.size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_known_address_is_asked_once_in_a_while) {
    Bench bench(1);
    IdentityGuard guard;
    guard.report(PeerId{101}, 2);
    const Effects asked = guard.challenge(bench.step(), PeerId{101});
    BOOST_TEST_REQUIRE(asked.packets.size() == 1U);
    BOOST_TEST(asked.packets[0].packet.kind == PacketKind::ping);
    BOOST_TEST(asked.packets[0].at == endpoint(101));
    BOOST_TEST(guard.challenge(bench.step(), PeerId{101}).packets.empty());
    bench.now += bench.config.pull_timeout;
    BOOST_TEST(guard.challenge(bench.step(), PeerId{101}).packets.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_instance_that_answers_at_the_known_address_is_the_peer) {
    Bench bench(1);
    IdentityGuard guard;
    guard.report(PeerId{101}, 2);
    const Effects asked = guard.challenge(bench.step(), PeerId{101});
    wire::Packet other_number = answer(asked, 2);
    ++other_number.seq;
    BOOST_TEST(!guard.is_successor(bench.roster, other_number));
    BOOST_TEST(guard.is_successor(bench.roster, answer(asked, 2)));
    BOOST_TEST(guard.size() == 0U);
    BOOST_TEST(!guard.is_successor(bench.roster, answer(asked, 2)));
}

BOOST_AUTO_TEST_CASE(when_the_known_instance_answers_nothing_is_replaced_and_the_doubt_ends) {
    Bench bench(1);
    IdentityGuard guard;
    guard.report(PeerId{101}, 2);
    const Effects asked = guard.challenge(bench.step(), PeerId{101});
    BOOST_TEST(!guard.is_successor(bench.roster, answer(asked, 1)));
    BOOST_TEST(guard.size() == 0U);
}

BOOST_AUTO_TEST_CASE(doubts_are_bounded) {
    IdentityGuard guard;
    for (std::uint64_t id = 1; id <= 5000; ++id) guard.report(PeerId{id}, 1);
    BOOST_TEST(guard.size() <= 4096U);
}

BOOST_AUTO_TEST_SUITE_END()
