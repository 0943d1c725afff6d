#include "membership/prober.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;
using wire::PacketKind;

namespace {

// Starts a probe; returns its ping.
wire::Packet start_probe(Prober& prober, Bench& bench) {
    const Effects effects = prober.start(bench.step());
    BOOST_TEST_REQUIRE(effects.packets.size() == 1U);
    return effects.packets[0].packet;
}

wire::Packet request(std::uint64_t from, PeerId target) {
    wire::Packet request = make_packet(PacketKind::ping_request, 77, target);
    request.header.sender = PeerId{from};
    request.target_endpoint = endpoint(target.value);
    return request;
}

// A probe that nobody answers.
Effects fail_probe(Prober& prober, Bench& bench) {
    prober.start(bench.step());
    prober.ask_others(bench.step());
    return prober.finish(bench.step());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(prober)

BOOST_AUTO_TEST_CASE(a_probe_pings_one_live_peer_and_sets_its_two_timers) {
    Bench bench(3);
    Prober prober;
    const Effects effects = prober.start(bench.step());
    BOOST_TEST_REQUIRE(effects.packets.size() == 1U);
    BOOST_TEST(effects.packets[0].packet.kind == PacketKind::ping);
    BOOST_TEST(effects.packets[0].to == effects.packets[0].packet.target);
    BOOST_TEST(effects.packets[0].at == endpoint(effects.packets[0].to->value));
    BOOST_TEST(bench.timers.is_set({TimerKind::probe}));
    BOOST_TEST(bench.timers.next() == start + bench.config.probe_timeout);
    BOOST_TEST(prober.probes() == 1U);
}

BOOST_AUTO_TEST_CASE(alone_there_is_nobody_to_probe_and_the_next_round_is_set) {
    Bench bench(0);
    Prober prober;
    BOOST_TEST(prober.start(bench.step()).packets.empty());
    BOOST_TEST(bench.timers.next() == start + bench.config.probe_interval);
    BOOST_TEST(prober.finish(bench.step()).accused.empty());
}

BOOST_AUTO_TEST_CASE(without_an_answer_indirect_probes_and_the_link_are_tried_and_the_peer_is_accused) {
    Bench bench(6);
    Prober prober;
    const wire::Packet ping = start_probe(prober, bench);
    const Effects asked = prober.ask_others(bench.step());
    std::set<PeerId> helpers;
    for (const PacketOut& out : asked.packets) {
        BOOST_TEST(out.packet.kind == PacketKind::ping_request);
        BOOST_TEST(out.packet.target == ping.target);
        BOOST_TEST(out.packet.target_endpoint == endpoint(ping.target.value));
        helpers.insert(*out.to);
    }
    BOOST_TEST(helpers.size() == bench.config.indirect_probes);
    BOOST_TEST(!helpers.contains(ping.target));
    BOOST_TEST_REQUIRE(asked.syncs.size() == 1U);
    BOOST_TEST(asked.syncs[0].to == ping.target);
    const Effects ended = prober.finish(bench.step());
    BOOST_TEST(ended.accused == std::vector{ping.target});
    BOOST_TEST(prober.probes_failed() == 1U);
}

BOOST_AUTO_TEST_CASE(an_answered_probe_asks_nobody_and_accuses_nobody) {
    for (const Prober::Path path : {Prober::Path::datagram, Prober::Path::link}) {
        Bench bench(6);
        Prober prober;
        const wire::Packet ping = start_probe(prober, bench);
        prober.handle_ack(bench.step(), ping.target, ping.seq, path);
        BOOST_TEST(!bench.timers.is_set({TimerKind::probe_timeout}));
        BOOST_TEST(prober.ask_others(bench.step()).packets.empty());
        BOOST_TEST(prober.finish(bench.step()).accused.empty());
    }
}

BOOST_AUTO_TEST_CASE(an_ack_of_another_number_or_peer_is_no_answer) {
    Bench bench(6);
    Prober prober;
    const wire::Packet ping = start_probe(prober, bench);
    prober.handle_ack(bench.step(), ping.target, ping.seq + 1, Prober::Path::datagram);
    prober.handle_ack(bench.step(), PeerId{ping.target.value + 1}, ping.seq, Prober::Path::datagram);
    BOOST_TEST(prober.finish(bench.step()).accused.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_target_that_refuted_left_or_restarted_meanwhile_is_not_accused) {
    for (int turn = 0; turn < 3; ++turn) {
        Bench bench(2);
        Prober prober;
        const PeerId target = start_probe(prober, bench).target;
        if (turn == 0) bench.set_liveness(target.value, Liveness::alive, 1);
        if (turn == 1) bench.set_liveness(target.value, Liveness::left);
        if (turn == 2) bench.roster.apply(start, whole(target.value, 2));
        BOOST_TEST(prober.finish(bench.step()).accused.empty(), "turn " << turn);
        BOOST_TEST(prober.probes_failed() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_silent_helper_worsens_local_health_and_a_nack_does_not) {
    Bench bench(6);
    Prober silent;
    fail_probe(silent, bench);
    BOOST_TEST(silent.local_health() == bench.config.indirect_probes);

    Prober helped;
    helped.start(bench.step());
    for (const PacketOut& out : helped.ask_others(bench.step()).packets) {
        wire::Packet nack = make_packet(PacketKind::nack, out.packet.seq, out.packet.target);
        nack.header.sender = *out.to;
        helped.handle_nack(nack);
        helped.handle_nack(nack);
    }
    BOOST_TEST(helped.finish(bench.step()).accused.size() == 1U);
    BOOST_TEST(helped.local_health() == 0U);
}

BOOST_AUTO_TEST_CASE(a_prober_is_cut_off_when_target_and_helpers_are_silent_until_it_hears_somebody) {
    Bench bench(6);
    Prober prober;
    fail_probe(prober, bench);
    BOOST_TEST(prober.is_cut_off());
    BOOST_TEST(prober.local_health() == bench.config.indirect_probes);
    prober.start(bench.step());
    prober.hear(bench.step());
    BOOST_TEST(!prober.is_cut_off());
    BOOST_TEST(prober.local_health() == 0U, "it was not our own sickness");
    BOOST_TEST(bench.timers.next() == start);
    BOOST_TEST(prober.finish(bench.step()).accused.empty(), "what went out during the cut accuses nobody");

    Prober heard;
    heard.start(bench.step());
    heard.ask_others(bench.step());
    heard.hear(bench.step());
    heard.finish(bench.step());
    BOOST_TEST(!heard.is_cut_off(), "only that peer is silent");

    Bench pair(1);
    Prober alone;
    fail_probe(alone, pair);
    BOOST_TEST(!alone.is_cut_off(), "which of two is cut off nobody can say");
}

BOOST_AUTO_TEST_CASE(poor_local_health_stretches_probes_up_to_its_limit_and_answers_mend_it) {
    Bench bench(6);
    Prober prober;
    prober.worsen(bench.config, 100);
    BOOST_TEST(prober.local_health() == bench.config.local_health_max);
    const wire::Packet ping = start_probe(prober, bench);
    BOOST_TEST(bench.timers.next() == start + bench.config.probe_timeout * (1 + bench.config.local_health_max));
    prober.handle_ack(bench.step(), ping.target, ping.seq, Prober::Path::datagram);
    BOOST_TEST(prober.local_health() == bench.config.local_health_max - 1);
}

BOOST_AUTO_TEST_CASE(a_probe_of_a_late_process_accuses_nobody) {
    Bench bench(6);
    Prober prober;
    prober.start(bench.step());
    prober.note_lateness(bench.config);
    BOOST_TEST(prober.local_health() == 1U);
    BOOST_TEST(prober.finish(bench.step()).accused.empty());
}

BOOST_AUTO_TEST_CASE(four_probes_that_only_the_link_answers_mean_blocked_udp_until_a_datagram_comes) {
    Bench bench(6);
    Prober prober;
    const auto probe = [&](Prober::Path path) {
        const wire::Packet ping = start_probe(prober, bench);
        prober.handle_ack(bench.step(), ping.target, ping.seq, path);
        return prober.finish(bench.step()).notices;
    };
    for (int i = 0; i < 3; ++i) BOOST_TEST(probe(Prober::Path::link).empty());
    BOOST_TEST(probe(Prober::Path::link) == (std::vector{Notice{EventKind::udp_blocked, me}}));
    BOOST_TEST(prober.is_udp_blocked());
    BOOST_TEST(probe(Prober::Path::link).empty());
    BOOST_TEST(probe(Prober::Path::datagram) == (std::vector{Notice{EventKind::udp_restored, me}}));
    BOOST_TEST(!prober.is_udp_blocked());
}

BOOST_AUTO_TEST_CASE(a_suspect_is_probed_out_of_turn_at_once_or_after_the_probe_under_way) {
    Bench bench(6);
    Prober prober;
    prober.probe_soon(bench.step(), PeerId{104});
    BOOST_TEST(bench.timers.next() == start);
    const wire::Packet ping = start_probe(prober, bench);
    BOOST_TEST(ping.target == PeerId{104});
    // Its own probe is under way: that is the check.
    bench.timers.clear();
    prober.probe_soon(bench.step(), PeerId{104});
    prober.probe_soon(bench.step(), PeerId{105});
    BOOST_TEST(!bench.timers.is_set({TimerKind::probe}));
    prober.handle_ack(bench.step(), ping.target, ping.seq, Prober::Path::datagram);
    BOOST_TEST(bench.timers.next() == start);
    prober.finish(bench.step());
    BOOST_TEST(start_probe(prober, bench).target == PeerId{105});
}

BOOST_AUTO_TEST_CASE(an_indirect_probe_brings_the_requester_its_answer_under_its_own_number) {
    Bench bench(2);
    Prober prober;
    const Effects asked = prober.handle_request(bench.step(), endpoint(101), request(101, PeerId{102}));
    BOOST_TEST_REQUIRE(asked.packets.size() == 1U);
    BOOST_TEST(asked.packets[0].at == endpoint(102));
    BOOST_TEST(prober.indirect_probes() == 1U);
    const Effects answered =
        prober.handle_ack(bench.step(), PeerId{102}, asked.packets[0].packet.seq, Prober::Path::datagram);
    BOOST_TEST_REQUIRE(answered.packets.size() == 1U);
    BOOST_TEST(answered.packets[0].packet.kind == PacketKind::ack);
    BOOST_TEST(answered.packets[0].packet.seq == 77U);
    BOOST_TEST(answered.packets[0].packet.target == PeerId{102});
    BOOST_TEST(answered.packets[0].at == endpoint(101));
    BOOST_TEST(prober.indirect_probes() == 0U);
    BOOST_TEST(bench.timers.next() == time_never);
}

BOOST_AUTO_TEST_CASE(a_silent_target_is_reported_once_and_its_late_answer_still_passed_on) {
    Bench bench(2);
    Prober prober;
    const std::uint64_t seq =
        prober.handle_request(bench.step(), endpoint(101), request(101, PeerId{102})).packets[0].packet.seq;
    BOOST_TEST(bench.timers.next() < start + bench.config.probe_timeout);
    const Effects silent = prober.indirect_timeout(bench.step(), seq);
    BOOST_TEST_REQUIRE(silent.packets.size() == 1U);
    BOOST_TEST(silent.packets[0].packet.kind == PacketKind::nack);
    const Effects late = prober.handle_ack(bench.step(), PeerId{102}, seq, Prober::Path::datagram);
    BOOST_TEST(late.packets.size() == 1U);

    const std::uint64_t never =
        prober.handle_request(bench.step(), endpoint(101), request(101, PeerId{102})).packets[0].packet.seq;
    prober.indirect_timeout(bench.step(), never);
    BOOST_TEST(prober.indirect_timeout(bench.step(), never).packets.empty());
    BOOST_TEST(prober.indirect_probes() == 0U);
}

BOOST_AUTO_TEST_CASE(asked_about_ourselves_we_answer_and_asked_about_nobody_we_do_not) {
    Bench bench(2);
    Prober prober;
    const Effects ours = prober.handle_request(bench.step(), endpoint(101), request(101, me));
    BOOST_TEST_REQUIRE(ours.packets.size() == 1U);
    BOOST_TEST(ours.packets[0].packet.kind == PacketKind::ack);
    BOOST_TEST(prober.handle_request(bench.step(), endpoint(101), request(101, PeerId{})).packets.empty());
    BOOST_TEST(prober.indirect_probes() == 0U);
}

BOOST_AUTO_TEST_CASE(a_flood_of_requests_is_bounded) {
    Bench bench(2);
    Prober prober;
    for (int i = 0; i < 1000; ++i) prober.handle_request(bench.step(), endpoint(101), request(101, PeerId{102}));
    BOOST_TEST(prober.indirect_probes() == 256U);
    prober.stop();
    BOOST_TEST(prober.indirect_probes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
