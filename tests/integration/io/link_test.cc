#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <optional>
#include <span>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "io/errc.h"
#include "io/link/pool.h"
#include "io/link/server.h"
#include "link_support.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::link;
using namespace exa::io::test;
using exa::Bytes;
using exa::Endpoint;
using exa::PeerId;
using exa::Result;
namespace wire = exa::wire;

namespace {

constexpr PeerId peer_a{0xa};
constexpr PeerId peer_b{0xb};

LinkIdentity identity(PeerId peer, const char* cluster = "test") {
    return {exa::cluster_id(cluster), peer, exa::Generation{1}, "peer-" + to_string(peer)};
}

wire::Open request(std::string body) {
    wire::Open open;
    open.replica = {peer_b, exa::deployment_id("chat"), 1};
    open.model = "m";
    open.x_request_id = "r-1";
    open.choices = {{1, 2, 3}};
    open.resumed = true;
    open.body = std::move(body);
    return open;
}

template <class T>
std::string why(const Result<T>& result) {
    return result.has_value() ? "no error" : result.error().message();
}

const exa::io::crypto::OpenSslCrypto openssl;
// A link is the same whatever carries it.
const auto plain_and_sealed = boost::unit_test::data::make({false, true});

// Peer a dials, peer b accepts; each test says how b answers.
struct Fixture {
    using Answer = std::function<Awaitable<void>(std::shared_ptr<InboundStream>, wire::Open)>;

    asio::io_context io{1};
    exa::NullLog log;
    LinkConfig config;
    LinkEncryption encryption;
    std::optional<LinkServer> server;
    std::optional<LinkPool> pool;

    void seal(bool yes) {
        const exa::LinkKeys keys{exa::KeyId{1}, {{exa::KeyId{1}, {1}}}};
        if (yes) encryption = {&openssl, std::make_shared<const exa::LinkKeys>(keys)};
    }

    void start(Answer answer) {
        server.emplace(io, config, identity(peer_b), log, encryption);
        server->on_open([this, answer = std::move(answer)](std::shared_ptr<InboundStream> stream, wire::Open open) {
            asio::co_spawn(io, answer(std::move(stream), std::move(open)), asio::detached);
        });
        BOOST_TEST_REQUIRE(server->bind(any_port).has_value());
        pool.emplace(io, config, identity(peer_a), log, encryption);
    }
    Awaitable<std::shared_ptr<OutboundStream>> open(std::string body = {}) {
        auto stream = co_await pool->open(server->endpoint(), peer_b, request(std::move(body)));
        BOOST_REQUIRE_MESSAGE(stream.has_value(), why(stream));
        co_return stream.value();
    }
};

// The bytes of all data up to the end.
Awaitable<std::string> read_all(std::shared_ptr<OutboundStream> stream) {
    std::string bytes;
    while (true) {
        auto frame = co_await next_frame(stream);
        BOOST_REQUIRE_MESSAGE(frame.has_value(), why(frame));
        if (const auto* data = std::get_if<wire::Data>(&frame.value())) bytes += data->bytes;
        if (std::holds_alternative<wire::End>(frame.value())) co_return bytes;
    }
}

Awaitable<void> echo(std::shared_ptr<InboundStream> stream, wire::Open open) {
    BOOST_TEST(stream->push_head({200, "text/plain", std::nullopt}).has_value());
    BOOST_TEST((co_await send_data(stream, {7, {4, 5}, open.body})).has_value());
    BOOST_TEST(stream->push_end({wire::EndCode::ok, "done", std::nullopt}).has_value());
}

template <class T>
bool is(const Result<T>& result, errc code) {
    return !result.has_value() && result.error().code == make_error_code(code);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(peer_link, Fixture)

BOOST_DATA_TEST_CASE(answer_travels_as_head_data_and_end, plain_and_sealed, sealed) {
    seal(sealed);
    start([](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        BOOST_TEST(open == request("question"));
        BOOST_TEST(stream->peer() == peer_a);
        co_await echo(stream, std::move(open));
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open("question");
        BOOST_TEST(stream->peer() == peer_b);
        auto head = co_await next_frame(stream);
        BOOST_TEST(std::get<wire::Head>(head.value()) == (wire::Head{200, "text/plain", std::nullopt}));
        auto data = co_await next_frame(stream);
        BOOST_TEST(std::get<wire::Data>(data.value()) == (wire::Data{7, {4, 5}, "question"}));
        auto end = co_await next_frame(stream);
        BOOST_TEST(std::get<wire::End>(end.value()) == (wire::End{wire::EndCode::ok, "done", std::nullopt}));
        BOOST_TEST(is(co_await next_frame(stream), errc::closed));
    });
}

BOOST_DATA_TEST_CASE(many_streams_share_one_connection, plain_and_sealed, sealed) {
    seal(sealed);
    start(echo);
    drive(io, [&]() -> Awaitable<void> {
        int running = 0;
        for (int i = 0; i < 200; ++i) {
            ++running;
            asio::co_spawn(
                io,
                [&, i]() -> Awaitable<void> {
                    auto stream = co_await open(std::to_string(i));
                    BOOST_TEST(co_await read_all(stream) == std::to_string(i));
                    --running;
                },
                asio::detached);
        }
        co_await eventually([&] { return running == 0; }, "all are answered");
        BOOST_TEST(server->stats().links_opened == 1);
        BOOST_TEST(server->stats().streams_opened == 200);
        BOOST_TEST(server->stats().streams_now == 0);
        BOOST_TEST(pool->stats().streams_now == 0);
        // 600 frames of answers, most of them ready together.
        BOOST_TEST(server->stats().writes < 100);
    });
}

BOOST_DATA_TEST_CASE(large_bodies_pass_both_ways_byte_for_byte, plain_and_sealed, sealed) {
    seal(sealed);
    std::string body;
    for (int i = 0; body.size() < 5'000'000; ++i) body += std::to_string(i) + ",";
    start([](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        BOOST_TEST((co_await send_data(stream, {0, {}, open.body})).has_value());
        BOOST_TEST(stream->push_end({}).has_value());
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open(body);
        BOOST_TEST(co_await read_all(stream) == body);
    });
}

BOOST_DATA_TEST_CASE(reader_that_stops_holds_up_only_its_own_stream, plain_and_sealed, sealed) {
    seal(sealed);
    std::size_t written = 0;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        if (open.body != "much") co_return co_await echo(stream, std::move(open));
        while (co_await send_data(stream, {0, {1}, std::string(10'000, 'x')})) written += 10'000;
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stuck = co_await open("much");
        for (int i = 0; i < 20; ++i) BOOST_TEST(co_await read_all(co_await open("other")) == "other");
        BOOST_TEST(written >= wire::stream_credit_initial - 20'000);
        BOOST_TEST(written <= wire::stream_credit_initial + 10'000);
        // Reading sets it going again.
        const std::size_t before = written;
        for (int i = 0; i < 20; ++i) BOOST_TEST((co_await next_frame(stuck)).has_value());
        co_await eventually([&] { return written > before; }, "credit came back");
    });
}

BOOST_DATA_TEST_CASE(cancel_reaches_a_writer_that_waits_for_credit, plain_and_sealed, sealed) {
    seal(sealed);
    bool told = false;
    std::optional<exa::Error> failure;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open) -> Awaitable<void> {
        stream->on_cancel([&] { told = true; });
        while (true) {
            auto written = co_await send_data(stream, {0, {1}, std::string(100'000, 'x')});
            if (written) continue;
            failure = written.error();
            stream->on_cancel(nullptr);
            co_return;
        }
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open();
        BOOST_TEST((co_await next_frame(stream)).has_value());
        stream->cancel();
        co_await eventually([&] { return failure.has_value(); }, "the writer is told");
        BOOST_TEST(failure->code == make_error_code(errc::cancelled));
        BOOST_TEST(told);
        BOOST_TEST(is(co_await next_frame(stream), errc::cancelled));
        BOOST_TEST(server->stats().streams_now == 0);
        BOOST_TEST(pool->stats().streams_now == 0);
        // What was on its way is ignored: the link lives.
        BOOST_TEST(pool->stats().links_now == 1);
        BOOST_TEST(server->stats().malformed == 0);
    });
}

BOOST_DATA_TEST_CASE(dropping_a_stream_cancels_at_one_end_and_fails_at_the_other, plain_and_sealed, sealed) {
    seal(sealed);
    bool told = false;
    std::shared_ptr<InboundStream> kept;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        if (open.body == "drop") co_return;
        stream->on_cancel([&] { told = true; });
        kept = stream;
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open("drop");
        auto end = co_await next_frame(stream);
        BOOST_TEST(std::get<wire::End>(end.value()).code == wire::EndCode::failed);
        stream = co_await open("keep");
        co_await eventually([&] { return kept != nullptr; }, "the stream is open");
        stream.reset();
        co_await eventually([&] { return told; }, "the acceptor is told");
        BOOST_TEST(kept->cancelled());
        BOOST_TEST(is(kept->push_end({}), errc::cancelled));
    });
}

BOOST_DATA_TEST_CASE(request_cancelled_in_the_same_iteration_is_never_run, plain_and_sealed, sealed) {
    seal(sealed);
    int opened = 0;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        ++opened;
        co_await echo(stream, std::move(open));
    });
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(co_await read_all(co_await open("first")) == "first");
        auto stream = co_await open("second");
        stream->cancel();
        BOOST_TEST(co_await read_all(co_await open("third")) == "third");
        BOOST_TEST(opened == 2);
    });
}

BOOST_DATA_TEST_CASE(read_with_a_timeout_leaves_the_stream_usable, plain_and_sealed, sealed) {
    seal(sealed);
    std::shared_ptr<InboundStream> kept;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open) -> Awaitable<void> {
        kept = stream;
        co_return;
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open();
        BOOST_TEST(!stream->poll().has_value());
        BOOST_TEST(is(co_await next_frame(stream, milliseconds(20)), errc::timed_out));
        BOOST_TEST(kept->push_end({wire::EndCode::busy, "later", std::nullopt}).has_value());
        auto end = co_await next_frame(stream, seconds(5));
        BOOST_TEST(std::get<wire::End>(end.value()).code == wire::EndCode::busy);
    });
}

BOOST_AUTO_TEST_CASE(foreign_cluster_and_mistaken_peer_are_refused_by_name) {
    start(echo);
    LinkPool foreign(io, config, identity(peer_a, "another"), log);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await foreign.open(server->endpoint(), peer_b, request("")), errc::wrong_cluster));
        BOOST_TEST(is(co_await pool->open(server->endpoint(), PeerId{0xc}, request("")), errc::wrong_peer));
        BOOST_TEST(server->stats().links_refused == 2);
        BOOST_TEST(server->stats().links_opened == 0);
        // Whoever listens will do when nobody is named.
        BOOST_TEST((co_await pool->open(server->endpoint(), PeerId{}, request(""))).has_value());
        BOOST_TEST(is(co_await pool->open(server->endpoint(), PeerId{0xc}, request("")), errc::wrong_peer));
    });
}

BOOST_DATA_TEST_CASE(nobody_listening_and_nobody_answering_are_told_apart, plain_and_sealed, sealed) {
    seal(sealed);
    config.connect_timeout = milliseconds(200);
    config.hello_timeout = milliseconds(50);
    pool.emplace(io, config, identity(peer_a), log, encryption);
    tcp::acceptor mute(io, to_asio_tcp(any_port));
    const Endpoint silent = from_asio(mute.local_endpoint());
    tcp::acceptor brief(io, to_asio_tcp(any_port));
    const Endpoint nobody = from_asio(brief.local_endpoint());
    brief.close();
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await pool->open(nobody, peer_b, request("")), errc::connect_failed));
        BOOST_TEST(is(co_await pool->open(silent, peer_b, request("")), errc::timed_out));
        BOOST_TEST(pool->stats().dials_failed == 2);
        BOOST_TEST(pool->stats().links_now == 0);
    });
}

BOOST_DATA_TEST_CASE(concurrent_openers_share_one_dial, plain_and_sealed, sealed) {
    seal(sealed);
    start(echo);
    drive(io, [&]() -> Awaitable<void> {
        int failed = 0;
        for (int i = 0; i < 10; ++i)
            asio::co_spawn(
                io,
                [&]() -> Awaitable<void> {
                    if (is(co_await pool->open(server->endpoint(), PeerId{0xc}, request("")), errc::wrong_peer))
                        ++failed;
                },
                asio::detached);
        co_await eventually([&] { return failed == 10; }, "every opener gets the error");
        BOOST_TEST(pool->stats().dials_failed == 1);
    });
}

BOOST_DATA_TEST_CASE(syncs_travel_both_ways_over_the_dialled_link, plain_and_sealed, sealed) {
    seal(sealed);
    start(echo);
    Bytes at_server;
    Bytes at_pool;
    server->on_sync([&](PeerId from, Endpoint, Bytes message) {
        BOOST_TEST(from == peer_a);
        at_server = std::move(message);
        BOOST_TEST(server->send_sync(from, Bytes(300'000, 9)));
    });
    pool->on_sync([&](PeerId from, Bytes message) {
        BOOST_TEST(from == peer_b);
        at_pool = std::move(message);
    });
    BOOST_TEST(!server->send_sync(peer_a, {1}));
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST((co_await pool->send_sync(server->endpoint(), peer_b, Bytes{1, 2, 3})).has_value());
        co_await eventually([&] { return !at_pool.empty(); }, "the answer comes");
        BOOST_TEST(at_server == (Bytes{1, 2, 3}));
        BOOST_TEST(at_pool == Bytes(300'000, 9));
        BOOST_TEST(is(co_await pool->send_sync(server->endpoint(), peer_b, Bytes(17'000'000, 1)), errc::too_large));
    });
}

BOOST_DATA_TEST_CASE(idle_link_is_closed_quietly_and_dialled_again, plain_and_sealed, sealed) {
    seal(sealed);
    config.idle_timeout = milliseconds(30);
    start(echo);
    int broken = 0;
    pool->on_broken([&](PeerId, exa::Generation) { ++broken; });
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(co_await read_all(co_await open("1")) == "1");
        co_await eventually([&] { return server->stats().links_now == 0; }, "the link closes");
        co_await eventually([&] { return pool->stats().links_now == 0; }, "at both ends");
        BOOST_TEST(broken == 0);
        BOOST_TEST(co_await read_all(co_await open("2")) == "2");
        BOOST_TEST(pool->stats().links_opened == 2);
    });
}

BOOST_DATA_TEST_CASE(closing_server_sends_what_it_had_and_tells_open_streams, plain_and_sealed, sealed) {
    seal(sealed);
    bool told = false;
    std::shared_ptr<InboundStream> kept;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        if (open.body == "keep") {
            stream->on_cancel([&] { told = true; });
            kept = stream;
            co_return;
        }
        BOOST_TEST((co_await send_data(stream, {0, {}, std::string(200'000, 'z')})).has_value());
        BOOST_TEST(stream->push_end({}).has_value());
        server->close();
    });
    int broken = 0;
    pool->on_broken([&](PeerId, exa::Generation) { ++broken; });
    drive(io, [&]() -> Awaitable<void> {
        auto keep = co_await open("keep");
        auto last = co_await open("last");
        BOOST_TEST((co_await read_all(last)).size() == 200'000);
        BOOST_TEST(is(co_await next_frame(keep), errc::broken));
        co_await eventually([&] { return told; }, "the acceptor's stream is cancelled");
        BOOST_TEST(broken == 0);
        BOOST_TEST(is(co_await pool->open(server->endpoint(), peer_b, request("")), errc::connect_failed));
    });
}

BOOST_DATA_TEST_CASE(stream_limits_are_answered_busy, plain_and_sealed, sealed) {
    seal(sealed);
    config.streams_max = 2;
    std::vector<std::shared_ptr<InboundStream>> kept;
    start([&](std::shared_ptr<InboundStream> stream, wire::Open) -> Awaitable<void> {
        kept.push_back(stream);
        co_return;
    });
    LinkConfig generous;
    LinkPool eager(io, generous, identity(peer_a), log, encryption);
    drive(io, [&]() -> Awaitable<void> {
        auto first = co_await open();
        auto second = co_await open();
        BOOST_TEST(is(co_await pool->open(server->endpoint(), peer_b, request("")), errc::too_many));
        std::vector<std::shared_ptr<OutboundStream>> mine;
        for (int i = 0; i < 3; ++i) {
            auto stream = co_await eager.open(server->endpoint(), peer_b, request(""));
            mine.push_back(stream.value());
        }
        auto end = co_await next_frame(mine[2]);
        BOOST_TEST(std::get<wire::End>(end.value()).code == wire::EndCode::busy);
        BOOST_TEST(kept.size() == 4);
    });
}

BOOST_AUTO_TEST_CASE(taken_port_is_named) {
    start(echo);
    LinkServer other(io, config, identity(peer_a), log, encryption);
    const auto taken = other.bind(server->endpoint());
    BOOST_TEST(is(taken, errc::port_taken));
    BOOST_TEST(taken.error().message().find(to_string(server->endpoint())) != std::string::npos);
}

BOOST_DATA_TEST_CASE(cancelled_reader_gives_up_without_harm, plain_and_sealed, sealed) {
    seal(sealed);
    start([](std::shared_ptr<InboundStream> stream, wire::Open open) -> Awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(50));
        co_await timer.async_wait(as_result);
        co_await echo(stream, std::move(open));
    });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open("late");
        asio::cancellation_signal give_up;
        bool over = false;
        asio::co_spawn(
            io, [&]() -> Awaitable<void> { BOOST_TEST(is(co_await next_frame(stream), errc::cancelled)); },
            asio::bind_cancellation_slot(give_up.slot(), [&](std::exception_ptr) { over = true; }));
        asio::steady_timer timer(io, milliseconds(10));
        co_await timer.async_wait(as_result);
        give_up.emit(asio::cancellation_type::terminal);
        co_await eventually([&] { return over; }, "the reader ends");
        BOOST_TEST(co_await read_all(stream) == "late");
    });
}

namespace {

// Takes data in pieces of an odd size, up to `most` bytes.
struct OddSink final : DataSink {
    std::span<std::uint8_t> room() override { return piece; }
    Result<void> filled(std::size_t count) override {
        bytes.append(exa::as_text(std::span(piece).first(count)));
        if (on_filled) on_filled();
        if (bytes.size() > most) return exa::error(errc::malformed, "more than was wanted");
        return exa::success();
    }

    std::array<std::uint8_t, 30'011> piece{};
    std::string bytes;
    std::size_t most = SIZE_MAX;
    std::function<void()> on_filled;
};

std::shared_ptr<const std::string> some_megabytes() {
    auto bytes = std::make_shared<std::string>();
    for (std::uint32_t i = 0; bytes->size() < 5'000'000; ++i) *bytes += std::to_string(i * 7919);
    return bytes;
}

// In frames of several sizes, as soon as there is room.
Awaitable<void> send_shared(asio::io_context& io, std::shared_ptr<InboundStream> stream,
                            std::shared_ptr<const std::string> bytes) {
    std::size_t frame = 1;
    for (std::size_t at = 0; at < bytes->size(); at += frame, frame = frame * 5 % 900'001) {
        asio::steady_timer timer(io);
        while (!stream->has_room(true) && !stream->cancelled()) {
            timer.expires_after(milliseconds{1});
            co_await timer.async_wait(as_result);
        }
        const auto piece = exa::as_bytes(*bytes).subspan(at, std::min(frame, bytes->size() - at));
        if (!stream->push_shared(piece, bytes)) co_return;
    }
    BOOST_TEST(stream->push_end({}).has_value());
}

}  // namespace

BOOST_DATA_TEST_CASE(shared_bytes_reach_a_sink_and_a_reader_in_order, plain_and_sealed, sealed) {
    seal(sealed);
    const auto bytes = some_megabytes();
    start([&](std::shared_ptr<InboundStream> stream, const wire::Open&) { return send_shared(io, stream, bytes); });
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await open();
        const auto sink = std::make_shared<OddSink>();
        stream->read_into(sink);
        const auto end = co_await next_frame(stream);
        BOOST_TEST_REQUIRE(end.has_value());
        BOOST_TEST(std::get<wire::End>(end.value()).code == wire::EndCode::ok);
        BOOST_TEST(sink->bytes == *bytes);
        BOOST_TEST(co_await read_all(co_await open()) == *bytes);
    });
}

BOOST_DATA_TEST_CASE(sinks_and_a_reader_share_a_link_frame_by_frame, plain_and_sealed, sealed) {
    seal(sealed);
    const auto bytes = some_megabytes();
    start([&](std::shared_ptr<InboundStream> stream, const wire::Open&) { return send_shared(io, stream, bytes); });
    drive(io, [&]() -> Awaitable<void> {
        std::vector<std::shared_ptr<OutboundStream>> streams;
        std::vector<std::shared_ptr<OddSink>> sinks;
        for (int i = 0; i < 3; ++i) {
            streams.push_back(co_await open());
            sinks.push_back(std::make_shared<OddSink>());
            streams.back()->read_into(sinks.back());
        }
        BOOST_TEST(co_await read_all(co_await open()) == *bytes);
        for (const auto& stream : streams) BOOST_TEST((co_await next_frame(stream)).has_value());
        for (const auto& sink : sinks) BOOST_TEST(sink->bytes == *bytes);
        BOOST_TEST(pool->stats().links_opened == 1U);
    });
}

BOOST_DATA_TEST_CASE(sink_that_has_enough_ends_only_its_stream, plain_and_sealed, sealed) {
    seal(sealed);
    const auto bytes = some_megabytes();
    start([&](std::shared_ptr<InboundStream> stream, const wire::Open&) { return send_shared(io, stream, bytes); });
    drive(io, [&]() -> Awaitable<void> {
        auto full = co_await open();
        const auto sink = std::make_shared<OddSink>();
        sink->most = 1'000'000;
        full->read_into(sink);
        BOOST_TEST(is(co_await next_frame(full), errc::cancelled));
        BOOST_TEST(sink->bytes.size() < 1'100'000U);
        BOOST_TEST(bytes->starts_with(sink->bytes));

        auto left = co_await open();
        auto other = std::make_shared<OddSink>();
        other->on_filled = [&, weak = std::weak_ptr(other)] {
            if (weak.lock()->bytes.size() > 500'000) left->cancel();
        };
        left->read_into(std::move(other));
        BOOST_TEST(is(co_await next_frame(left), errc::cancelled));
        BOOST_TEST(co_await read_all(co_await open()) == *bytes);
        BOOST_TEST(pool->stats().links_opened == 1U);
    });
}

BOOST_AUTO_TEST_SUITE_END()
