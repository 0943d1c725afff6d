#include "app/peer.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "app/access/api_key_watch.h"
#include "app/access/certificates.h"
#include "app/access/gate.h"
#include "app/access/gate_keeper.h"
#include "app/access/key_gate.h"
#include "app/access/key_store.h"
#include "app/attach_replicas.h"
#include "app/bring_up.h"
#include "app/control.h"
#include "app/data_plane.h"
#include "app/door/access_log.h"
#include "app/door/cors.h"
#include "app/kv/mesh.h"
#include "app/kv/scrubber.h"
#include "app/kv_start.h"
#include "app/memory.h"
#include "app/resp_start.h"
#include "app/shared/address.h"
#include "app/shared/data_dir.h"
#include "app/shared/errc.h"
#include "io/crypto/openssl_crypto.h"
#include "io/errc.h"
#include "io/log/log.h"
#include "io/net.h"
#include "io/random.h"
#include "io/resolve.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;

// Behind the drain's deadline: for answers to go on elsewhere, and for the door to close.
constexpr std::chrono::seconds move_time{5};
constexpr Duration door_time = std::chrono::seconds(2);
// Signals that repeat the first one this soon are one order: some supervisors send it to the process and to its group.
constexpr std::chrono::seconds signal_repeat{1};

struct Addresses {
    Endpoint gossip;
    Endpoint link;
    Endpoint http;
};

Result<Endpoint> resolve_one(const std::string& text, std::string_view key) {
    if (const auto numeric = parse_endpoint(text)) return *numeric;
    asio::io_context context;
    io::Resolved resolved;
    const auto resolve = [&]() -> asio::awaitable<void> {
        resolved = co_await io::resolve_all({text}, 0, std::chrono::seconds(5));
    };
    asio::co_spawn(context, resolve(), asio::detached);
    context.run();
    if (resolved.endpoints.empty())
        return error(errc::usage, fmt::format("{}: {}", key, resolved.failures.front().message()));
    return resolved.endpoints.front();
}

Result<Addresses> resolve_all(const std::string& gossip, const std::string& link, const std::string& http,
                              std::string_view table) {
    Addresses addresses;
    EXA_TRY(addresses.gossip, resolve_one(gossip, fmt::format("{}.gossip", table)));
    EXA_TRY(addresses.link, resolve_one(link, fmt::format("{}.link", table)));
    EXA_TRY(addresses.http, resolve_one(http, fmt::format("{}.http", table)));
    return addresses;
}

// What is advertised for a listener: its own address when the operator named no other, with the port the system gave.
Endpoint advertised(Endpoint configured, const Endpoint& bound) {
    if (configured.port == 0) configured.port = bound.port;
    return configured;
}

Result<Bytes> root_secret(const PeerConfig& config, const Crypto& crypto) {
    if (config.root_secret_file.empty()) {
        const Digest derived = crypto.hkdf_sha256(as_bytes(config.cluster), as_bytes("exaserve"), as_bytes("root"));
        return Bytes(derived.begin(), derived.end());
    }
    const std::ifstream file(config.root_secret_file, std::ios::binary);
    if (!file) return error(errc::usage, fmt::format("root_secret_file: {} cannot be read", config.root_secret_file));
    std::ostringstream text;
    text << file.rdbuf();
    const ByteView secret = as_bytes(text.view());
    if (secret.size() < 32)
        return error(errc::usage, fmt::format("root_secret_file: {} holds {} bytes, 32 or more are needed",
                                              config.root_secret_file, secret.size()));
    return Bytes(secret.begin(), secret.end());
}

Error cannot_bind(std::string_view what, const Error& cause) {
    return error(errc::cannot_bind, fmt::format("{}: {}", what, cause.message()));
}

// No plaintext beyond this machine unless the operator says so, and none at all of a peer that has keys.
Result<void> check_sealing(const PeerConfig& config, const membership::KeyRing& ring, const Addresses& listen) {
    if (config.unsealed && ring.is_sealed())
        return error(errc::usage, fmt::format("security.unsealed: this peer has keys ({}); remove them to leave the "
                                              "sealed cluster",
                                              config.cluster_key_file.empty() ? config.data_dir + "/keys"
                                                                              : "security.cluster_key_file"));
    if (ring.is_sealed() || config.unsealed) return success();
    for (const auto& [key, endpoint] : {std::pair("listen.gossip", listen.gossip), {"listen.link", listen.link}})
        if (!is_loopback(endpoint))
            return error(errc::usage,
                         fmt::format("{}: {} can be reached from other machines, and there is no key to seal what is "
                                     "said there. Either give every peer the same security.cluster_key_file ('exaserve "
                                     "keys generate > cluster.key' makes one), or set security.unsealed = true on a "
                                     "network that you trust",
                                     key, to_string(endpoint)));
    return success();
}

// Nobody uses the models from beyond this machine without a key unless the operator says so.
Result<void> check_door(const PeerConfig& config, std::string_view key, const Endpoint& door) {
    if (!config.api_keys_file.empty() || config.open_door || is_loopback(door)) return success();
    return error(
        errc::usage,
        fmt::format("{}: {} can be reached from other machines, and there are no API keys. Either set "
                    "security.api_keys_file ('exaserve apikeys create' makes one), or set security.open_door = "
                    "true on a network that you trust",
                    key, to_string(door)));
}

// What a peer without a disk for it keeps is gone with the process: it owns nothing.
std::uint16_t kv_weight(const KvStats& stats) {
    if (!stats.disk) return 0;
    constexpr std::uint64_t most = std::numeric_limits<std::uint16_t>::max();
    return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(stats.disk->capacity_bytes >> 30, 1, most));
}

wire::PeerRecord first_record(const PeerConfig& config, const DataDir& directory, const Addresses& addresses,
                              const LocalReplicas::List& replicas, const KvService* kv) {
    wire::PeerRecord record;
    record.id = directory.peer_id();
    record.generation = directory.generation();
    record.name = config.name;
    record.state = wire::PeerState::starting;
    record.gossip = addresses.gossip;
    record.link = addresses.link;
    record.http = addresses.http;
    record.region = config.region;
    record.rack = config.rack;
    if (kv != nullptr) record.kv_gib = kv_weight(kv->stats());
    for (const auto& replica : replicas) record.replicas.push_back(replica->record);
    return record;
}

// A log's reader that goes away must not end the peer, and a shell's usual limit of 1,024 descriptors is less than what
// HttpConfig and LinkConfig allow.
void prepare_process() {
    std::signal(SIGPIPE, SIG_IGN);
    keep_freed_memory();
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    // With less the peer serves fewer at a time: accepting waits for descriptors.
    setrlimit(RLIMIT_NOFILE, &files);
}

// How often files that may have been replaced are looked at.
constexpr std::chrono::seconds look_again{10};

// Turns a signal, an operator's order or a refusal into the reason to stop, on the main thread.
class StopSwitch {
  public:
    StopSwitch() : signals_(context_, SIGTERM, SIGINT), hangups_(context_), timer_(context_) {
        signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
            if (!cancelled) context_.stop();
        });
    }

    // Thread-safe.
    void leave() { context_.stop(); }
    void refuse(std::string why) {
        asio::post(context_, [this, why = std::move(why)] {
            refusal_ = why;
            context_.stop();
        });
    }

    // Calls `work` within wait(), now and then and for each SIGHUP, which without this ends the process.
    void keep_up(std::function<void(bool hangup)> work) {
        work_ = std::move(work);
        hangups_.add(SIGHUP);
        await_hangup();
        await_time();
    }

    // Blocks until one of the above. A signal that comes more than signal_repeat later ends the process at once.
    Result<void> wait() {
        context_.run();
        signals_.clear();
        std::signal(SIGTERM, SIG_IGN);
        std::signal(SIGINT, SIG_IGN);
        rearm_ = std::jthread([](const std::stop_token& stopping) {
            std::mutex mutex;
            std::condition_variable_any stopped;
            std::unique_lock lock(mutex);
            if (stopped.wait_for(lock, stopping, signal_repeat, [&] { return stopping.stop_requested(); })) return;
            std::signal(SIGTERM, SIG_DFL);
            std::signal(SIGINT, SIG_DFL);
        });
        if (!refusal_.empty()) return error(errc::refused, refusal_);
        return success();
    }

  private:
    void await_hangup() {
        hangups_.async_wait([this](const boost::system::error_code& cancelled, int) {
            if (cancelled) return;
            work_(true);
            await_hangup();
        });
    }
    void await_time() {
        timer_.expires_after(look_again);
        timer_.async_wait([this](const boost::system::error_code& cancelled) {
            if (cancelled) return;
            work_(false);
            await_time();
        });
    }

    asio::io_context context_{1};
    asio::signal_set signals_;
    asio::signal_set hangups_;
    asio::steady_timer timer_;
    std::function<void(bool)> work_;
    std::string refusal_;
    std::jthread rearm_;
};

// Stops the replicas, whose events go to the data plane, before that is gone: however the peer's life ends.
class ReplicaStop {
  public:
    explicit ReplicaStop(const LocalReplicas& replicas) : replicas_(replicas) {}
    ReplicaStop(const ReplicaStop&) = delete;
    ReplicaStop& operator=(const ReplicaStop&) = delete;
    ~ReplicaStop() {
        const auto list = replicas_.all();
        for (const auto& replica : *list) replica->backend->stop();
    }

  private:
    const LocalReplicas& replicas_;
};

// Lets what operators have ordered be answered while the data planes are there.
class KvStop {
  public:
    explicit KvStop(std::shared_ptr<KvService> service) : service_(std::move(service)) {}
    KvStop(const KvStop&) = delete;
    KvStop& operator=(const KvStop&) = delete;
    ~KvStop() {
        if (service_) service_->stop();
    }

  private:
    const std::shared_ptr<KvService> service_;
};

// Ends what the KV service does with other peers while the views that it reads are there.
class MeshStop {
  public:
    explicit MeshStop(KvMesh* mesh) : mesh_(mesh) {}
    MeshStop(const MeshStop&) = delete;
    MeshStop& operator=(const MeshStop&) = delete;
    ~MeshStop() {
        if (mesh_ != nullptr) mesh_->stop();
    }

  private:
    KvMesh* mesh_;
};

// Joins the threads of the data planes while the control strand, to which they hand messages, is there. The planes
// themselves stay for what the control strand still tells them.
class PlaneStop {
  public:
    explicit PlaneStop(const std::vector<std::unique_ptr<DataPlane>>& planes) : planes_(planes) {}
    PlaneStop(const PlaneStop&) = delete;
    PlaneStop& operator=(const PlaneStop&) = delete;
    ~PlaneStop() {
        for (const auto& plane : planes_) plane->stop();
    }

  private:
    const std::vector<std::unique_ptr<DataPlane>>& planes_;
};

// Waits until `done`, looking again every few milliseconds; false when `deadline` came first.
bool wait_until(const std::function<bool()>& done, std::chrono::steady_clock::time_point deadline) {
    while (!done()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

// Replicas here admit nothing new and finish what runs; the door stays open, routing new requests elsewhere, until
// everything it had taken before is answered; then it closes and the cluster is told. Answers that are not done by the
// deadline go on at other replicas, and have a little longer to reach this door's clients.
//
// What is stored here is given to its new owners meanwhile, and until the deadline.
void drain(const PeerConfig& config, LocalReplicas& replicas, Control& control,
           const std::vector<std::unique_ptr<DataPlane>>& planes, const KvService* kv, Log& log) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(config.drain_seconds);
    log.info("peer", "draining", {{"seconds_max", std::to_string(config.drain_seconds)}});
    control.set_peer_state(wire::PeerState::draining);
    const auto list = replicas.all();
    for (const auto& replica : *list) replica->state = wire::ReplicaState::draining;
    std::vector<std::weak_ptr<const void>> earlier;
    for (const auto& plane : planes) earlier.push_back(plane->close_epoch().get());
    const auto idle = [&] { return replicas.serving_now().load() == 0; };
    const auto answered = [&] { return std::ranges::all_of(earlier, [](const auto& one) { return one.expired(); }); };
    if (!wait_until([&] { return idle() && answered(); }, deadline)) {
        log.warn("peer", "the drain's deadline is over: answers under way go on at other replicas");
        for (const auto& replica : *list) replica->backend->stop();
        wait_until([&] { return idle() && answered(); }, deadline + move_time);
    }
    // All at once: while one waits, the others would take new requests and have no time left for them.
    std::vector<std::future<bool>> doors;
    for (const auto& plane : planes)
        doors.push_back(plane->drain_door(
            std::max(std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now()), door_time)));
    bool all_answered = true;
    for (auto& door : doors) all_answered = door.get() && all_answered;
    if (!all_answered) log.warn("peer", "answers were cut by the drain's deadline");
    const auto kept = [kv] { return kv != nullptr ? kv->stats().peers : std::nullopt; };
    const auto given_away = [&] {
        const auto peers = kept();
        return !peers || peers->given_away;
    };
    if (!wait_until(given_away, deadline))
        log.warn("peer", "the drain's deadline is over: KV cache that only this peer holds is lost with it",
                 {{"segments_waiting", std::to_string(kept()->waiting)}});
    control.leave(std::chrono::seconds(3));
    std::vector<std::future<void>> links;
    for (const auto& plane : planes) links.push_back(plane->close_links());
    for (auto& closed : links) closed.get();
    log.info("peer", "left the cluster");
}

io::HttpConfig http_limits(const PeerConfig& config) {
    io::HttpConfig http;
    http.header_bytes_max = config.http_header_bytes;
    http.body_bytes_max = config.http_body_bytes;
    http.idle_timeout = std::chrono::seconds(config.http_idle_seconds);
    http.connections_max = config.http_connections;
    return http;
}

}  // namespace

Result<void> run_peer(const PeerConfig& config, std::string_view software) {
    io::LogConfig log_config;
    log_config.level = config.log_level;
    log_config.format = config.log_json ? io::LogFormat::json : io::LogFormat::text;
    log_config.peer = config.name;
    EXA_TRY(const std::unique_ptr<Log> log, io::make_log(log_config));
    prepare_process();

    EXA_TRY(const Addresses listen,
            resolve_all(config.listen_gossip, config.listen_link, config.listen_http, "listen"));
    EXA_TRY(check_door(config, "listen.http", listen.http));
    std::optional<Endpoint> resp_endpoint;
    if (!config.kv_resp_listen.empty()) {
        EXA_TRY(resp_endpoint, resolve_one(config.kv_resp_listen, "kv.resp_listen"));
        EXA_TRY(check_door(config, "kv.resp_listen", *resp_endpoint));
    }
    EXA_TRY(Addresses advertise,
            resolve_all(config.advertise_gossip, config.advertise_link, config.advertise_http, "advertise"));
    EXA_TRY(const DataDir directory, DataDir::open(config.data_dir, PeerId{io::random_u64()}));
    const io::SystemClock clock;
    const io::OpenSslCrypto crypto;
    const TimePoint started = clock.now();
    EXA_TRY(const Bytes secret, root_secret(config, crypto));
    const router::SessionTokens tokens(crypto, secret);
    const KeyStore key_store(directory, crypto);
    EXA_TRY(const membership::KeyRing ring, key_store.load(config.cluster_key_file));
    EXA_TRY(check_sealing(config, ring, listen));
    const io::LinkSealing sealing{&crypto,
                                  ring.is_sealed() ? std::make_shared<const LinkKeys>(ring.link_keys()) : nullptr};

    const kv::SegmentSealer sealer(crypto, secret);
    EXA_TRY(const std::shared_ptr<KvService> kv, start_kv(config, directory.peer_id(), sealer, clock, *log));
    const auto replicas = std::make_shared<LocalReplicas>();
    const KvAdmin kv_admin(crypto, secret, kv, replicas);
    if (config.engine == "attach") {
        EXA_TRY(LocalReplicas::List attached, make_attached_replicas(config, directory.peer_id()));
        replicas->publish(std::move(attached));
    } else if (config.replicas > 0) {
        EXA_TRY(const LoadedModel model,
                config.engine == "null" ? Result<LoadedModel>(null_model()) : load_model(config.model_path));
        replicas->publish(make_replicas(config, model, directory.peer_id(), clock, {crypto, secret, kv}));
        log->info("peer", "model loaded",
                  {{"engine", config.engine},
                   {"file", config.engine == "null" ? "" : config.model_path},
                   {"model", config.model_name}});
    }

    EntryConfig entry;
    entry.hash_only = config.http_routing == "hash";
    entry.first_byte_timeout = std::chrono::seconds(config.http_first_byte_seconds);
    entry.idle_timeout = std::chrono::seconds(config.http_stream_idle_seconds);
    entry.warm_up_secret = fmt::format("{:016x}{:016x}", io::random_u64(), io::random_u64());
    OpenGate open_gate;
    std::optional<KeyGate> key_gate;
    std::optional<GateKeeper> gate_keeper;
    if (!config.api_keys_file.empty()) {
        ApiKeyWatch watch(config.api_keys_file);
        auto keys = watch.poll();
        if (!*keys) return error(errc::usage, "security.api_keys_file: " + keys->error().detail);
        key_gate.emplace(crypto, clock, entry.warm_up_secret, std::move(*keys).value());
        gate_keeper.emplace(std::move(watch), *key_gate, directory, *log);
    }

    EXA_TRY(const Cors cors, Cors::parse(config.http_cors_origins));
    std::unique_ptr<Certificates> certificates;
    if (!config.http_certificate_file.empty()) {
        EXA_TRY(certificates,
                Certificates::load(config.http_certificate_file, config.http_key_file, clock.wall(), *log));
    }
    std::unique_ptr<AccessLog> access_log;
    if (!config.http_access_log.empty()) {
        EXA_TRY(access_log, AccessLog::open(config.http_access_log));
    }

    SharedView view;
    Totals totals(config.http_threads);
    StatsBoard stats(config.http_threads);
    StopSwitch stop;
    const io::LinkIdentity identity{cluster_id(config.cluster), directory.peer_id(), directory.generation(),
                                    config.name};
    std::unique_ptr<KvMesh> mesh;
    if (kv) {
        mesh = std::make_unique<KvMesh>(KvMeshParts{.identity = identity,
                                                    .sealing = sealing,
                                                    .service = *kv,
                                                    .sealer = sealer,
                                                    .view = view,
                                                    .clock = clock,
                                                    .log = *log});
        kv->set_peers(*mesh);
    }
    const MeshStop stop_mesh(mesh.get());
    std::optional<KvScrubber> scrubber;
    if (kv) scrubber.emplace(*kv, KvScrubConfig{.bytes_per_second = std::uint64_t{config.kv_scrub_mb} << 20});
    std::vector<std::unique_ptr<DataPlane>> planes;
    Control control({.identity = identity,
                     .replicas = replicas,
                     .view = view,
                     .clock = clock,
                     .log = *log,
                     .on_refused = [&stop](std::string why) { stop.refuse(std::move(why)); },
                     .keys = key_store,
                     .crypto = crypto,
                     .on_keys =
                         [&planes, &mesh](std::shared_ptr<const LinkKeys> keys) {
                             for (const auto& plane : planes) plane->set_keys(keys);
                             if (mesh) mesh->set_keys(keys);
                         },
                     .first_keys = sealing.keys});

    router::Config routing;
    routing.queue_wait = std::chrono::milliseconds(config.http_queue_ms);
    const DataPlaneShared shared{
        .identity = identity,
        .router = routing,
        .entry = entry,
        .http = http_limits(config),
        .replicas = replicas,
        .view = view,
        .tokens = tokens,
        .gate = key_gate ? static_cast<Gate&>(*key_gate) : open_gate,
        .cors = cors,
        .clock = clock,
        .totals = totals,
        .stats = stats,
        .log = *log,
        .stream_spell = std::chrono::microseconds(config.http_stream_spell_us),
        .reuse_port = config.http_threads > 1,
        .sealing = sealing,
        .tls = certificates ? certificates->serving() : nullptr,
        .access_log = access_log.get(),
        .kv = mesh.get(),
        .on_sync = [&control](PeerId from, Bytes message) { control.handle_sync(from, std::move(message)); },
        .on_link_broken = [&control](PeerId peer, Generation life) { control.handle_link_broken(peer, life); },
        .actions = {.facts =
                        [&] {
                            const Totals::Sum sum = totals.sum();
                            const auto now = view.load();
                            return PeerFacts{
                                .cluster = config.cluster,
                                .software = std::string(software),
                                .uptime = clock.now() - started,
                                .requests = sum.requests,
                                .requests_failed = sum.failed,
                                .requests_in_flight = sum.in_flight,
                                .gossip_ignored = now->gossip_refused + now->udp.oversized,
                                .links_refused = sum.links_refused,
                                .https = certificates ? std::optional(certificates->view()) : std::nullopt};
                        },
                    .metrics = {},
                    .kv = &kv_admin,
                    .join = [&control](std::vector<std::string> seeds) { control.join(std::move(seeds)); },
                    .leave = [&stop] { stop.leave(); },
                    .accept_losses = [&control] { control.accept_losses(); },
                    .change_keys = [&control](KeyOrder order) { return control.change_keys(std::move(order)); },
                    .drain_seconds = config.drain_seconds}};
    if (shared.reuse_port) {
        asio::io_context context;
        for (const auto& [key, endpoint] : {std::pair("listen.http", listen.http), {"listen.link", listen.link}})
            if (auto unused = io::check_tcp_port_free(context, key, endpoint); !unused)
                return cannot_bind(key, unused.error());
    }
    const PlaneStop stop_planes(planes);
    const KvStop stop_kv(kv);
    const ReplicaStop stop_replicas(*replicas);
    std::unique_ptr<RespService> resp;
    if (resp_endpoint) {
        auto started_resp = start_resp(config, *resp_endpoint, software, crypto, secret, sealer, kv.get(),
                                       identity.peer, key_gate ? &*key_gate : nullptr, clock);
        if (!started_resp) return cannot_bind("kv.resp_listen", started_resp.error());
        resp = std::move(started_resp).value();
    }
    for (std::size_t thread = 0; thread < config.http_threads; ++thread) {
        planes.push_back(std::make_unique<DataPlane>(shared, thread));
        // Of port 0 the system chooses once, for all of them.
        const DataPlane& first = *planes.front();
        auto bound = thread == 0 ? planes.back()->bind(listen.http, listen.link)
                                 : planes.back()->bind(first.http_endpoint(), first.link_endpoint());
        if (!bound) return cannot_bind("listen.http or listen.link", bound.error());
    }
    auto gossip = control.bind(listen.gossip);
    if (!gossip) return cannot_bind("listen.gossip", gossip.error());
    advertise.gossip = advertised(advertise.gossip, gossip.value());
    advertise.link = advertised(advertise.link, planes.front()->link_endpoint());
    advertise.http = advertised(advertise.http, planes.front()->http_endpoint());

    control.run(std::make_unique<node::Node>(
        node::Config{.cluster = identity.cluster, .membership = {}, .keys = ring, .crypto = &crypto},
        first_record(config, directory, advertise, *replicas->all(), kv.get()), io::random_u64(), clock.now()));
    for (const auto& plane : planes) plane->run();
    if (mesh) mesh->run();
    control.join(config.seeds);
    log->info("peer", "serving",
              {{"id", to_string(directory.peer_id())},
               {"generation", std::to_string(directory.generation().value)},
               {"http", to_string(advertise.http)},
               {"gossip", to_string(advertise.gossip)},
               {"link", to_string(advertise.link)},
               {"rack", config.rack},
               {"sealed", ring.is_sealed() ? "with key " + to_string(ring.primary()->id) : "no"},
               {"api_keys", key_gate ? config.api_keys_file : "no"}});

    const auto set_ready = [&](ReplicaId id, bool ready) {
        const auto replica = replicas->find(id);
        auto before = ready ? wire::ReplicaState::warming : wire::ReplicaState::ready;
        const auto after = ready ? wire::ReplicaState::ready : wire::ReplicaState::warming;
        // A drain that has begun stands.
        if (!replica->state.compare_exchange_strong(before, after)) return;
        wire::ReplicaRecord record = replica->record;
        record.state = after;
        control.set_replica(std::move(record));
        log->info("peer", ready ? "replica ready" : "replica not ready", {{"replica", to_string(id)}});
    };
    std::unique_ptr<WarmUp> warm_up;
    std::vector<std::unique_ptr<AttachProbe>> probes;
    if (config.engine == "attach")
        probes = probe_attached(config, *replicas->all(), set_ready, *log);
    else
        warm_up = std::make_unique<WarmUp>(
            WarmUpConfig{.door = (certificates ? "https://" : "http://") + to_string(advertise.http),
                         .secret = entry.warm_up_secret,
                         .trust = [&] { return certificates ? certificates->trust() : nullptr; }},
            replicas->all(), [&](ReplicaId id) { set_ready(id, true); }, *log);
    if (certificates || access_log) {
        stop.keep_up([&, dropped = std::uint64_t{0}](bool hangup) mutable {
            if (certificates)
                certificates->reload(clock.wall(), [&](const std::shared_ptr<const io::TlsSettings>& tls) {
                    for (const auto& plane : planes) plane->set_tls(tls);
                });
            if (!access_log) return;
            if (const auto now = access_log->dropped(); now > std::exchange(dropped, now))
                log->warn("peer", "lines of the access log were dropped", {{"lines_in_all", std::to_string(now)}});
            if (!hangup) return;
            if (auto reopened = access_log->reopen(); !reopened)
                log->error("peer", "the access log goes on to the old file", {{"reason", reopened.error().detail}});
        });
    }
    EXA_TRY(stop.wait());
    warm_up.reset();
    probes.clear();
    drain(config, *replicas, control, planes, kv.get(), *log);
    return success();
}

}  // namespace exa::app
