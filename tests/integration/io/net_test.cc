#include "io/net.h"

#include "io/errc.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::test;
using exa::Endpoint;

BOOST_AUTO_TEST_SUITE(net)

BOOST_AUTO_TEST_CASE(endpoints_survive_asio_and_back) {
    for (const char* text : {"127.0.0.1:80", "255.255.255.255:65535", "[::1]:80", "[2001:db8::7]:1", "0.0.0.0:0"}) {
        const Endpoint endpoint = *exa::parse_endpoint(text);
        BOOST_TEST(from_asio(to_asio_tcp(endpoint)) == endpoint, text);
        BOOST_TEST(from_asio(to_asio_udp(endpoint)) == endpoint, text);
        BOOST_TEST(to_asio_tcp(endpoint).address().is_v4() == endpoint.is_v4());
    }
}

BOOST_AUTO_TEST_CASE(shared_port_is_not_free_although_it_could_be_shared) {
    asio::io_context io{1};
    auto first = listen_tcp(io, "http", any_port, true);
    BOOST_TEST_REQUIRE(first.has_value());
    const Endpoint bound = from_asio(first.value().local_endpoint());
    BOOST_TEST(listen_tcp(io, "http", bound, true).has_value());
    const auto taken = check_tcp_port_free(io, "http", bound);
    BOOST_TEST_REQUIRE(!taken.has_value());
    BOOST_TEST(taken.error().code == make_error_code(errc::port_taken));
    BOOST_TEST(check_tcp_port_free(io, "http", any_port).has_value());
}

BOOST_AUTO_TEST_CASE(background_socket_is_lower_effort_and_bulk) {
    asio::io_context io{1};
    tcp::socket socket(io, tcp::v4());
    set_background_priority(socket);
    const auto option = [&](int level, int name) {
        int value = -1;
        socklen_t size = sizeof value;
        return getsockopt(socket.native_handle(), level, name, &value, &size) == 0 ? value : -1;
    };
    BOOST_TEST(option(IPPROTO_IP, IP_TOS) == 4);
    BOOST_TEST(option(SOL_SOCKET, SO_PRIORITY) == 2);
}

BOOST_AUTO_TEST_CASE(unspecified_ipv6_listener_takes_ipv4_clients) {
    asio::io_context io{1};
    auto listener = listen_tcp(io, "http", *exa::parse_endpoint("[::]:0"), false);
    if (!listener) {
        BOOST_TEST_MESSAGE("no IPv6 on this machine");
        return;
    }
    drive(io, [&]() -> Awaitable<void> {
        Endpoint to = any_port;
        to.port = listener.value().local_endpoint().port();
        RawClient client(io);
        co_await client.connect(to);
        auto [code, socket] = co_await listener.value().async_accept(as_result);
        BOOST_TEST(!code);
        BOOST_TEST(from_asio(socket.remote_endpoint()).is_v4());
    });
}

BOOST_AUTO_TEST_SUITE_END()
