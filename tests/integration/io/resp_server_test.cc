#include "io/resp/server.h"

#include <map>
#include <thread>

#include "support.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::resp;
using namespace exa::io::test;

namespace {

// Values in a map; gets are answered from another thread, as a disk's are.
class MapKeyspace final : public exa::resp::Keyspace {
  public:
    ~MapKeyspace() override {
        for (std::thread& thread : threads_) thread.join();
    }
    std::optional<exa::resp::Body> make_body(const std::string&, const exa::resp::Request&,
                                             std::uint64_t bytes) override {
        const auto memory = std::make_shared<Bytes>(std::min<std::uint64_t>(bytes, 100'000));
        return exa::resp::Body{memory, *memory};
    }
    void run(exa::resp::Operation operation, std::function<void(exa::resp::Outcome)> done) override {
        exa::resp::Outcome outcome;
        if (operation.verb == exa::resp::Verb::set) {
            std::string value = operation.value;
            for (const exa::resp::Body& body : operation.bodies) value += as_text(body.bytes);
            values_[operation.keys[0]] = std::make_shared<const std::string>(std::move(value));
            return done(std::move(outcome));
        }
        outcome.values.resize(1);
        if (const auto found = values_.find(operation.keys[0]); found != values_.end())
            outcome.values[0] = exa::resp::Value{{{found->second, as_bytes(*found->second)}}};
        threads_.emplace_back([done = std::move(done), outcome = std::move(outcome)] { done(outcome); });
    }

  private:
    std::map<std::string, std::shared_ptr<const std::string>> values_;
    std::vector<std::thread> threads_;
};

struct Fixture {
    Fixture() {
        RespConfig config;
        config.connections_max = 3;
        server.emplace(
            io, config, keyspace, [](std::string_view, std::string_view) { return std::nullopt; },
            [] { return WallTime{}; });
        endpoint = to_asio_tcp(server->listen(any_port).value());
    }

    static std::string bulk(std::string_view text) {
        return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
    }

    // All that comes until `size` bytes are there or the other end closes.
    static Awaitable<std::string> receive(tcp::socket& socket, std::size_t size) {
        std::string text(size, '\0');
        std::size_t got = 0;
        while (got < size) {
            const auto [failed, bytes] =
                co_await socket.async_read_some(asio::buffer(text.data() + got, size - got), as_result);
            if (failed) break;
            got += bytes;
        }
        text.resize(got);
        co_return text;
    }

    asio::io_context io;
    MapKeyspace keyspace;
    std::optional<RespServer> server;
    tcp::endpoint endpoint;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resp_server, Fixture)

BOOST_AUTO_TEST_CASE(requests_that_come_together_are_answered_in_order_also_from_other_threads) {
    drive(io, [&]() -> Awaitable<void> {
        tcp::socket socket(io);
        co_await socket.async_connect(endpoint, as_result);
        const std::string value(1'000'000, 'v');
        const std::string text = "*3\r\n" + bulk("SET") + bulk("k") + bulk(value) + "*2\r\n" + bulk("GET") + bulk("k") +
                                 "PING\r\n*2\r\n" + bulk("GET") + bulk("none");
        const std::string expected = "+OK\r\n" + bulk(value) + "+PONG\r\n$-1\r\n";
        co_await asio::async_write(socket, asio::buffer(text), as_result);
        const std::string answer = co_await receive(socket, expected.size());
        BOOST_TEST(answer == expected);
        BOOST_TEST(server->stats().requests == 4u);
    });
}

BOOST_AUTO_TEST_CASE(who_does_not_speak_the_protocol_is_told_and_cut_off) {
    drive(io, [&]() -> Awaitable<void> {
        tcp::socket socket(io);
        co_await socket.async_connect(endpoint, as_result);
        const std::string text = "PING\r\n*1\r\n$x\r\n";
        co_await asio::async_write(socket, asio::buffer(text), as_result);
        const std::string answer = co_await receive(socket, 1000);
        BOOST_TEST(answer == "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n");
    });
}

BOOST_AUTO_TEST_CASE(quit_is_answered_and_ends_the_connection) {
    drive(io, [&]() -> Awaitable<void> {
        tcp::socket socket(io);
        co_await socket.async_connect(endpoint, as_result);
        const std::string text = "QUIT\r\nPING\r\n";
        co_await asio::async_write(socket, asio::buffer(text), as_result);
        const std::string answer = co_await receive(socket, 1000);
        BOOST_TEST(answer == "+OK\r\n");
    });
}

BOOST_AUTO_TEST_CASE(more_connections_than_allowed_are_closed_and_the_others_stay) {
    drive(io, [&]() -> Awaitable<void> {
        std::vector<std::unique_ptr<tcp::socket>> sockets;
        for (int i = 0; i < 3; ++i) {
            sockets.push_back(std::make_unique<tcp::socket>(io));
            co_await sockets.back()->async_connect(endpoint, as_result);
            co_await asio::async_write(*sockets.back(), asio::buffer("PING\r\n", 6), as_result);
            BOOST_TEST(co_await receive(*sockets.back(), 7) == "+PONG\r\n");
        }
        tcp::socket fourth(io);
        co_await fourth.async_connect(endpoint, as_result);
        BOOST_TEST(co_await receive(fourth, 1) == "");
        BOOST_TEST(server->stats().refused == 1u);
        co_await asio::async_write(*sockets[0], asio::buffer("PING\r\n", 6), as_result);
        BOOST_TEST(co_await receive(*sockets[0], 7) == "+PONG\r\n");
    });
}

BOOST_AUTO_TEST_SUITE_END()
