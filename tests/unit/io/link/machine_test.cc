#include "io/link/machine.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>

#include "io/errc.h"
#include "machine_pair.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::link;
using namespace exa::io::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

template <class T>
bool is(const Result<T>& result, io::errc code) {
    return !result.has_value() && result.error().code == make_error_code(code);
}

template <class Frame>
const Frame* frame_of(const std::optional<Result<StreamFrame>>& polled) {
    return polled && *polled ? std::get_if<Frame>(&polled->value()) : nullptr;
}

Bytes joined(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

wire::FrameType type_of(ByteView frames) {
    return static_cast<wire::FrameType>(frames[4]);
}

struct Connected : MachinePair {
    Connected() { start_handshake(); }
};

// Fixed space of an odd size.
struct SmallSink final : DataSink {
    std::span<std::uint8_t> room() override { return piece; }
    Result<void> filled(std::size_t count) override {
        bytes.append(as_text(std::span(piece).first(count)));
        if (bytes.size() > most) return error(io::errc::malformed);
        return success();
    }
    std::array<std::uint8_t, 1013> piece{};
    std::string bytes;
    std::size_t most = SIZE_MAX;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(link_machine)

BOOST_AUTO_TEST_CASE(hellos_tell_each_end_who_the_other_is) {
    MachinePair pair;
    BOOST_TEST(!pair.dialler.machine.handshake_done());
    pair.start_handshake();
    BOOST_TEST(pair.dialler.machine.handshake_done());
    BOOST_TEST(pair.acceptor.machine.handshake_done());
    BOOST_TEST(pair.dialler.machine.peer() == MachinePair::peer_b);
    BOOST_TEST(pair.acceptor.machine.peer() == MachinePair::peer_a);
    BOOST_TEST(pair.acceptor.machine.generation() == Generation{1});
}

BOOST_AUTO_TEST_CASE(acceptor_says_nothing_before_it_has_judged_the_hello) {
    MachinePair pair;
    pair.acceptor.machine.start_handshake(PeerId{}, std::nullopt);
    BOOST_TEST(!pair.acceptor.machine.has_transmit());
}

BOOST_AUTO_TEST_CASE(dialler_that_means_another_peer_gets_a_goodbye_that_says_so) {
    MachinePair pair;
    pair.dialler.machine.start_handshake(PeerId{0xc}, std::nullopt);
    pair.acceptor.machine.start_handshake(PeerId{}, std::nullopt);
    pair.flush();
    BOOST_TEST_REQUIRE(pair.acceptor.machine.refusal().has_value());
    BOOST_TEST(pair.acceptor.machine.refusal()->code == io::errc::wrong_peer);
    BOOST_TEST_REQUIRE(pair.dialler.failure.has_value());
    BOOST_TEST(pair.dialler.failure->code == io::errc::wrong_peer);
}

BOOST_AUTO_TEST_CASE(hello_must_match_what_the_transport_has_proven) {
    MachinePair pair;
    pair.dialler.machine.start_handshake(MachinePair::peer_b, std::nullopt);
    pair.acceptor.machine.start_handshake(PeerId{}, PskIdentity{KeyId{1}, PeerId{0xc}, MachinePair::peer_b});
    pair.flush();
    BOOST_TEST_REQUIRE(pair.acceptor.machine.refusal().has_value());
    BOOST_TEST(pair.acceptor.machine.refusal()->code == io::errc::wrong_peer);
}

BOOST_AUTO_TEST_CASE(link_without_a_hello_in_time_finishes) {
    MachinePair pair;
    auto& machine = pair.acceptor.machine;
    machine.start_handshake(PeerId{}, std::nullopt);
    BOOST_TEST(machine.next_timeout() == pair.now + LinkConfig{}.hello_timeout);
    machine.handle_timeout(machine.next_timeout() - Duration{1});
    BOOST_TEST(!machine.finished());
    machine.handle_timeout(machine.next_timeout());
    BOOST_TEST(machine.finished());
    BOOST_TEST(machine.hello_timed_out());
    BOOST_TEST(machine.next_timeout() == time_never);
}

BOOST_FIXTURE_TEST_CASE(answer_travels_as_head_data_and_end, Connected) {
    const auto asked = open("question");
    flush();
    BOOST_TEST_REQUIRE(acceptor.inbound.size() == 1U);
    const auto& answering = acceptor.inbound[0];
    auto& inbound = acceptor.machine.inbound();
    BOOST_TEST(inbound.push_head(answering, {200, "text/plain", std::nullopt}).has_value());
    BOOST_TEST(inbound.push_data(answering, {7, {4, 5}, "answer"}).has_value());
    BOOST_TEST(acceptor.machine.push_end(now, answering, {wire::EndCode::ok, "done", std::nullopt}).has_value());
    flush();
    const auto head = dialler.machine.poll(*asked);
    BOOST_TEST_REQUIRE(frame_of<wire::Head>(head) != nullptr);
    const auto data = dialler.machine.poll(*asked);
    BOOST_TEST_REQUIRE(frame_of<wire::Data>(data) != nullptr);
    BOOST_TEST(*frame_of<wire::Data>(data) == (wire::Data{7, {4, 5}, "answer"}));
    const auto end = dialler.machine.poll(*asked);
    BOOST_TEST_REQUIRE(frame_of<wire::End>(end) != nullptr);
    BOOST_TEST(is(*dialler.machine.poll(*asked), io::errc::closed));
    BOOST_TEST(dialler.machine.streams() == 0U);
    BOOST_TEST(acceptor.machine.streams() == 0U);
    BOOST_TEST(dialler.stats.streams_now == 0U);
    BOOST_TEST(acceptor.stats.streams_now == 0U);
}

BOOST_FIXTURE_TEST_CASE(credit_comes_back_only_when_the_reader_reads, Connected) {
    const auto asked = open();
    flush();
    const auto& answering = acceptor.inbound[0];
    auto& inbound = acceptor.machine.inbound();
    std::size_t sent = 0;
    while (inbound.has_room(answering, true)) {
        BOOST_TEST(inbound.push_data(answering, {0, {1}, std::string(10'000, 'x')}).has_value());
        flush();
        ++sent;
    }
    BOOST_TEST(sent * 10'000 >= wire::stream_credit_initial - 20'000);
    BOOST_TEST(sent * 10'000 <= wire::stream_credit_initial + 10'000);
    for (std::size_t read = 0; read < sent; ++read) BOOST_TEST(frame_of<wire::Data>(dialler.machine.poll(*asked)));
    BOOST_TEST(!dialler.machine.poll(*asked).has_value());
    flush();
    BOOST_TEST(inbound.has_room(answering, true));
    BOOST_TEST(acceptor.count<StreamReady>() > 0U);
}

BOOST_FIXTURE_TEST_CASE(control_frames_leave_before_queued_data, Connected) {
    open();
    flush();
    const auto& answering = acceptor.inbound[0];
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(acceptor.machine.inbound().push_data(answering, {0, {1}, std::string(50'000, 'x')}).has_value());
    BOOST_TEST(acceptor.machine.send_sync(now, Bytes{1, 2, 3}).has_value());
    const auto batch = acceptor.machine.poll_transmit();
    BOOST_TEST(type_of(batch.front().frame) == wire::FrameType::sync);
    std::size_t bytes = 0;
    for (const auto& one : batch) bytes += one.size();
    BOOST_TEST(bytes < 600'000U);
    BOOST_TEST(acceptor.machine.has_transmit());
}

BOOST_FIXTURE_TEST_CASE(end_does_not_overtake_the_data_of_its_stream, Connected) {
    const auto asked = open();
    flush();
    const auto& answering = acceptor.inbound[0];
    BOOST_TEST(acceptor.machine.inbound().push_data(answering, {0, {}, std::string(200'000, 'x')}).has_value());
    BOOST_TEST(acceptor.machine.push_end(now, answering, {}).has_value());
    flush();
    std::size_t bytes = 0;
    auto polled = dialler.machine.poll(*asked);
    for (; frame_of<wire::Data>(polled); polled = dialler.machine.poll(*asked))
        bytes += frame_of<wire::Data>(polled)->bytes.size();
    BOOST_TEST(bytes == 200'000U);
    BOOST_TEST(frame_of<wire::End>(polled) != nullptr);
}

BOOST_FIXTURE_TEST_CASE(shared_bytes_are_sent_from_where_they_are, Connected) {
    const auto asked = open();
    flush();
    const auto owner = std::make_shared<const std::string>(100'000, 's');
    BOOST_TEST(acceptor.machine.inbound().push_shared(acceptor.inbound[0], as_bytes(*owner), owner).has_value());
    const auto batch = acceptor.machine.poll_transmit();
    BOOST_TEST_REQUIRE(batch.size() == 1U);
    BOOST_TEST(batch[0].rest.data() == as_bytes(*owner).data());
    BOOST_TEST(owner.use_count() == 2);
    BOOST_TEST(is(acceptor.machine.inbound().push_shared(acceptor.inbound[0], Bytes(2'000'000), nullptr),
                  io::errc::too_large));
}

BOOST_FIXTURE_TEST_CASE(request_cancelled_before_it_left_is_never_sent, Connected) {
    const auto asked = open();
    dialler.machine.cancel(now, asked);
    flush();
    BOOST_TEST(acceptor.inbound.empty());
    BOOST_TEST(is(*dialler.machine.poll(*asked), io::errc::cancelled));
    BOOST_TEST(acceptor.protocol_errors.empty());
}

BOOST_FIXTURE_TEST_CASE(cancel_reaches_the_acceptor_and_drops_what_it_queued, Connected) {
    const auto asked = open();
    flush();
    const auto& answering = acceptor.inbound[0];
    dialler.machine.cancel(now, asked);
    BOOST_TEST(acceptor.machine.inbound().push_data(answering, {0, {1}, std::string(50'000, 'x')}).has_value());
    acceptor.receive(now, dialler.transmit());
    BOOST_TEST(acceptor.count<StreamAborted>() == 1U);
    BOOST_TEST(acceptor.transmit().empty());
    BOOST_TEST(is(acceptor.machine.inbound().push_data(answering, {}), io::errc::cancelled));
    BOOST_TEST(is(acceptor.machine.push_end(now, answering, {}), io::errc::cancelled));
}

BOOST_FIXTURE_TEST_CASE(writer_that_was_told_to_wait_is_woken_once_there_is_room, Connected) {
    open();
    flush();
    const auto& answering = acceptor.inbound[0];
    auto& inbound = acceptor.machine.inbound();
    while (acceptor.machine.has_room())
        BOOST_TEST(inbound.push_data(answering, {0, {1}, std::string(500'000, 'x')}).has_value());
    for (int i = 0; i < 10; ++i) BOOST_TEST(!inbound.has_room(answering, false));
    const auto before = acceptor.count<StreamReady>();
    while (!acceptor.transmit().empty()) continue;
    BOOST_TEST(acceptor.count<StreamReady>() == before + 1);
    BOOST_TEST(inbound.has_room(answering, false));
}

BOOST_FIXTURE_TEST_CASE(sink_gets_the_bytes_however_reads_cut_them, Connected) {
    for (const std::size_t cut : {1UL, 7UL, 1000UL, 100'000UL}) {
        const auto asked = open();
        const auto sink = std::make_shared<SmallSink>();
        asked->sink = sink;
        flush();
        const auto& answering = acceptor.inbound.back();
        const auto bytes = std::make_shared<std::string>();
        while (bytes->size() < 5000) *bytes += std::to_string(bytes->size() * 7919);
        for (int i = 0; i < 3; ++i)
            BOOST_TEST(acceptor.machine.inbound().push_shared(answering, as_bytes(*bytes), bytes).has_value());
        BOOST_TEST(acceptor.machine.push_end(now, answering, {}).has_value());
        const Bytes wire = acceptor.transmit();
        for (std::size_t at = 0; at < wire.size(); at += cut)
            dialler.receive(now, ByteView(wire).subspan(at, std::min(cut, wire.size() - at)));
        BOOST_TEST(sink->bytes == *bytes + *bytes + *bytes, "cut into " << cut);
        BOOST_TEST(frame_of<wire::End>(dialler.machine.poll(*asked)) != nullptr);
        flush();
    }
    BOOST_TEST(dialler.protocol_errors.empty());
}

BOOST_FIXTURE_TEST_CASE(sink_that_refuses_ends_its_stream_only, Connected) {
    const auto asked = open();
    const auto sink = std::make_shared<SmallSink>();
    sink->most = 2000;
    asked->sink = sink;
    flush();
    const std::string bytes(50'000, 'x');
    BOOST_TEST(acceptor.machine.inbound().push_data(acceptor.inbound[0], {0, {}, bytes}).has_value());
    flush();
    BOOST_TEST(is(*dialler.machine.poll(*asked), io::errc::cancelled));
    BOOST_TEST(acceptor.inbound[0]->cancelled);
    BOOST_TEST(dialler.machine.usable());
    open("next");
    flush();
    BOOST_TEST(acceptor.inbound.size() == 2U);
}

BOOST_AUTO_TEST_CASE(streams_past_the_limits_are_answered_busy) {
    LinkConfig config;
    config.streams_max = 2;
    MachinePair pair(config);
    pair.start_handshake();
    const auto first = pair.open();
    const auto second = pair.open();
    BOOST_TEST(is(pair.dialler.machine.open({}), io::errc::too_many));
    pair.flush();
    BOOST_TEST(pair.acceptor.inbound.size() == 2U);
    // A dialler with a greater limit.
    pair.acceptor.receive(pair.now, wire::encode_open(3, {}).value());
    const Bytes answer = pair.acceptor.transmit();
    BOOST_TEST(type_of(answer) == wire::FrameType::end);
    BOOST_TEST(pair.acceptor.inbound.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(flood_of_pings_costs_one_pong, Connected) {
    const Bytes ping = wire::encode_frame(wire::FrameType::ping, 0, Bytes{1, 2, 3});
    for (int i = 0; i < 1000; ++i) acceptor.receive(now, ping);
    BOOST_TEST(acceptor.transmit() == wire::encode_frame(wire::FrameType::pong, 0, Bytes{1, 2, 3}));
    BOOST_TEST(!acceptor.machine.has_transmit());
}

BOOST_FIXTURE_TEST_CASE(sync_past_its_bound_is_refused_and_changes_nothing, Connected) {
    BOOST_TEST(is(dialler.machine.send_sync(now, Bytes(17'000'000)), io::errc::too_large));
    BOOST_TEST(dialler.machine.send_sync(now, Bytes(16'000'000)).has_value());
    BOOST_TEST(dialler.machine.send_sync(now, Bytes(16'000'000)).has_value());
    BOOST_TEST(is(dialler.machine.send_sync(now, Bytes(16'000'000)), io::errc::too_many));
    flush();
    BOOST_TEST(acceptor.syncs.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(every_illegal_frame_of_a_dialler_closes_the_link, Connected) {
    const Bytes open_1 = wire::encode_open(1, {}).value();
    const std::vector<Bytes> illegal = {
        wire::encode_hello({.cluster = cluster_id("test"), .peer = peer_a, .generation = {}, .target = {}, .name = {}}),
        joined({open_1, open_1}),
        wire::encode_frame(wire::FrameType::open, 9, Bytes(64, 0xff)),
        wire::encode_cancel(5),
        wire::encode_credit(5, 1),
        wire::encode_head(1, {}),
        wire::encode_data(1, {0, {}, "x"}),
        wire::encode_end(1, {}),
        joined({open_1, wire::encode_credit(1, 0xffffffff)}),
        joined({open_1, wire::encode_frame(wire::FrameType::credit, 1, Bytes{1})}),
        wire::encode_frame(wire::FrameType::goodbye, 0, Bytes(8, 0xff)),
        Bytes{0xff, 0xff, 0xff, 0x7f, 2, 0, 0, 0, 1, 0, 0, 0},
        Bytes{0, 0, 0, 0, 0x63, 0, 0, 0, 0, 0, 0, 0},
        Bytes{0, 0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0},
    };
    for (std::size_t i = 0; i < illegal.size(); ++i) {
        Connected pair;
        pair.acceptor.receive(pair.now, illegal[i]);
        BOOST_TEST(pair.acceptor.protocol_errors.size() == 1U, "frame " << i);
        BOOST_TEST(!pair.acceptor.machine.usable(), "frame " << i);
        BOOST_TEST(type_of(pair.acceptor.transmit()) == wire::FrameType::goodbye, "frame " << i);
        // What follows is read over.
        pair.acceptor.receive(pair.now, joined({open_1, illegal[i]}));
        BOOST_TEST(pair.acceptor.protocol_errors.size() == 1U, "frame " << i);
        pair.acceptor.machine.handle_disconnected();
        pair.acceptor.collect();
        BOOST_TEST(pair.acceptor.machine.finished(), "frame " << i);
        BOOST_TEST(pair.acceptor.stats.streams_now == 0U, "frame " << i);
    }
}

BOOST_FIXTURE_TEST_CASE(every_illegal_frame_of_an_acceptor_closes_the_link, Connected) {
    const Bytes head = wire::encode_head(1, {});
    const Bytes data = wire::encode_data(1, {0, {}, std::string(200'000, 'x')});
    const std::vector<Bytes> illegal = {
        wire::encode_head(2, {}),
        joined({head, head}),
        joined({wire::encode_data(1, {0, {}, "x"}), head}),
        joined({data, data, data}),  // past its credit
        wire::encode_frame(wire::FrameType::data, 1, Bytes{0, 0, 0, 0, 9, 0}),
        wire::encode_frame(wire::FrameType::head, 1, Bytes(16, 0xff)),
        wire::encode_frame(wire::FrameType::end, 1, Bytes(16, 0xff)),
        wire::encode_open(2, {}).value(),
        wire::encode_cancel(1),
        wire::encode_credit(1, 1),
    };
    for (std::size_t i = 0; i < illegal.size(); ++i) {
        Connected pair;
        const auto asked = pair.open();
        pair.flush();
        pair.dialler.receive(pair.now, illegal[i]);
        BOOST_TEST(pair.dialler.protocol_errors.size() == 1U, "frame " << i);
        BOOST_TEST(type_of(pair.dialler.transmit()) == wire::FrameType::goodbye, "frame " << i);
    }
    const auto sink = std::make_shared<SmallSink>();
    for (const Bytes& for_sink :
         {wire::encode_data(1, {0, {1}, "x"}), wire::encode_data(1, {0, {1, 2}, std::string(500'000, 'x')}),
          wire::encode_frame(wire::FrameType::data, 1, Bytes{0, 0, 0})}) {
        Connected pair;
        const auto asked = pair.open();
        asked->sink = sink;
        pair.flush();
        pair.dialler.receive(pair.now, for_sink);
        BOOST_TEST(pair.dialler.protocol_errors.size() == 1U);
    }
}

BOOST_FIXTURE_TEST_CASE(goodbye_follows_everything_that_is_queued, Connected) {
    const auto asked = open();
    flush();
    BOOST_TEST(
        acceptor.machine.inbound().push_data(acceptor.inbound[0], {0, {}, std::string(200'000, 'x')}).has_value());
    acceptor.machine.close(now, wire::GoodbyeCode::closing, "the peer shuts down");
    BOOST_TEST(!acceptor.machine.usable());
    std::size_t bytes = 0;
    while (!acceptor.machine.goodbye_sent()) {
        const Bytes sent = acceptor.transmit();
        bytes += sent.size();
        dialler.receive(now, sent);
    }
    BOOST_TEST(bytes > 200'000U);
    BOOST_TEST(acceptor.transmit().empty());
    BOOST_TEST(dialler.machine.finished());
    BOOST_TEST(dialler.count<GoodbyeReceived>() == 1U);
    BOOST_TEST(!std::get<LinkFinished>(dialler.events.back()).broken);
    BOOST_TEST(asked->broken);
    BOOST_TEST(acceptor.machine.next_timeout() == now + seconds(1));
    acceptor.machine.handle_timeout(now + seconds(1));
    BOOST_TEST(acceptor.machine.finished());
}

BOOST_FIXTURE_TEST_CASE(broken_connection_tells_every_stream_and_then_the_owner, Connected) {
    const auto asked = open();
    open();
    flush();
    acceptor.machine.handle_disconnected();
    acceptor.collect();
    BOOST_TEST(acceptor.count<StreamAborted>() == 2U);
    BOOST_TEST(std::get<LinkFinished>(acceptor.events.back()).broken);
    BOOST_TEST(is(acceptor.machine.inbound().push_data(acceptor.inbound[0], {}), io::errc::broken));
    dialler.machine.handle_disconnected();
    BOOST_TEST(is(*dialler.machine.poll(*asked), io::errc::broken));
    BOOST_TEST(is(dialler.machine.open({}), io::errc::closed));
    BOOST_TEST(dialler.machine.streams() == 0U);
}

BOOST_FIXTURE_TEST_CASE(retired_link_closes_after_its_last_stream, Connected) {
    const auto asked = open();
    flush();
    dialler.machine.close_when_idle(now);
    BOOST_TEST(dialler.machine.usable());
    BOOST_TEST(acceptor.machine.push_end(now, acceptor.inbound[0], {}).has_value());
    flush();
    BOOST_TEST(!dialler.machine.usable());
    BOOST_TEST(acceptor.machine.finished());
}

BOOST_FIXTURE_TEST_CASE(silent_peer_is_given_up_after_two_pings, Connected) {
    open();
    flush();
    std::size_t pings = 0;
    while (!dialler.machine.finished()) {
        now = dialler.machine.next_timeout();
        dialler.machine.handle_timeout(now);
        if (!dialler.transmit().empty()) ++pings;
    }
    BOOST_TEST(pings == 2U);
    BOOST_TEST(dialler.count<PeerSilent>() == 1U);
    BOOST_TEST(std::get<LinkFinished>(dialler.events.back()).broken);
}

BOOST_FIXTURE_TEST_CASE(peer_that_answers_pings_may_think_for_an_hour, Connected) {
    open();
    flush();
    for (const TimePoint end = now + std::chrono::hours(1); now < end;) {
        now = std::min(dialler.machine.next_timeout(), acceptor.machine.next_timeout());
        dialler.machine.handle_timeout(now);
        acceptor.machine.handle_timeout(now);
        flush();
    }
    BOOST_TEST(dialler.machine.usable());
    BOOST_TEST(acceptor.machine.usable());
}

BOOST_FIXTURE_TEST_CASE(idle_link_is_closed_by_the_dialler, Connected) {
    const TimePoint began = now;
    while (!dialler.machine.finished()) {
        now = std::min(dialler.machine.next_timeout(), acceptor.machine.next_timeout());
        acceptor.machine.handle_timeout(now);
        BOOST_TEST_REQUIRE((acceptor.machine.usable() || !dialler.machine.usable()));
        dialler.machine.handle_timeout(now);
        flush();
    }
    BOOST_TEST(now - began >= LinkConfig{}.idle_timeout);
    BOOST_TEST(now - began < LinkConfig{}.idle_timeout + seconds(10));
    BOOST_TEST(!std::get<LinkFinished>(acceptor.events.back()).broken);
}

BOOST_AUTO_TEST_SUITE_END()
