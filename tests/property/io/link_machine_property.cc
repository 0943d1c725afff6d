// What must hold of a pair of link machines in whatever order things happen: every stream's bytes arrive in order and
// whole, queues and credit stay within their bounds, control is not held up by data, and no bytes from outside do more
// than close the link.
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "unit/io/link/machine_pair.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::link;
using namespace exa::io::test;

namespace {

constexpr std::size_t piece_bytes_max = 100'000;
constexpr std::size_t write_queue_bytes = 300'000;

LinkConfig small_queues() {
    LinkConfig config;
    config.write_queue_bytes = write_queue_bytes;
    config.streams_max = 20;
    return config;
}

std::string text_of(Rng& rng, std::size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>('a' + rng.below(26));
    return text;
}

// One request as its two ends see it.
struct Talk {
    std::shared_ptr<OutboundState> asked;
    std::shared_ptr<InboundState> answering;
    std::string sent;
    std::string received;
    bool end_sent = false;
    bool end_received = false;
    bool cancelled = false;
};

// Two machines, the bytes between them, and writers that keep to has_room().
class Storm {
  public:
    explicit Storm(std::uint64_t seed) : rng_(seed), pair_(small_queues()) { pair_.start_handshake(); }

    void step() {
        switch (rng_.below(12)) {
            case 0:
                return open();
            case 1:
            case 2:
            case 3:
                return push();
            case 4:
                return end();
            case 5:
            case 6:
                return read();
            case 7:
                return rng_.below(4) == 0 ? cancel() : read();
            case 8:
                return sync();
            case 9:
                return wait();
            default:
                return carry();
        }
    }

    void check() const {
        for (const LinkEnd* end : {&pair_.dialler, &pair_.acceptor}) {
            RC_ASSERT(end->protocol_errors.empty());
            RC_ASSERT(end->machine.usable());
        }
        for (const Talk& talk : talks_) {
            RC_ASSERT(talk.sent.starts_with(talk.received));
            if (talk.answering) RC_ASSERT(talk.answering->credit > -static_cast<std::int64_t>(piece_bytes_max + 64));
            RC_ASSERT(talk.asked->credit > -static_cast<std::int64_t>(piece_bytes_max + 64));
            RC_ASSERT(talk.sent.size() - talk.received.size() <=
                          wire::stream_credit_initial + write_queue_bytes + piece_bytes_max ||
                      talk.cancelled);
        }
    }

    // Everything that was sent arrives; nothing is left.
    void finish() {
        for (int round = 0; round < 200; ++round) {
            for (Talk& talk : talks_) {
                if (talk.answering && !talk.end_sent && !talk.answering->is_over()) end_of(talk);
                read_all(talk);
            }
            carry();
            deliver_all();
        }
        check();
        for (const Talk& talk : talks_) {
            RC_ASSERT(talk.cancelled || talk.end_received);
            RC_ASSERT(talk.cancelled || talk.sent == talk.received);
        }
        RC_ASSERT(pair_.dialler.stats.streams_now == 0u);
        RC_ASSERT(pair_.acceptor.stats.streams_now == 0u);
        RC_ASSERT(!pair_.acceptor.machine.has_transmit());
    }

  private:
    void open() {
        if (const auto asked = pair_.open(std::to_string(talks_.size()))) talks_.emplace_back().asked = asked;
    }
    Talk* any() { return talks_.empty() ? nullptr : &talks_[rng_.below(talks_.size())]; }

    void push() {
        Talk* talk = any();
        if (!talk || !talk->answering || talk->end_sent || talk->answering->is_over()) return;
        auto& inbound = pair_.acceptor.machine.inbound();
        if (!inbound.has_room(talk->answering, true)) return;
        const std::string bytes = text_of(rng_, rng_.below(piece_bytes_max));
        RC_ASSERT(inbound.push_data(talk->answering, {0, {1}, bytes}).has_value());
        talk->sent += bytes;
    }
    void end() {
        Talk* talk = any();
        if (talk && talk->answering && !talk->end_sent && !talk->answering->is_over()) end_of(*talk);
    }
    void end_of(Talk& talk) {
        talk.end_sent = true;
        RC_ASSERT(pair_.acceptor.machine.push_end(pair_.now, talk.answering, {}).has_value());
    }
    void read() {
        Talk* talk = any();
        if (talk && !talk->cancelled) take(*talk);
    }
    void read_all(Talk& talk) {
        while (!talk.cancelled && take(talk)) continue;
    }
    bool take(Talk& talk) {
        const auto polled = pair_.dialler.machine.poll(*talk.asked);
        if (!polled || !*polled) return false;
        if (const auto* data = std::get_if<wire::Data>(&polled->value())) talk.received += data->bytes;
        if (std::holds_alternative<wire::End>(polled->value())) {
            RC_ASSERT(talk.received == talk.sent);
            talk.end_received = true;
        }
        return true;
    }
    void cancel() {
        Talk* talk = any();
        if (!talk || talk->end_received) return;
        pair_.dialler.machine.cancel(pair_.now, talk->asked);
        talk->cancelled = true;
    }
    // A sync leaves before every frame of data, however much of it waits.
    void sync() {
        LinkEnd& from = rng_.below(2) == 0 ? pair_.dialler : pair_.acceptor;
        RC_ASSERT(from.machine.send_sync(pair_.now, Bytes{1, 2, 3}).has_value());
        Bytes& wire = &from == &pair_.dialler ? to_acceptor_ : to_dialler_;
        bool data_before = false;
        bool found = false;
        for (const OutgoingFrame& one : from.machine.poll_transmit()) {
            const auto type = static_cast<wire::FrameType>(one.frame[4]);
            if (type == wire::FrameType::sync) found = true;
            if (type == wire::FrameType::data && !found) data_before = true;
            wire.insert(wire.end(), one.frame.begin(), one.frame.end());
            wire.insert(wire.end(), one.rest.begin(), one.rest.end());
        }
        from.machine.handle_written();
        RC_ASSERT(found);
        RC_ASSERT(!data_before);
    }
    void wait() {
        pair_.now += Duration(static_cast<Duration::rep>(rng_.below(1'000'000)));
        pair_.dialler.machine.handle_timeout(pair_.now);
        pair_.acceptor.machine.handle_timeout(pair_.now);
        // An honest network: what is sent arrives before the link is given up.
        carry();
        deliver_all();
    }
    void carry() {
        for (auto [from, wire] : {std::pair{&pair_.dialler, &to_acceptor_}, {&pair_.acceptor, &to_dialler_}}) {
            const Bytes bytes = from->transmit();
            wire->insert(wire->end(), bytes.begin(), bytes.end());
        }
        deliver(to_acceptor_, pair_.acceptor, rng_.below(to_acceptor_.size() + 1));
        deliver(to_dialler_, pair_.dialler, rng_.below(to_dialler_.size() + 1));
        match();
    }
    void deliver(Bytes& wire, LinkEnd& to, std::size_t count) {
        to.receive(pair_.now, ByteView(wire).first(count));
        wire.erase(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(count));
    }
    void deliver_all() {
        deliver(to_acceptor_, pair_.acceptor, to_acceptor_.size());
        deliver(to_dialler_, pair_.dialler, to_dialler_.size());
        match();
    }
    // Gives each talk its acceptor's end.
    void match() {
        for (LinkEvent& event : pair_.acceptor.events) {
            if (const auto* opened = std::get_if<StreamOpened>(&event))
                talks_.at(std::stoul(opened->open->body)).answering = opened->stream;
        }
        pair_.acceptor.events.clear();
        pair_.dialler.events.clear();
        pair_.acceptor.inbound.clear();
    }

    Rng rng_;
    MachinePair pair_;
    std::vector<Talk> talks_;
    Bytes to_acceptor_;
    Bytes to_dialler_;
};

// Frames that are legal somewhere, in an order that is nobody's.
Bytes some_frame(Rng& rng) {
    const auto id = static_cast<std::uint32_t>(1 + rng.below(4));
    switch (rng.below(11)) {
        case 0:
            return wire::encode_open(id, {}).value();
        case 1:
            return wire::encode_head(id, {});
        case 2:
            return wire::encode_data(id, {0, {}, text_of(rng, rng.below(200'000))});
        case 3:
            return wire::encode_data(id, {0, {1, 2}, text_of(rng, rng.below(100))});
        case 4:
            return wire::encode_end(id, {});
        case 5:
            return wire::encode_cancel(id);
        case 6:
            return wire::encode_credit(id, static_cast<std::uint32_t>(rng.below(1U << 31)));
        case 7:
            return wire::encode_frame(wire::FrameType::ping, 0, Bytes(rng.below(9)));
        case 8:
            return wire::encode_frame(wire::FrameType::sync, 0, Bytes(rng.below(1000)));
        case 9:
            return wire::encode_goodbye({});
        default:
            return wire::encode_hello(
                {.cluster = cluster_id("test"), .peer = {}, .generation = {}, .target = {}, .name = {}});
    }
}

struct Swallow final : DataSink {
    std::span<std::uint8_t> room() override { return piece; }
    Result<void> filled(std::size_t) override { return success(); }
    std::array<std::uint8_t, 777> piece{};
};

void feed_anything(LinkEnd& end, Rng& rng, TimePoint now, bool damaged) {
    for (int i = 0; i < 50; ++i) {
        Bytes bytes = some_frame(rng);
        if (damaged && rng.below(3) == 0) bytes[rng.below(bytes.size())] = static_cast<std::uint8_t>(rng.below(256));
        std::size_t at = 0;
        while (at < bytes.size()) {
            const std::size_t count = 1 + rng.below(bytes.size() - at);
            end.receive(now, ByteView(bytes).subspan(at, count));
            at += count;
        }
        // An end that took what it must not says goodbye and nothing else.
        RC_ASSERT(end.protocol_errors.size() <= 1u);
        if (!end.protocol_errors.empty()) RC_ASSERT(!end.machine.usable());
        end.events.clear();
        if (rng.below(2) == 0) end.transmit();
    }
    end.machine.handle_disconnected();
    end.collect();
    RC_ASSERT(end.machine.finished());
    RC_ASSERT(end.stats.streams_now == 0u);
    RC_ASSERT(std::holds_alternative<LinkFinished>(end.events.back()) || end.events.empty());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(link_machine_property)

BOOST_AUTO_TEST_CASE(every_stream_arrives_whole_within_bounded_queues) {
    BOOST_TEST(rc::check("random orders", [] {
        Storm storm(*rc::gen::arbitrary<std::uint64_t>());
        for (int i = 0; i < 300; ++i) {
            storm.step();
            storm.check();
        }
        storm.finish();
    }));
}

BOOST_AUTO_TEST_CASE(no_bytes_from_outside_do_more_than_close_the_link) {
    BOOST_TEST(rc::check("hostile peers", [](std::uint64_t seed, bool to_dialler, bool damaged, bool sinks) {
        Rng rng(seed);
        MachinePair pair(small_queues());
        pair.start_handshake();
        std::vector<std::shared_ptr<OutboundState>> asked;
        if (to_dialler) {
            for (int i = 0; i < 3; ++i) {
                asked.push_back(pair.open());
                if (sinks) asked.back()->sink = std::make_shared<Swallow>();
            }
        }
        pair.dialler.transmit();
        feed_anything(to_dialler ? pair.dialler : pair.acceptor, rng, pair.now, damaged);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
