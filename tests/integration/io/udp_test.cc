#include <optional>
#include <vector>

#include "io/errc.h"
#include "io/udp/socket.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::udp;
using namespace exa::io::test;
using exa::Bytes;
using exa::ByteView;
using exa::Endpoint;

namespace {

struct Received {
    Endpoint from;
    Bytes bytes;
};

struct Fixture {
    asio::io_context io{1};
    std::vector<Received> received;

    UdpSocket::Handler keep() {
        return [this](Endpoint from, ByteView bytes) { received.push_back({from, Bytes(bytes.begin(), bytes.end())}); };
    }
    static UdpSocket::Handler ignore() {
        return [](Endpoint, ByteView) {};
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(udp_socket, Fixture)

BOOST_AUTO_TEST_CASE(datagrams_arrive_whole_with_their_sender) {
    UdpSocket a(io);
    UdpSocket b(io);
    BOOST_TEST_REQUIRE(a.bind(any_port, ignore()).has_value());
    BOOST_TEST_REQUIRE(b.bind(any_port, keep()).has_value());
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(a.send(b.endpoint(), Bytes{1, 2, 3}));
        BOOST_TEST(a.send(b.endpoint(), Bytes(1'400, 7)));
        co_await eventually([&] { return received.size() == 2; }, "both arrive");
        BOOST_TEST(received[0].bytes == (Bytes{1, 2, 3}));
        BOOST_TEST(received[1].bytes == Bytes(1'400, 7));
        BOOST_TEST(received[0].from == a.endpoint());
        BOOST_TEST(b.stats().received == 2);
        BOOST_TEST(b.stats().bytes_received == 1'403);
        BOOST_TEST(a.stats().sent == 2);
    });
}

BOOST_AUTO_TEST_CASE(oversized_datagrams_are_counted_and_dropped) {
    UdpSocket a(io);
    UdpSocket b(io);
    BOOST_TEST_REQUIRE(a.bind(any_port, ignore()).has_value());
    BOOST_TEST_REQUIRE(b.bind(any_port, keep()).has_value());
    drive(io, [&]() -> Awaitable<void> {
        a.send(b.endpoint(), Bytes(2'049, 1));
        a.send(b.endpoint(), Bytes(60'000, 1));
        a.send(b.endpoint(), Bytes(2'048, 1));
        co_await eventually([&] { return !received.empty(); }, "the one that fits arrives");
        BOOST_TEST(received.size() == 1);
        BOOST_TEST(received[0].bytes.size() == 2'048);
        BOOST_TEST(b.stats().oversized == 2);
    });
}

BOOST_AUTO_TEST_CASE(unspecified_ipv6_address_talks_to_both_families) {
    UdpSocket dual(io);
    UdpSocket four(io);
    UdpSocket six(io);
    if (!six.bind(*exa::parse_endpoint("[::1]:0"), keep())) {
        BOOST_TEST_MESSAGE("no IPv6 on this machine");
        return;
    }
    BOOST_TEST_REQUIRE(dual.bind(*exa::parse_endpoint("[::]:0"), keep()).has_value());
    BOOST_TEST_REQUIRE(four.bind(any_port, keep()).has_value());
    drive(io, [&]() -> Awaitable<void> {
        Endpoint dual_by_four = *exa::parse_endpoint("127.0.0.1:1");
        dual_by_four.port = dual.endpoint().port;
        BOOST_TEST(four.send(dual_by_four, Bytes{4}));
        BOOST_TEST(dual.send(four.endpoint(), Bytes{44}));
        BOOST_TEST(dual.send(six.endpoint(), Bytes{66}));
        co_await eventually([&] { return received.size() == 3; }, "all arrive");
        for (const auto& datagram : received)
            if (datagram.bytes == Bytes{4}) BOOST_TEST(datagram.from == four.endpoint());
    });
}

BOOST_AUTO_TEST_CASE(taken_port_and_foreign_address_are_told_apart) {
    UdpSocket a(io);
    UdpSocket b(io);
    BOOST_TEST_REQUIRE(a.bind(any_port, ignore()).has_value());
    const auto taken = b.bind(a.endpoint(), ignore());
    BOOST_TEST_REQUIRE(!taken.has_value());
    BOOST_TEST(taken.error().code == make_error_code(errc::port_taken));
    BOOST_TEST(taken.error().message().find(to_string(a.endpoint())) != std::string::npos);
    // TEST-NET-1 (RFC 5737) is nobody's.
    const auto foreign = b.bind(*exa::parse_endpoint("192.0.2.1:0"), ignore());
    BOOST_TEST(foreign.error().code == make_error_code(errc::address_unusable));
    // A failed bind leaves the socket as it was.
    BOOST_TEST(b.bind(any_port, ignore()).has_value());
}

BOOST_AUTO_TEST_CASE(receiver_survives_icmp_errors) {
    UdpSocket a(io);
    UdpSocket b(io);
    BOOST_TEST_REQUIRE(a.bind(any_port, keep()).has_value());
    BOOST_TEST_REQUIRE(b.bind(any_port, ignore()).has_value());
    const Endpoint nobody = b.endpoint();
    b.close();
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 5; ++i) a.send(nobody, Bytes{1});
        UdpSocket c(io);
        BOOST_TEST_REQUIRE(c.bind(any_port, ignore()).has_value());
        c.send(a.endpoint(), Bytes{9});
        co_await eventually([&] { return received.size() == 1; }, "it still receives");
    });
}

BOOST_AUTO_TEST_CASE(handler_may_close_the_socket) {
    UdpSocket a(io);
    std::optional<UdpSocket> b;
    b.emplace(io);
    int calls = 0;
    BOOST_TEST_REQUIRE(a.bind(any_port, ignore()).has_value());
    BOOST_TEST_REQUIRE(b->bind(any_port, [&](Endpoint, ByteView) {
                            ++calls;
                            b->close();
                        }).has_value());
    drive(io, [&]() -> Awaitable<void> {
        const Endpoint to = b->endpoint();
        for (int i = 0; i < 3; ++i) a.send(to, Bytes{1});
        co_await eventually([&] { return calls > 0; }, "the first arrives");
        BOOST_TEST(calls == 1);
        BOOST_TEST(!b->send(a.endpoint(), Bytes{1}));
    });
}

BOOST_AUTO_TEST_SUITE_END()
