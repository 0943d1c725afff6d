// What a peer may meet at the other end of a link that is broken, old or hostile.
#include <array>
#include <boost/asio/detached.hpp>
#include <optional>
#include <span>
#include <vector>

#include "io/errc.h"
#include "io/link/pool.h"
#include "io/link/server.h"
#include "link_support.h"
#include "support.h"
#include "support/print.h"
#include "wire/frame.h"

using namespace exa::io;
using namespace exa::io::link;
using namespace exa::io::test;
using exa::Bytes;
using exa::PeerId;
namespace wire = exa::wire;

namespace {

constexpr PeerId peer_a{0xa};
constexpr PeerId peer_b{0xb};

LinkIdentity identity(PeerId peer) {
    return {exa::cluster_id("test"), peer, exa::Generation{1}, "peer"};
}

std::string text(const Bytes& bytes) {
    return std::string(exa::as_text(bytes));
}

std::string hello_of(PeerId peer) {
    wire::Hello hello;
    hello.cluster = exa::cluster_id("test");
    hello.peer = peer;
    hello.generation = exa::Generation{7};
    return text(wire::encode_hello(hello));
}

// Frames that arrived, cut apart.
std::vector<wire::FrameType> types_of(const std::string& bytes) {
    std::vector<wire::FrameType> types;
    for (std::size_t at = 0; at + wire::frame_header_size <= bytes.size();) {
        std::array<std::uint8_t, wire::frame_header_size> header;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), header.size(), header.begin());
        const auto decoded = wire::decode_frame_header(header);
        if (!decoded) break;
        types.push_back(decoded.value().type);
        at += wire::frame_header_size + decoded.value().length;
    }
    return types;
}

struct Fixture {
    asio::io_context io{1};
    exa::NullLog log;
    LinkConfig config;
    std::optional<LinkServer> server;
    std::optional<LinkPool> pool;
    int opened = 0;
    std::vector<std::shared_ptr<InboundStream>> kept;

    void start_server() {
        server.emplace(io, config, identity(peer_b), log);
        server->on_open([this](std::shared_ptr<InboundStream> stream, const wire::Open&) {
            ++opened;
            kept.push_back(std::move(stream));
        });
        BOOST_TEST_REQUIRE(server->bind(any_port).has_value());
    }

    // An acceptor whose side of the link the test plays by hand.
    struct FakePeer {
        explicit FakePeer(asio::io_context& io)
            : acceptor(io, to_asio_tcp(any_port)), raw(io), at(from_asio(acceptor.local_endpoint())) {}
        tcp::acceptor acceptor;
        RawClient raw;
        exa::Endpoint at;

        Awaitable<void> accept_and_say(std::string bytes) {
            auto [code, socket] = co_await acceptor.async_accept(as_result);
            BOOST_REQUIRE(!code);
            raw.socket() = std::move(socket);
            co_await raw.send(std::move(bytes));
        }
    };

    // An acceptor answers a request so: its link ends for it.
    void expect_cut_off(const std::string& frames, std::shared_ptr<DataSink> sink = nullptr) {
        FakePeer fake(io);
        const auto before = pool->stats().malformed;
        drive(io, [&]() -> Awaitable<void> {
            asio::co_spawn(io, fake.accept_and_say(hello_of(peer_b)), asio::detached);
            auto stream = co_await pool->open(fake.at, peer_b, {});
            BOOST_TEST_REQUIRE(stream.has_value());
            if (sink) stream.value()->read_into(sink);
            co_await fake.raw.send_what_goes(frames);
            co_await eventually([&] { return pool->stats().malformed == before + 1; }, "it is noticed");
        });
    }
};

Bytes credit_of(std::uint32_t stream, std::uint32_t bytes) {
    return wire::encode_credit(stream, bytes);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(link_hostile, Fixture)

BOOST_AUTO_TEST_CASE(random_bytes_are_closed_and_counted) {
    start_server();
    drive(io, [&]() -> Awaitable<void> {
        std::uint64_t state = 3;
        constexpr int rounds = 40;
        for (int round = 0; round < rounds; ++round) {
            std::string noise;
            for (int i = 0; i < 300; ++i) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                noise.push_back(static_cast<char>(state >> 56));
            }
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(noise);
            co_await client.read_to_end();
        }
        BOOST_TEST(server->stats().malformed == rounds);
        BOOST_TEST(server->stats().links_opened == 0);
        co_await eventually([&] { return server->stats().links_now == 0; }, "all are closed");
    });
}

BOOST_AUTO_TEST_CASE(silent_connection_is_closed_after_the_hello_timeout) {
    config.hello_timeout = milliseconds(30);
    start_server();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        BOOST_TEST(co_await client.read_to_end() == "");
        co_await eventually([&] { return server->stats().links_now == 0; }, "it is closed");
    });
}

BOOST_AUTO_TEST_CASE(other_wire_version_is_refused_with_a_goodbye) {
    start_server();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        wire::Hello hello;
        hello.cluster = exa::cluster_id("test");
        hello.peer = peer_a;
        hello.version_major = 99;
        co_await client.send(text(wire::encode_hello(hello)));
        client.shutdown_send();
        const std::string answer = co_await client.read_to_end();
        BOOST_TEST(types_of(answer) == std::vector{wire::FrameType::goodbye});
        const auto goodbye = wire::decode_goodbye(exa::as_bytes(answer).subspan(wire::frame_header_size));
        BOOST_TEST(goodbye.value().code == wire::GoodbyeCode::wrong_version);
        BOOST_TEST(server->stats().links_refused == 1);
    });
}

BOOST_AUTO_TEST_CASE(frames_that_break_the_protocol_end_the_link_with_a_goodbye) {
    start_server();
    wire::Open open;
    open.model = "m";
    const std::string opened_1 = text(wire::encode_open(1, open).value());
    const std::string garbage_open = text(wire::encode_frame(wire::FrameType::open, 9, Bytes(64, 0xff)));
    const std::vector<std::string> bad = {
        hello_of(peer_a),                                                       // twice
        opened_1 + opened_1,                                                    // a stream id again
        garbage_open,                                                           //
        text(wire::encode_cancel(5)),                                           // of a stream never opened
        text(wire::encode_end(1, {})),                                          // from a dialler
        text(wire::encode_data(1, {0, {}, "x"})),                               //
        opened_1 + text(credit_of(1, 0xffffffff)),                              // too much credit
        std::string("\xff\xff\xff\x7f\x02\0\0\0\x01\0\0\0", 12),                // an open of 2 GiB
        std::string("\0\0\0\0\x63\0\0\0\0\0\0\0", 12),                          // an unknown type
        std::string("\0\0\0\0\x08\x01\0\0\0\0\0\0", 12),                        // flags
        text(wire::encode_frame(wire::FrameType::goodbye, 0, Bytes(8, 0xff))),  //
    };
    drive(io, [&]() -> Awaitable<void> {
        std::uint64_t expected = 0;
        for (const std::string& frames : bad) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(hello_of(peer_a) + frames);
            client.shutdown_send();
            const auto types = types_of(co_await client.read_to_end());
            ++expected;
            BOOST_TEST(server->stats().malformed == expected, "case " << expected);
            BOOST_TEST_REQUIRE(!types.empty());
            BOOST_TEST(types.back() == wire::FrameType::goodbye, "case " << expected);
        }
        co_await eventually([&] { return server->stats().links_now == 0; }, "all are closed");
        BOOST_TEST(server->stats().streams_now == 0);
        BOOST_TEST(opened == 2);
        for (const auto& stream : kept) BOOST_TEST(stream->cancelled());
    });
}

BOOST_AUTO_TEST_CASE(ping_is_answered_with_its_payload) {
    start_server();
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        const Bytes payload = {1, 2, 3, 4, 5, 6, 7, 8};
        co_await client.send(hello_of(peer_a) + text(wire::encode_frame(wire::FrameType::ping, 0, payload)));
        const std::string pong = text(wire::encode_frame(wire::FrameType::pong, 0, payload));
        BOOST_TEST((co_await client.read_until(pong)).ends_with(pong));
    });
}

BOOST_AUTO_TEST_CASE(control_frames_overtake_queued_data) {
    constexpr std::uint32_t streams = 64;
    constexpr std::size_t piece = 250'000;
    config.write_queue_bytes = 64 * 1024 * 1024;
    server.emplace(io, config, identity(peer_b), log);
    server->on_open([this](std::shared_ptr<InboundStream> stream, const wire::Open&) {
        kept.push_back(stream);
        asio::co_spawn(
            io,
            [stream]() -> Awaitable<void> {
                BOOST_TEST((co_await send_data(stream, {0, {1}, std::string(piece, 'x')})).has_value());
            },
            asio::detached);
    });
    BOOST_TEST_REQUIRE(server->bind(any_port).has_value());
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        std::string opens = hello_of(peer_a);
        for (std::uint32_t id = 1; id <= streams; ++id) opens += text(wire::encode_open(id, {}).value());
        co_await client.send(opens);
        // 16 MB wait in all, of which the sockets' buffers take a few.
        std::uint64_t sent = 1;
        asio::steady_timer timer(io);
        while (kept.size() < streams || sent != server->stats().bytes_sent) {
            sent = server->stats().bytes_sent;
            timer.expires_after(milliseconds(30));
            co_await timer.async_wait(as_result);
        }
        BOOST_TEST_REQUIRE(sent < streams * piece / 2);
        const auto received = server->stats().bytes_received;
        co_await client.send(text(wire::encode_frame(wire::FrameType::ping, 0, {})));
        co_await eventually([&] { return server->stats().bytes_received > received; }, "the ping is read");
        BOOST_TEST(server->send_sync(peer_a, Bytes{1, 2, 3}));
        const std::string pong = text(wire::encode_frame(wire::FrameType::pong, 0, {}));
        const std::string sync = text(wire::encode_frame(wire::FrameType::sync, 0, Bytes{1, 2, 3}));
        const std::string before_pong = co_await client.read_until(pong);
        BOOST_TEST(before_pong.ends_with(pong));
        BOOST_TEST(before_pong.size() < streams * piece / 2);
        const std::string before_sync = co_await client.read_until(sync);
        BOOST_TEST(before_sync.ends_with(sync));
        BOOST_TEST(before_sync.size() < streams * piece / 4);
    });
}

BOOST_AUTO_TEST_CASE(acceptor_that_sends_beyond_its_credit_is_cut_off) {
    pool.emplace(io, config, identity(peer_a), log);
    FakePeer fake(io);
    drive(io, [&]() -> Awaitable<void> {
        asio::co_spawn(io, fake.accept_and_say(hello_of(peer_b)), asio::detached);
        auto stream = co_await pool->open(fake.at, peer_b, {});
        BOOST_TEST_REQUIRE(stream.has_value());
        // Two frames that use the credit up are legal, the third is not.
        std::string data;
        for (int i = 0; i < 3; ++i) data += text(wire::encode_data(1, {0, {}, std::string(200'000, 'x')}));
        co_await fake.raw.send_what_goes(data);
        co_await eventually([&] { return pool->stats().malformed == 1; }, "it is noticed");
        BOOST_TEST((co_await next_frame(stream.value())).has_value());
        BOOST_TEST((co_await next_frame(stream.value())).has_value());
    });
}

BOOST_AUTO_TEST_CASE(frames_out_of_order_or_of_unopened_streams_end_the_link) {
    pool.emplace(io, config, identity(peer_a), log);
    for (const std::string& frames :
         {text(wire::encode_head(7, {})), text(wire::encode_data(1, {0, {}, "x"})) + text(wire::encode_head(1, {})),
          text(wire::encode_head(1, {})) + text(wire::encode_head(1, {})),
          text(wire::encode_frame(wire::FrameType::data, 1, Bytes{0, 0, 0, 0, 9, 0})),
          text(wire::encode_open(2, {}).value())})
        expect_cut_off(frames);
}

BOOST_AUTO_TEST_CASE(illegal_data_for_a_sink_ends_the_link) {
    struct Bin final : DataSink {
        std::span<std::uint8_t> room() override { return bytes; }
        exa::Result<void> filled(std::size_t) override { return exa::success(); }
        std::array<std::uint8_t, 4096> bytes{};
    };
    pool.emplace(io, config, identity(peer_a), log);
    const std::string large = text(wire::encode_data(1, {0, {1, 2}, std::string(500'000, 'x')}));
    for (const std::string& frames : {text(wire::encode_data(1, {0, {1}, "x"})), large,
                                      text(wire::encode_frame(wire::FrameType::data, 1, Bytes{0, 0, 0}))})
        expect_cut_off(frames, std::make_shared<Bin>());
}

BOOST_AUTO_TEST_CASE(frames_of_cancelled_streams_are_ignored) {
    pool.emplace(io, config, identity(peer_a), log);
    FakePeer fake(io);
    drive(io, [&]() -> Awaitable<void> {
        asio::co_spawn(io, fake.accept_and_say(hello_of(peer_b)), asio::detached);
        auto stream = co_await pool->open(fake.at, peer_b, {});
        BOOST_TEST_REQUIRE(stream.has_value());
        const std::string request = text(wire::encode_open(1, {}).value());
        co_await fake.raw.read_until(request.substr(0, wire::frame_header_size));
        stream.value()->cancel();
        const std::string cancel = text(wire::encode_cancel(1));
        BOOST_TEST((co_await fake.raw.read_until(cancel)).ends_with(cancel));
        co_await fake.raw.send(text(wire::encode_head(1, {})) + text(wire::encode_end(1, {})));
        auto next = co_await pool->open(fake.at, peer_b, {});
        co_await fake.raw.send(text(wire::encode_end(2, {wire::EndCode::ok, "second", std::nullopt})));
        auto end = co_await next_frame(next.value());
        BOOST_TEST(std::get<wire::End>(end.value()).message == "second");
        BOOST_TEST(pool->stats().malformed == 0);
    });
}

BOOST_AUTO_TEST_CASE(peer_that_dies_breaks_its_streams_and_is_reported) {
    pool.emplace(io, config, identity(peer_a), log);
    std::optional<PeerId> broken;
    exa::Generation life;
    pool->on_broken([&](PeerId peer, exa::Generation generation) {
        broken = peer;
        life = generation;
    });
    FakePeer fake(io);
    drive(io, [&]() -> Awaitable<void> {
        asio::co_spawn(io, fake.accept_and_say(hello_of(peer_b)), asio::detached);
        auto stream = co_await pool->open(fake.at, peer_b, {});
        co_await fake.raw.send(text(wire::encode_data(1, {0, {1}, "before"})));
        fake.raw.close();
        // What had arrived is not lost.
        auto data = co_await next_frame(stream.value());
        BOOST_TEST_REQUIRE(data.has_value());
        BOOST_TEST(std::get<wire::Data>(data.value()).bytes == "before");
        auto next = co_await next_frame(stream.value());
        BOOST_TEST_REQUIRE(!next.has_value());
        BOOST_TEST(next.error().code == make_error_code(errc::broken));
        BOOST_TEST(broken == peer_b);
        BOOST_TEST(life == exa::Generation{7});
        BOOST_TEST(pool->stats().links_broken == 1);
    });
}

BOOST_AUTO_TEST_CASE(peer_that_falls_silent_is_given_up_after_two_pings) {
    config.ping_interval = milliseconds(20);
    pool.emplace(io, config, identity(peer_a), log);
    std::optional<PeerId> broken;
    pool->on_broken([&](PeerId peer, exa::Generation) { broken = peer; });
    FakePeer fake(io);
    drive(io, [&]() -> Awaitable<void> {
        asio::co_spawn(io, fake.accept_and_say(hello_of(peer_b)), asio::detached);
        auto stream = co_await pool->open(fake.at, peer_b, {});
        BOOST_TEST(!(co_await next_frame(stream.value())).has_value());
        BOOST_TEST(broken == peer_b);
        const auto types = types_of(co_await fake.raw.read_to_end());
        BOOST_TEST(types == (std::vector{wire::FrameType::hello, wire::FrameType::open, wire::FrameType::ping,
                                         wire::FrameType::ping}));
    });
}

BOOST_AUTO_TEST_CASE(peer_that_answers_pings_may_think_for_as_long_as_it_likes) {
    config.ping_interval = milliseconds(10);
    start_server();
    pool.emplace(io, config, identity(peer_a), log);
    drive(io, [&]() -> Awaitable<void> {
        auto stream = co_await pool->open(server->endpoint(), peer_b, {});
        auto frame = co_await next_frame(stream.value(), milliseconds(200));
        BOOST_TEST(frame.error().code == make_error_code(errc::timed_out));
        BOOST_TEST(pool->stats().links_broken == 0);
    });
}

BOOST_AUTO_TEST_CASE(links_beyond_the_limit_are_refused) {
    config.links_max = 1;
    start_server();
    drive(io, [&]() -> Awaitable<void> {
        RawClient first(io);
        RawClient second(io);
        co_await first.connect(server->endpoint());
        co_await first.send(hello_of(peer_a));
        co_await eventually([&] { return server->stats().links_opened == 1; }, "the first is taken");
        co_await second.connect(server->endpoint());
        BOOST_TEST(co_await second.read_to_end() == "");
        BOOST_TEST(server->stats().links_refused == 1);
    });
}

BOOST_AUTO_TEST_SUITE_END()
