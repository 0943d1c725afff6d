// What sealing costs a link: bytes a second of one link on loopback, plain and under TLS; the processor's time for a
// handshake and for what strangers make an acceptor do; the memory of an idle link. Prints one JSON object.
//
// The two ends of the bulk transfer have a thread each. Times of the processor are of the thread (handshakes) or of the
// process (bulk), so other load on the machine changes them less than it changes the bytes a second.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../integration/io/link_support.h"
#include "base/check.h"
#include "io/crypto/openssl_crypto.h"
#include "io/link/pool.h"
#include "io/link/server.h"
#include "io/link/tls_session.h"

namespace {

using namespace exa;
namespace asio = boost::asio;

constexpr PeerId peer_a{0xa};
constexpr PeerId peer_b{0xb};
const io::crypto::OpenSslCrypto crypto;
const LinkKeys cluster_keys{KeyId{1}, {{KeyId{1}, {1, 2, 3}}}};

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double process_cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

double thread_cpu_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

io::link::LinkIdentity identity(PeerId peer) {
    return {cluster_id("bench"), peer, Generation{1}, "bench"};
}

io::link::LinkEncryption encryption(bool sealed) {
    return sealed ? io::link::LinkEncryption{&crypto, std::make_shared<const LinkKeys>(cluster_keys)}
                  : io::link::LinkEncryption{};
}

// A server on a thread of its own that answers each request with as many bytes as its body says.
class Answerer {
  public:
    explicit Answerer(bool sealed) : server_(context_, {}, identity(peer_b), log_, encryption(sealed)) {
        server_.on_open([this](std::shared_ptr<io::link::InboundStream> stream, wire::Open open) {
            asio::co_spawn(context_, answer(std::move(stream), std::stoull(open.body)), asio::detached);
        });
        EXA_CHECK(server_.bind(*parse_endpoint("127.0.0.1:0")).has_value());
        endpoint_ = server_.endpoint();
        thread_ = std::thread([this] { context_.run(); });
    }
    ~Answerer() {
        context_.stop();
        thread_.join();
    }
    Answerer(const Answerer&) = delete;
    Answerer& operator=(const Answerer&) = delete;
    Endpoint endpoint() const { return endpoint_; }

  private:
    static io::Awaitable<void> answer(std::shared_ptr<io::link::InboundStream> stream, std::uint64_t bytes) {
        const std::string piece(64 * 1024, 'x');
        for (std::uint64_t sent = 0; sent < bytes; sent += piece.size())
            if (!co_await io::test::send_data(stream, {0, {}, piece})) co_return;
        (void)stream->push_end({});
    }

    NullLog log_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    io::link::LinkServer server_;
    Endpoint endpoint_;
    std::thread thread_;
};

io::Awaitable<std::uint64_t> fetch(io::link::LinkPool& pool, Endpoint from, std::uint64_t bytes) {
    wire::Open open;
    open.body = std::to_string(bytes);
    auto stream = co_await pool.open(from, peer_b, open);
    EXA_CHECK(stream.has_value());
    std::uint64_t got = 0;
    while (true) {
        auto frame = co_await io::test::next_frame(stream.value());
        EXA_CHECK(frame.has_value());
        if (const auto* data = std::get_if<wire::Data>(&frame.value())) got += data->bytes.size();
        if (std::holds_alternative<wire::End>(frame.value())) co_return got;
    }
}

// Runs the coroutine to its end.
template <class Body>
void run(asio::io_context& context, Body body) {
    bool done = false;
    asio::co_spawn(context, body(), [&](std::exception_ptr thrown) {
        EXA_CHECK(!thrown);
        done = true;
    });
    context.restart();
    while (!done) context.run_one();
}

struct Bulk {
    double megabytes_s = 0;
    double cpu_s_per_gb = 0;  // of both ends
};

// `streams` answers at once over one link.
Bulk measure_bulk(bool sealed, int streams, std::uint64_t bytes) {
    const Answerer server(sealed);
    NullLog log;
    asio::io_context context{1};
    io::link::LinkPool pool(context, {}, identity(peer_a), log, encryption(sealed));
    run(context, [&]() -> io::Awaitable<void> { co_await fetch(pool, server.endpoint(), 1'000'000); });
    const double cpu = process_cpu_s();
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t got = 0;
    int running = streams;
    for (int i = 0; i < streams; ++i)
        asio::co_spawn(
            context,
            [&]() -> io::Awaitable<void> {
                got += co_await fetch(pool, server.endpoint(), bytes / static_cast<std::uint64_t>(streams));
                --running;
            },
            asio::detached);
    context.restart();
    while (running > 0) context.run_one();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const double amount = static_cast<double>(got);
    return {amount / 1e6 / took.count(), (process_cpu_s() - cpu) / (amount / 1e9)};
}

void give(io::link::TlsSession& to, ByteView bytes) {
    const auto room = to.prepare();
    std::ranges::copy(bytes, room.begin());
    to.commit(bytes.size());
}

// Medians over many, in microseconds of the processor.
struct Handshake {
    double dialler_us = 0;
    double acceptor_us = 0;
    double replay_us = 0;       // an acceptor that is given the ClientHello of another handshake
    double unknown_key_us = 0;  // and one with a key that is not held
    double plain_us = 0;        // and a plain hello
};

double median(std::vector<double>& values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

Handshake measure_handshake(int rounds) {
    const auto context = std::make_shared<const io::link::TlsContext>();
    const auto find = [](const io::link::PskIdentity& claimed) -> Result<Digest> {
        const ClusterKey* key = cluster_keys.find(claimed.key);
        if (key == nullptr) return Error{};
        return io::link::derive_psk(crypto, key->secret, cluster_id("bench"), claimed);
    };
    const auto dial = [&](KeyId key) {
        const io::link::PskIdentity claimed{key, peer_a, peer_b};
        return io::link::TlsSession::dial(
            context, claimed, io::link::derive_psk(crypto, cluster_keys.keys[0].secret, cluster_id("bench"), claimed));
    };
    const auto hello_with = [&](KeyId key) {
        const auto session = dial(key);
        EXA_CHECK(session->handshake().has_value());
        return session->take_output();
    };
    const Bytes replayed = hello_with(KeyId{1});
    const Bytes unknown = hello_with(KeyId{2});
    const Bytes plain = wire::encode_hello(
        {.cluster = cluster_id("bench"), .peer = peer_a, .generation = {}, .target = {}, .name = "bench"});
    std::vector<double> dialler;
    std::vector<double> acceptor;
    std::vector<double> replay;
    std::vector<double> foreign;
    std::vector<double> unsealed;
    for (int round = 0; round < rounds; ++round) {
        const double t0 = thread_cpu_us();
        const auto a = dial(KeyId{1});
        EXA_CHECK(a->handshake().has_value());
        const double t1 = thread_cpu_us();
        const auto b = io::link::TlsSession::accept(context, find);
        give(*b, a->take_output());
        EXA_CHECK(b->handshake().has_value());
        const double t2 = thread_cpu_us();
        give(*a, b->take_output());
        EXA_CHECK(a->handshake().value());
        const double t3 = thread_cpu_us();
        give(*b, a->take_output());
        EXA_CHECK(b->handshake().value());
        const double t4 = thread_cpu_us();
        dialler.push_back(t1 - t0 + t3 - t2);
        acceptor.push_back(t2 - t1 + t4 - t3);
        for (auto* part : {&replay, &foreign, &unsealed}) {
            const double began = thread_cpu_us();
            const auto session = io::link::TlsSession::accept(context, find);
            give(*session, part == &replay ? replayed : part == &foreign ? unknown : plain);
            EXA_CHECK(session->handshake().has_value() == (part == &replay));
            part->push_back(thread_cpu_us() - began);
        }
    }
    return {median(dialler), median(acceptor), median(replay), median(foreign), median(unsealed)};
}

// Bytes of the heap for both ends of an idle link, what the kernel holds apart.
double measure_memory(bool sealed, int links) {
    NullLog log;
    asio::io_context context{1};
    io::link::LinkServer server(context, {}, identity(peer_b), log, encryption(sealed));
    server.on_open([](const std::shared_ptr<io::link::InboundStream>& stream, const wire::Open&) {
        EXA_CHECK(stream->push_end({}).has_value());
    });
    EXA_CHECK(server.bind(*parse_endpoint("0.0.0.0:0")).has_value());
    io::link::LinkPool pool(context, {}, identity(peer_a), log, encryption(sealed));
    // Every address of the loopback network is another endpoint, so another link.
    const auto visit = [&](int number) {
        Endpoint to = *parse_endpoint("127.0.0.1:1");
        to.address[15] = static_cast<std::uint8_t>(number);
        to.port = server.endpoint().port;
        run(context, [&]() -> io::Awaitable<void> { co_await fetch(pool, to, 0); });
    };
    visit(1);
    const auto before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int number = 2; number < links + 2; ++number) visit(number);
    return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd - before) / links;
}

std::string text_of(const Bulk& bulk) {
    return fmt::format(R"({{"megabytes_s": {:.0f}, "cpu_s_per_gb": {:.3f}}})", bulk.megabytes_s, bulk.cpu_s_per_gb);
}

}  // namespace

int main() {
    constexpr std::uint64_t bytes = 2'000'000'000;
    constexpr int handshakes = 500;
    constexpr int links = 100;
    const Bulk plain_one = measure_bulk(false, 1, bytes);
    const Bulk sealed_one = measure_bulk(true, 1, bytes);
    const Bulk plain_many = measure_bulk(false, 16, bytes);
    const Bulk sealed_many = measure_bulk(true, 16, bytes);
    const Handshake handshake = measure_handshake(handshakes);
    fmt::print(R"({{"one_stream": {{"plain": {}, "sealed": {}}}, "sixteen_streams": {{"plain": {}, "sealed": {}}}, )",
               text_of(plain_one), text_of(sealed_one), text_of(plain_many), text_of(sealed_many));
    fmt::print(R"("handshake_cpu_us": {{"dialler": {:.0f}, "acceptor": {:.0f}}}, )", handshake.dialler_us,
               handshake.acceptor_us);
    fmt::print(R"("stranger_cpu_us": {{"replayed_hello": {:.0f}, "unknown_key": {:.0f}, "plain": {:.0f}}}, )",
               handshake.replay_us, handshake.unknown_key_us, handshake.plain_us);
    fmt::print(R"("idle_link_heap_bytes": {{"plain": {:.0f}, "sealed": {:.0f}}}}})"
               "\n",
               measure_memory(false, links), measure_memory(true, links));
}
