// One KV service among others, over links.
#include "app/kv/replicator_thread.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../io/link_support.h"
#include "../io/support.h"
#include "io/crypto/openssl_crypto.h"
#include "io/link/server.h"
#include "kv/messages.h"
#include "support/members.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::shared;
using namespace exa::io::test;
using exa::io::as_result;
using exa::io::Awaitable;

namespace {

constexpr PeerId self_id{0xa};
constexpr PeerId other_id{0xb};
constexpr exa::kv::SegmentKey key{};
const io::crypto::OpenSslCrypto crypto;
const exa::kv::SegmentSealer sealer(crypto, as_bytes("a secret"));

io::link::LinkIdentity identity(PeerId peer) {
    return {cluster_id("test"), peer, Generation{1}, "test"};
}

std::shared_ptr<const membership::Member> member(PeerId id, Endpoint link) {
    wire::PeerRecord record;
    record.id = id;
    record.generation = Generation{1};
    record.state = wire::PeerState::serving;
    record.link = link;
    record.kv_gib = 1;
    return exa::test::member_of(std::move(record));
}

// The other peer: it has the segment, and its line is slow.
class SlowPeer {
  public:
    SlowPeer(asio::io_context& io, std::size_t pieces, Duration piece_time)
        : server_(io, {}, identity(other_id), log_), pieces_(pieces), piece_time_(piece_time) {
        exa::kv::SegmentHead head;
        head.tokens = 64;
        sealer.seal(head, *segment_);
        server_.on_open([this, &io](std::shared_ptr<io::link::InboundStream> stream, const wire::Open& open) {
            const auto question = exa::kv::decode_question(open.body);
            BOOST_REQUIRE(question.has_value());
            asio::co_spawn(io, answer(std::move(stream), question.value().kind), asio::detached);
        });
        BOOST_REQUIRE(server_.bind(any_port).has_value());
    }

    Endpoint endpoint() const { return server_.endpoint(); }
    bool was_cancelled() const { return was_cancelled_; }

  private:
    Awaitable<void> answer(std::shared_ptr<io::link::InboundStream> stream, exa::kv::QuestionKind kind) {
        const exa::kv::Item item{key, 0, static_cast<std::uint32_t>(segment_->size())};
        if (kind == exa::kv::QuestionKind::lookup)
            static_cast<void>(co_await send_data(stream, {0, {}, exa::kv::encode(std::span(&item, 1))}));
        else
            co_await send_segment(stream);
        static_cast<void>(stream->push_end({}));
    }

    Awaitable<void> send_segment(std::shared_ptr<io::link::InboundStream> stream) {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        static_cast<void>(co_await send_data(stream, {0, {}, exa::kv::segment_prefix(segment_->size())}));
        const std::string bytes(as_text(segment_->view()));
        const std::size_t size = bytes.size() / pieces_ + 1;
        for (std::size_t at = 0; at < bytes.size() && !was_cancelled_; at += size) {
            timer.expires_after(piece_time_);
            co_await timer.async_wait(as_result);
            was_cancelled_ = !co_await send_data(stream, {0, {}, bytes.substr(at, size)});
        }
    }

    NullLog log_;
    io::link::LinkServer server_;
    const std::size_t pieces_;
    const Duration piece_time_;
    const std::shared_ptr<exa::kv::SegmentBuffer> segment_ = std::make_shared<exa::kv::SegmentBuffer>(100'000);
    bool was_cancelled_ = false;
};

// Asks a slow peer for what a disk has lost, and waits until it is there or given up.
struct Fetching {
    Fetching(std::size_t pieces, Duration piece_time, Duration patience) : peer(io, pieces, piece_time) {
        auto now = std::make_shared<ControlView>();
        now->members = exa::test::view_of({member(self_id, any_port), member(other_id, peer.endpoint())});
        view.store(std::move(now));
        node::KvReplicatorConfig config;
        config.exchange.fetch_timeout = patience;
        KvReplicatorThread replicator({identity(self_id), {}, service, sealer, view, clock, log}, config);
        replicator.run();
        replicator.recover(key);
        drive(io, [&]() -> Awaitable<void> {
            co_await eventually([&] { return replicator.status().fetched > 0 || peer.was_cancelled(); },
                                "the segment neither came nor was given up");
        });
        fetched = replicator.status().fetched;
        replicator.stop();
    }

    asio::io_context io{1};
    SlowPeer peer;
    NullLog log;
    const io::clock::SystemClock clock;
    KvService service{{}, sealer, nullptr, [this] { return clock.wall(); }};
    SharedView view;
    std::uint64_t fetched = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_replicator)

BOOST_AUTO_TEST_CASE(a_segment_that_takes_longer_than_patience_comes_over_a_slow_line) {
    const Fetching fetching(40, milliseconds(50), seconds(1));
    BOOST_TEST(fetching.fetched == 1U);
    BOOST_TEST(!fetching.peer.was_cancelled());
}

BOOST_AUTO_TEST_CASE(a_peer_that_falls_silent_within_a_segment_is_given_up) {
    const Fetching fetching(2, seconds(1), milliseconds(300));
    BOOST_TEST(fetching.fetched == 0U);
    BOOST_TEST(fetching.peer.was_cancelled());
}

BOOST_AUTO_TEST_SUITE_END()
