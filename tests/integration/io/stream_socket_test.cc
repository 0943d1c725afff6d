#include "io/stream_socket.h"

#include <boost/asio/read.hpp>
#include <functional>
#include <string>

#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::test;

BOOST_AUTO_TEST_SUITE(stream_socket)

namespace {

struct Owner final : SocketOwner {
    void on_ready() override {
        ++calls;
        if (then) then();
    }
    StreamSocket socket;
    int calls = 0;
    std::function<void()> then;
};

// A context, the other ends of connections, and ours.
struct Setup {
    asio::io_context io{1};
    tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};

    tcp::socket connect(Owner& owner) {
        tcp::socket near(io);
        near.connect(acceptor.local_endpoint());
        tcp::socket far = acceptor.accept();
        far.set_option(tcp::no_delay(true));
        owner.socket.open(std::move(near), owner);
        BOOST_TEST_REQUIRE(owner.socket.is_open());
        return far;
    }

    void run_until(const std::function<bool()>& condition) {
        const auto until = std::chrono::steady_clock::now() + seconds(5);
        while (!condition() && std::chrono::steady_clock::now() < until) io.run_one_until(until);
        BOOST_TEST_REQUIRE(condition());
    }
};

std::string read(StreamSocket& socket, std::size_t bytes_max) {
    std::string text(bytes_max, '\0');
    const auto done = socket.read(text);
    BOOST_TEST(!done.code, done.code.message());
    text.resize(done.bytes);
    return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_short_read_empties_the_socket_until_more_comes) {
    Setup setup;
    Owner owner;
    auto far = setup.connect(owner);
    asio::write(far, asio::buffer("one", 3));
    setup.run_until([&] { return owner.socket.may_read(); });
    BOOST_TEST(owner.socket.has_input());
    BOOST_TEST(read(owner.socket, 100) == "one");
    BOOST_TEST(!owner.socket.may_read());
    BOOST_TEST(!owner.socket.has_input());
    asio::write(far, asio::buffer("two", 3));
    setup.run_until([&] { return owner.socket.may_read(); });
    BOOST_TEST(read(owner.socket, 100) == "two");
}

BOOST_AUTO_TEST_CASE(a_read_that_fills_its_buffer_may_be_followed_at_once) {
    Setup setup;
    Owner owner;
    auto far = setup.connect(owner);
    asio::write(far, asio::buffer("abcdef", 6));
    setup.run_until([&] { return owner.socket.may_read(); });
    BOOST_TEST(read(owner.socket, 3) == "abc");
    BOOST_TEST(owner.socket.may_read());
    BOOST_TEST(read(owner.socket, 3) == "def");
    std::string more(3, '\0');
    BOOST_TEST(owner.socket.may_read());
    BOOST_TEST(owner.socket.read(more).code == asio::error::would_block);
    BOOST_TEST(!owner.socket.may_read());
}

// No edge follows: whoever waited for one would wait for good.
BOOST_AUTO_TEST_CASE(end_that_came_with_the_last_bytes_is_read_after_them) {
    Setup setup;
    Owner owner;
    auto far = setup.connect(owner);
    asio::write(far, asio::buffer("bye", 3));
    far.close();
    setup.run_until([&] { return owner.socket.may_read(); });
    BOOST_TEST(read(owner.socket, 100) == "bye");
    BOOST_TEST(owner.socket.may_read());
    std::string more(3, '\0');
    BOOST_TEST(owner.socket.read(more).code == asio::error::eof);
}

BOOST_AUTO_TEST_CASE(a_full_socket_is_writable_again_when_the_other_side_has_read) {
    Setup setup;
    Owner owner;
    auto far = setup.connect(owner);
    const std::string block(64 * 1024, 'x');
    const std::array<asio::const_buffer, 2> buffers = {asio::buffer(block), asio::buffer(block)};
    std::size_t sent = 0;
    while (true) {
        const auto done = owner.socket.write(buffers);
        if (done.code) {
            BOOST_TEST(done.code == asio::error::would_block);
            break;
        }
        sent += done.bytes;
    }
    BOOST_TEST(!owner.socket.may_write());
    std::string got(sent, '\0');
    asio::read(far, asio::buffer(got));
    setup.run_until([&] { return owner.socket.may_write(); });
    BOOST_TEST(owner.socket.write(std::span(buffers).first(1)).bytes > 0U);
}

BOOST_AUTO_TEST_CASE(socket_closed_in_the_same_iteration_is_told_nothing) {
    Setup setup;
    Owner one;
    Owner other;
    auto far_one = setup.connect(one);
    auto far_other = setup.connect(other);
    setup.run_until([&] { return one.calls > 0 && other.calls > 0; });
    one.calls = other.calls = 0;
    one.then = [&] { other.socket.close(); };
    other.then = [&] { one.socket.close(); };
    asio::write(far_one, asio::buffer("x", 1));
    asio::write(far_other, asio::buffer("x", 1));
    setup.run_until([&] { return one.calls + other.calls > 0; });
    setup.io.poll();
    BOOST_TEST(one.calls + other.calls == 1);
    BOOST_TEST(one.socket.is_open() != other.socket.is_open());
}

BOOST_AUTO_TEST_CASE(a_context_whose_sockets_are_closed_has_nothing_left_to_do) {
    Setup setup;
    Owner owner;
    const auto far = setup.connect(owner);
    setup.run_until([&] { return owner.calls > 0; });
    setup.io.poll();
    BOOST_TEST(!setup.io.stopped());
    owner.socket.close();
    setup.io.run_for(seconds(5));
    BOOST_TEST(setup.io.stopped());
    // And goes on with the next one.
    setup.io.restart();
    const auto next = setup.connect(owner);
    owner.calls = 0;
    setup.run_until([&] { return owner.calls > 0; });
}

BOOST_AUTO_TEST_SUITE_END()
