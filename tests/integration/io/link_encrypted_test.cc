// Links of a sealed cluster: who gets in, who does not and what that costs, and keys that change while links live.
#include <array>
#include <boost/asio/detached.hpp>
#include <optional>
#include <set>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "io/errc.h"
#include "io/link/pool.h"
#include "io/link/server.h"
#include "io/link/transport.h"
#include "link_support.h"
#include "support.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::link;
using namespace exa::io::test;
using exa::Bytes;
using exa::ByteView;
using exa::ClusterKey;
using exa::Generation;
using exa::KeyId;
using exa::LinkKeys;
using exa::PeerId;
using exa::Result;
namespace wire = exa::wire;

namespace {

constexpr PeerId peer_a{0xa};
constexpr PeerId peer_b{0xb};
constexpr PeerId peer_c{0xc};

const exa::io::crypto::OpenSslCrypto openssl;
const ClusterKey key_1{KeyId{1}, {1}};
const ClusterKey key_2{KeyId{2}, {2}};

std::shared_ptr<const LinkKeys> keys(const ClusterKey& primary, std::vector<ClusterKey> all) {
    return std::make_shared<const LinkKeys>(LinkKeys{primary.id, std::move(all)});
}
const auto only_1 = keys(key_1, {key_1});
const auto only_2 = keys(key_2, {key_2});
const auto first_1 = keys(key_1, {key_1, key_2});
const auto first_2 = keys(key_2, {key_1, key_2});

LinkIdentity identity(PeerId peer) {
    return {exa::cluster_id("test"), peer, Generation{4}, "peer-" + to_string(peer)};
}

Bytes hello_of(PeerId peer, std::uint64_t generation = 1) {
    wire::Hello hello;
    hello.cluster = exa::cluster_id("test");
    hello.peer = peer;
    hello.generation = Generation{generation};
    return wire::encode_hello(hello);
}

template <class T>
bool is(const Result<T>& result, errc code) {
    return !result.has_value() && result.error().code == make_error_code(code);
}

// Keeps the warnings.
class WarningLog final : public exa::Log {
  public:
    void write(exa::LogLevel level, std::string_view, std::string_view message,
               std::initializer_list<exa::LogField> fields) override {
        if (level != exa::LogLevel::warn) return;
        std::string line(message);
        for (const auto& field : fields) line += " " + std::string(field.key) + "=" + field.value;
        lines.push_back(std::move(line));
    }
    bool says(std::string_view text) const {
        return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != line.npos; });
    }
    std::vector<std::string> lines;
};

struct Fixture {
    asio::io_context io{1};
    WarningLog at_server;
    WarningLog at_pool;
    LinkConfig config;
    std::optional<LinkServer> server;
    std::optional<LinkPool> pool;
    std::vector<std::shared_ptr<InboundStream>> kept;  // those that asked to be

    void start_server(std::shared_ptr<const LinkKeys> with) {
        server.emplace(io, config, identity(peer_b), at_server, LinkEncryption{&openssl, std::move(with)});
        server->on_open([this](std::shared_ptr<InboundStream> stream, wire::Open open) {
            if (open.body == "keep") {
                kept.push_back(std::move(stream));
                return;
            }
            asio::co_spawn(
                io,
                [stream, open = std::move(open)]() -> Awaitable<void> {
                    BOOST_TEST((co_await send_data(stream, {0, {}, open.body})).has_value());
                    BOOST_TEST(stream->push_end({}).has_value());
                },
                asio::detached);
        });
        BOOST_TEST_REQUIRE(server->bind(any_port).has_value());
    }
    void start_pool(std::shared_ptr<const LinkKeys> with, PeerId who = peer_a) {
        pool.emplace(io, config, identity(who), at_pool, LinkEncryption{&openssl, std::move(with)});
    }
    Awaitable<Result<std::shared_ptr<OutboundStream>>> open(std::string body, PeerId expect = peer_b) {
        wire::Open request;
        request.body = std::move(body);
        co_return co_await pool->open(server->endpoint(), expect, std::move(request));
    }
    Awaitable<std::string> echo(std::string body) {
        auto stream = co_await open(std::move(body));
        BOOST_REQUIRE_MESSAGE(stream.has_value(), (stream ? "" : stream.error().message()));
        std::string bytes;
        while (true) {
            auto frame = co_await next_frame(stream.value());
            BOOST_TEST_REQUIRE(frame.has_value());
            if (const auto* data = std::get_if<wire::Data>(&frame.value())) bytes += data->bytes;
            if (std::holds_alternative<wire::End>(frame.value())) co_return bytes;
        }
    }
    Awaitable<void> nobody_is_left() {
        co_await eventually([&] { return server->stats().links_now == 0; }, "all are closed");
    }
};

exa::Digest psk_of(const PskIdentity& claimed) {
    return derive_psk(openssl, key_1.secret, exa::cluster_id("test"), claimed);
}

// The first flight of a dialler that holds key 1.
std::string client_hello() {
    const PskIdentity claimed{key_1.id, peer_a, peer_b};
    const auto session = TlsSession::dial(std::make_shared<const TlsContext>(), claimed, psk_of(claimed));
    BOOST_TEST_REQUIRE(session->handshake().has_value());
    return std::string(exa::as_text(session->take_output()));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(link_encrypted, Fixture)

BOOST_AUTO_TEST_CASE(plain_link_to_a_sealed_peer_gets_no_answer) {
    start_server(only_1);
    drive(io, [&]() -> Awaitable<void> {
        RawClient client(io);
        co_await client.connect(server->endpoint());
        co_await client.send(std::string(exa::as_text(hello_of(peer_a))));
        BOOST_TEST(co_await client.read_to_end() == "");
        BOOST_TEST(server->stats().refused_encryption == 1);
        BOOST_TEST(server->stats().links_refused == 1);
        BOOST_TEST(at_server.says("the other end does not encrypt"));
        co_await nobody_is_left();
    });
    pool.emplace(io, config, identity(peer_a), at_pool);
    drive(io, [&]() -> Awaitable<void> {
        const auto refused = co_await open("secret");
        BOOST_TEST(is(refused, errc::broken));
        BOOST_TEST(refused.error().message().find("is that peer's cluster encrypted?") != std::string::npos);
        BOOST_TEST(server->stats().refused_encryption == 2);
        BOOST_TEST(server->stats().links_opened == 0);
    });
}

BOOST_AUTO_TEST_CASE(sealed_link_to_a_plain_peer_gets_no_answer) {
    start_server(nullptr);
    start_pool(only_1);
    drive(io, [&]() -> Awaitable<void> {
        const auto refused = co_await open("secret");
        BOOST_TEST(is(refused, errc::broken));
        BOOST_TEST(refused.error().message().find("does the other end encrypt, too?") != std::string::npos);
        BOOST_TEST(server->stats().refused_encryption == 1);
        BOOST_TEST(server->stats().malformed == 0);
        BOOST_TEST(at_server.says("the other end encrypts"));
        BOOST_TEST(server->stats().bytes_sent == 0);
        co_await nobody_is_left();
    });
}

BOOST_AUTO_TEST_CASE(another_key_is_refused_and_named_at_both_ends) {
    start_server(only_1);
    start_pool(only_2);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await open("secret"), errc::wrong_key));
        BOOST_TEST(server->stats().refused_key == 1);
        BOOST_TEST(pool->stats().refused_key == 1);
        BOOST_TEST(pool->stats().dials_failed == 1);
        BOOST_TEST(at_server.says("key 00000002 is not held here"));
        BOOST_TEST(at_pool.says("key 00000002"));
        co_await nobody_is_left();
        BOOST_TEST(pool->stats().links_now == 0);
    });
}

BOOST_AUTO_TEST_CASE(another_cluster_with_the_same_key_is_refused) {
    start_server(only_1);
    auto foreign = identity(peer_a);
    foreign.cluster = exa::cluster_id("another");
    pool.emplace(io, config, foreign, at_pool, LinkEncryption{&openssl, only_1});
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await open("secret"), errc::wrong_key));
        BOOST_TEST(server->stats().refused_key == 1);
    });
}

BOOST_AUTO_TEST_CASE(link_meant_for_another_peer_is_refused) {
    start_server(only_1);
    start_pool(only_1);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await open("secret", peer_c), errc::wrong_peer));
        // Nobody in particular is nobody to share a key with.
        BOOST_TEST(is(co_await open("secret", PeerId{}), errc::wrong_peer));
        BOOST_TEST(server->stats().links_opened == 0);
    });
}

BOOST_AUTO_TEST_CASE(link_that_is_led_back_to_its_dialler_is_refused) {
    start_server(only_1);
    start_pool(only_1, peer_b);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(is(co_await open("secret", peer_a), errc::wrong_peer));
        BOOST_TEST(is(co_await open("secret", peer_b), errc::wrong_peer));
        BOOST_TEST(server->stats().links_refused == 2);
    });
}

BOOST_AUTO_TEST_CASE(hello_must_claim_the_peer_that_was_proven) {
    start_server(only_1);
    drive(io, [&]() -> Awaitable<void> {
        tcp::socket socket(io);
        co_await socket.async_connect(to_asio_tcp(server->endpoint()), as_result);
        const PskIdentity claimed{key_1.id, peer_a, peer_b};
        const auto transport = make_tls_transport(
            std::move(socket), TlsSession::dial(std::make_shared<const TlsContext>(), claimed, psk_of(claimed)), 100);
        BOOST_TEST_REQUIRE((co_await transport->secure()).has_value());
        const Bytes hello = hello_of(peer_c);
        co_await transport->write({asio::buffer(hello)});
        std::array<std::uint8_t, 4096> answer;
        const auto got = co_await transport->read_some(answer);
        BOOST_TEST_REQUIRE(got.bytes > wire::frame_header_size);
        const auto goodbye = wire::decode_goodbye(ByteView(answer).first(got.bytes).subspan(wire::frame_header_size));
        BOOST_TEST(goodbye.value().code == wire::GoodbyeCode::wrong_target);
        BOOST_TEST(server->stats().links_refused == 1);
        transport->close();
        co_await nobody_is_left();
    });
}

BOOST_AUTO_TEST_CASE(key_that_goes_during_the_handshake_makes_no_link) {
    start_server(only_1);
    drive(io, [&]() -> Awaitable<void> {
        tcp::socket socket(io);
        co_await socket.async_connect(to_asio_tcp(server->endpoint()), as_result);
        const PskIdentity claimed{key_1.id, peer_a, peer_b};
        const auto transport = make_tls_transport(
            std::move(socket), TlsSession::dial(std::make_shared<const TlsContext>(), claimed, psk_of(claimed)), 100);
        BOOST_TEST_REQUIRE((co_await transport->secure()).has_value());
        server->set_keys(only_2);
        const Bytes hello = hello_of(peer_a);
        co_await transport->write({asio::buffer(hello)});
        co_await nobody_is_left();
        BOOST_TEST(server->stats().links_opened == 0);
    });
}

BOOST_AUTO_TEST_CASE(noise_does_not_hide_a_wrong_key_from_the_log) {
    start_server(only_1);
    start_pool(only_2);
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send("noise that is no protocol of ours");
            BOOST_TEST(co_await client.read_to_end() == "");
        }
        BOOST_TEST(server->stats().malformed == 20);
        BOOST_TEST(at_server.lines.size() == 1);
        BOOST_TEST(is(co_await open("secret"), errc::wrong_key));
        BOOST_TEST(at_server.says("key 00000002 is not held here"));
    });
}

BOOST_AUTO_TEST_CASE(replayed_client_hello_gets_no_link_and_ends_at_the_deadline) {
    config.hello_timeout = milliseconds(50);
    start_server(only_1);
    const std::string hello = client_hello();
    drive(io, [&]() -> Awaitable<void> {
        for (int i = 0; i < 3; ++i) {
            RawClient client(io);
            co_await client.connect(server->endpoint());
            co_await client.send(hello);
            BOOST_TEST((co_await client.read_to_end()).size() > 100);
        }
        co_await nobody_is_left();
        BOOST_TEST(server->stats().links_opened == 0);
        BOOST_TEST(server->stats().malformed == 0);
    });
}

BOOST_AUTO_TEST_CASE(truncated_and_trickled_handshakes_end_at_the_deadline) {
    config.hello_timeout = milliseconds(60);
    start_server(only_1);
    const std::string hello = client_hello();
    drive(io, [&]() -> Awaitable<void> {
        RawClient half(io);
        co_await half.connect(server->endpoint());
        co_await half.send(hello.substr(0, hello.size() / 2));
        RawClient slow(io);
        co_await slow.connect(server->endpoint());
        asio::steady_timer timer(io);
        const auto began = std::chrono::steady_clock::now();
        for (const char byte : hello.substr(0, 100)) {
            if (server->stats().links_now == 0) break;
            co_await slow.send_what_goes(std::string(1, byte));
            timer.expires_after(milliseconds(5));
            co_await timer.async_wait(as_result);
        }
        BOOST_TEST(std::chrono::steady_clock::now() - began < milliseconds(400));
        BOOST_TEST(co_await half.read_to_end() == "");
        co_await nobody_is_left();
    });
}

BOOST_AUTO_TEST_CASE(oldest_silent_connections_make_room_for_new_ones) {
    config.greetings_max = 4;
    start_server(only_1);
    start_pool(only_1);
    drive(io, [&]() -> Awaitable<void> {
        std::vector<std::unique_ptr<RawClient>> silent;
        for (int i = 0; i < 20; ++i) {
            silent.push_back(std::make_unique<RawClient>(io));
            co_await silent.back()->connect(server->endpoint());
        }
        co_await eventually([&] { return server->stats().greetings_cut == 16; }, "the oldest are closed");
        BOOST_TEST(server->stats().links_now == 4);
        BOOST_TEST(co_await silent.front()->read_to_end() == "");
        BOOST_TEST(co_await echo("let in") == "let in");
        BOOST_TEST(server->stats().greetings_cut == 17);
        // A link counts among them no longer once it has said hello.
        for (int i = 0; i < 8; ++i) co_await silent[static_cast<std::size_t>(i)]->connect(server->endpoint());
        BOOST_TEST(co_await echo("still here") == "still here");
        BOOST_TEST(server->stats().links_opened == 1);
        // One line a second, however many are closed.
        BOOST_TEST(at_server.lines.size() <= 2);
    });
}

BOOST_AUTO_TEST_CASE(cut_without_a_goodbye_tells_which_life_broke) {
    start_pool(only_1);
    std::optional<PeerId> peer;
    std::optional<Generation> life;
    pool->on_broken([&](PeerId who, Generation generation) {
        peer = who;
        life = generation;
    });
    tcp::acceptor listener(io, to_asio_tcp(any_port));
    std::unique_ptr<Transport> fake;
    drive(io, [&]() -> Awaitable<void> {
        auto accept = [&]() -> Awaitable<void> {
            auto [code, socket] = co_await listener.async_accept(as_result);
            fake = make_tls_transport(
                std::move(socket),
                TlsSession::accept(std::make_shared<const TlsContext>(),
                                   [](const PskIdentity& claimed) -> Result<exa::Digest> { return psk_of(claimed); }),
                100);
            BOOST_TEST((co_await fake->secure()).has_value());
            const Bytes hello = hello_of(peer_b, 77);
            co_await fake->write({asio::buffer(hello)});
        };
        asio::co_spawn(io, accept, asio::detached);
        auto stream = co_await pool->open(from_asio(listener.local_endpoint()), peer_b, {});
        BOOST_TEST_REQUIRE(stream.has_value());
        // An end of the stream that TLS does not vouch for, which anyone on the way could forge, is no goodbye.
        fake->close();
        BOOST_TEST(is(co_await next_frame(stream.value()), errc::broken));
        BOOST_TEST(peer == peer_b);
        BOOST_TEST(life == Generation{77});
    });
}

BOOST_AUTO_TEST_CASE(other_keys_are_tried_while_the_acceptor_lacks_the_primary) {
    start_server(only_1);
    start_pool(first_2);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(co_await echo("by the old key") == "by the old key");
        BOOST_TEST(server->stats().links_opened == 1);
        BOOST_TEST(server->stats().refused_key == 1);
    });
    start_pool(first_1);
    server.reset();
    start_server(only_2);
    drive(io, [&]() -> Awaitable<void> { BOOST_TEST(co_await echo("by the new key") == "by the new key"); });
}

BOOST_AUTO_TEST_CASE(rotation_moves_new_streams_and_lets_old_ones_end) {
    start_server(only_1);
    start_pool(only_1);
    int broken = 0;
    pool->on_broken([&](PeerId, Generation) { ++broken; });
    drive(io, [&]() -> Awaitable<void> {
        auto old = co_await open("keep");
        BOOST_TEST_REQUIRE(old.has_value());
        co_await eventually([&] { return kept.size() == 1; }, "it is open");
        server->set_keys(first_1);
        pool->set_keys(first_1);
        BOOST_TEST(co_await echo("same link") == "same link");
        BOOST_TEST(pool->stats().links_opened == 1);

        server->set_keys(first_2);
        pool->set_keys(first_2);
        BOOST_TEST(co_await echo("new link") == "new link");
        BOOST_TEST(pool->stats().links_now == 2);
        BOOST_TEST((co_await send_data(kept[0], {0, {}, "late"})).has_value());
        BOOST_TEST(kept[0]->push_end({}).has_value());
        BOOST_TEST((co_await next_frame(old.value())).has_value());
        BOOST_TEST((co_await next_frame(old.value())).has_value());
        co_await eventually([&] { return pool->stats().links_now == 1; }, "the old link closes after its last stream");

        server->set_keys(only_2);
        pool->set_keys(only_2);
        BOOST_TEST(co_await echo("stays") == "stays");
        BOOST_TEST(pool->stats().links_opened == 2);
        BOOST_TEST(broken == 0);
    });
}

BOOST_AUTO_TEST_CASE(removed_key_closes_its_links_at_once) {
    for (const bool at_the_server : {false, true}) {
        kept.clear();
        start_server(first_1);
        start_pool(first_1);
        int broken = 0;
        pool->on_broken([&](PeerId, Generation) { ++broken; });
        drive(io, [&]() -> Awaitable<void> {
            auto old = co_await open("keep");
            co_await eventually([&] { return kept.size() == 1; }, "it is open");
            if (at_the_server)
                server->set_keys(only_2);
            else
                pool->set_keys(only_2);
            BOOST_TEST(is(co_await next_frame(old.value()), errc::broken));
            co_await eventually([&] { return kept[0]->cancelled(); }, "the acceptor is told");
            BOOST_TEST(co_await echo("again") == "again");
            BOOST_TEST((pool->stats().links_rekeyed + server->stats().links_rekeyed) == 1);
            BOOST_TEST(broken == 0);
        });
    }
}

BOOST_AUTO_TEST_CASE(peer_that_is_given_keys_drops_plain_links_and_never_makes_one_again) {
    start_server(nullptr);
    start_pool(nullptr);
    drive(io, [&]() -> Awaitable<void> {
        BOOST_TEST(co_await echo("plain") == "plain");
        server->set_keys(only_1);
        co_await eventually([&] { return pool->stats().links_now == 0; }, "the plain link closes");
        BOOST_TEST(is(co_await open("plain"), errc::broken));
        pool->set_keys(only_1);
        BOOST_TEST(co_await echo("sealed") == "sealed");
        // Losing the last key is no way back.
        const auto none = std::make_shared<const LinkKeys>();
        pool->set_keys(none);
        BOOST_TEST(is(co_await open("plain"), errc::wrong_key));
        server->set_keys(none);
        pool->set_keys(only_1);
        BOOST_TEST(is(co_await open("sealed"), errc::wrong_key));
        BOOST_TEST(server->stats().refused_encryption == 1);
    });
}

BOOST_AUTO_TEST_CASE(traffic_keys_are_replaced_under_a_large_answer) {
    config.rekey_records = 3;
    start_server(only_1);
    start_pool(only_1);
    std::string body;
    for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i) + ",";
    drive(io, [&]() -> Awaitable<void> { BOOST_TEST(co_await echo(body) == body); });
}

BOOST_AUTO_TEST_SUITE_END()
