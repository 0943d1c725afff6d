// exa-kv-fetch-bench: two KV services in two processes, one of which fetches what the other has.
//
//   exa-kv-fetch-bench serve memory|disk plain|sealed SEALED_BYTES COUNT DIRECTORY   prints {"port"}, ends with its
//   input exa-kv-fetch-bench fetch PORT plain|sealed SEALED_BYTES COUNT ROUNDS [CHAINS]
//
// The way is that of peers: KvReplicatorThread, kv::Exchange, LinkPool and Receiver on one side, LinkServer and
// Receiver on the other, every segment verified when it arrives. A round fetches all segments, as CHAINS chains at a
// time. Prints
// {"mb_s": [megabytes (10^6) a second of each round], "cpu_ms_per_mb": processor time of this process}.
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/gateway/receiver.h"
#include "app/kv/replicator_thread.h"
#include "app/kv/service.h"
#include "app/memory.h"
#include "base/rng.h"
#include "io/clock/system_clock.h"
#include "io/crypto/openssl_crypto.h"
#include "io/link/server.h"
#include "io/store/segment_store.h"

namespace {

using namespace exa;
namespace asio = boost::asio;

constexpr PeerId server_id{0xb};
constexpr PeerId client_id{0xa};
const io::crypto::OpenSslCrypto crypto;
const kv::SegmentSealer sealer(crypto, as_bytes("a secret of this measurement"));
const LinkKeys cluster_keys{KeyId{1}, {{KeyId{1}, {1, 2, 3}}}};
const io::clock::SystemClock clock_;
NullLog no_log;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "exa-kv-fetch-bench: %s\n", why.c_str());
    std::exit(2);
}

std::uint64_t number(const char* text) {
    return std::strtoull(text, nullptr, 10);
}

kv::SegmentKey key_of(std::uint64_t n) {
    return {crypto.sha256(as_bytes("segment " + std::to_string(n)))};
}

io::link::LinkIdentity identity(PeerId peer) {
    return {cluster_id("bench"), peer, Generation{1}, "bench"};
}

io::link::LinkEncryption encryption(const std::string& how) {
    return how == "sealed" ? io::link::LinkEncryption{&crypto, std::make_shared<const LinkKeys>(cluster_keys)}
                           : io::link::LinkEncryption{};
}

std::shared_ptr<const membership::Member> member(PeerId id, Endpoint link, std::uint16_t kv_gib) {
    auto record = std::make_shared<wire::PeerRecord>();
    record->id = id;
    record->generation = Generation{1};
    record->state = wire::PeerState::serving;
    record->link = link;
    record->kv_gib = kv_gib;
    auto one = std::make_shared<membership::Member>();
    one->record = std::move(record);
    return one;
}

void serve(const std::string& tier, const std::string& how, std::size_t bytes, std::uint64_t count,
           const std::string& directory) {
    std::unique_ptr<io::store::SegmentStore> disk;
    if (tier == "disk") {
        io::store::StoreConfig config;
        config.directory = directory;
        config.capacity_bytes = 2 * bytes * count + (256ull << 20);
        auto opened = io::store::SegmentStore::open(config, sealer, clock_.wall(), no_log);
        if (!opened) fail(opened.error().message());
        disk = std::move(opened).value();
    }
    app::kv::KvServiceConfig config;
    config.memory_bytes = tier == "disk" ? 0 : 2 * bytes * count;
    app::kv::KvService service(config, sealer, std::move(disk), [] { return clock_.wall(); });
    Rng rng(1);
    for (std::uint64_t n = 0; n < count; ++n) {
        kv::SegmentHead head;
        head.key = key_of(n);
        head.tokens = 64;
        auto buffer = std::make_shared<kv::SegmentBuffer>(bytes);
        for (std::uint8_t& byte : buffer->bytes().subspan(kv::segment_header_size))
            byte = static_cast<std::uint8_t>(rng.next());
        if (service.put(head, std::move(buffer)) != io::store::PutOutcome::stored) fail("a segment was not stored");
    }
    app::shared::SharedView view;
    app::kv::KvReplicatorThread replicator(
        {identity(server_id), encryption(how), service, sealer, view, clock_, no_log});
    asio::io_context context{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    app::gateway::ReadyQueue ready;
    app::gateway::Receiver serving(std::make_shared<app::replica::LocalReplicas>(), &replicator, ready,
                                   context.get_executor());
    io::link::LinkServer server(context, {}, identity(server_id), no_log, encryption(how));
    server.on_open([&](std::shared_ptr<io::link::InboundStream> stream, wire::Open open) {
        serving.serve(std::move(open), std::move(stream));
    });
    if (!server.bind(*parse_endpoint("127.0.0.1:0"))) fail("no port");
    std::printf("{\"port\": %u}\n", unsigned{server.endpoint().port});
    std::fflush(stdout);
    std::thread waiter([&context] {
        while (std::cin.get() != EOF) continue;
        context.stop();
    });
    // As a data plane's thread does.
    while (!context.stopped()) {
        if (ready.empty()) context.run_one();
        for (int left = 64; left > 0 && context.poll_one() > 0; --left) continue;
        ready.run();
    }
    waiter.join();
}

double cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void fetch(const std::string& port, const std::string& how, std::size_t bytes, std::uint64_t count, std::size_t rounds,
           std::size_t chains) {
    app::kv::KvServiceConfig config;
    config.memory_bytes = 0;
    app::kv::KvService service(config, sealer, nullptr, [] { return clock_.wall(); });
    auto members = std::make_shared<membership::View>();
    members->members.push_back(member(client_id, *parse_endpoint("127.0.0.1:1"), 0));
    members->members.push_back(member(server_id, *parse_endpoint("127.0.0.1:" + port), 1));
    auto now = std::make_shared<app::shared::ControlView>();
    now->members = std::move(members);
    app::shared::SharedView view;
    view.store(std::move(now));
    app::kv::KvReplicatorThread replicator(
        {identity(client_id), encryption(how), service, sealer, view, clock_, no_log});
    replicator.run();
    std::vector<double> rates;
    const double cpu_before = cpu_s();
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto began = std::chrono::steady_clock::now();
        std::vector<std::promise<std::size_t>> ended(chains);
        for (std::size_t chain = 0; chain < chains; ++chain) {
            std::vector<kv::SegmentKey> keys;
            for (std::uint64_t n = chain; n < count; n += chains) keys.push_back(key_of(n));
            const std::vector<bool> held(keys.size());
            replicator.load(std::move(keys), held, {}, [&promise = ended[chain]](app::kv::KvPeers::Arrival arrival) {
                if (!arrival.segment) promise.set_value(arrival.place);
                return true;
            });
        }
        std::size_t fetched = 0;
        for (auto& one : ended) fetched += one.get_future().get();
        if (fetched != count) fail("fetched " + std::to_string(fetched) + " segments");
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        rates.push_back(static_cast<double>(bytes * count) / 1e6 / took.count());
    }
    const double cpu_ms = (cpu_s() - cpu_before) * 1e3;
    replicator.stop();
    std::printf("{\"mb_s\": [");
    for (std::size_t i = 0; i < rates.size(); ++i) std::printf("%s%.1f", i == 0 ? "" : ", ", rates[i]);
    std::printf("], \"cpu_ms_per_mb\": %.4f}\n", cpu_ms / (static_cast<double>(bytes * count * rounds) / 1e6));
}

}  // namespace

int main(int argc, char** argv) {
    app::keep_freed_memory();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 6 && arguments[0] == "serve")
        serve(arguments[1], arguments[2], number(argv[4]), number(argv[5]), arguments[5]);
    else if ((arguments.size() == 6 || arguments.size() == 7) && arguments[0] == "fetch")
        fetch(arguments[1], arguments[2], number(argv[4]), number(argv[5]), number(argv[6]),
              arguments.size() == 7 ? number(argv[7]) : 1);
    else
        fail(
            "serve memory|disk plain|sealed BYTES COUNT DIRECTORY, or fetch PORT plain|sealed BYTES COUNT ROUNDS "
            "[CHAINS]");
    return 0;
}
