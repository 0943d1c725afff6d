#include "app/peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/access_control.h"
#include "app/attach_replicas.h"
#include "app/config/config_json.h"
#include "app/config/secret_files.h"
#include "app/control.h"
#include "app/data_plane.h"
#include "app/drain.h"
#include "app/kv/replicator_thread.h"
#include "app/kv/scrubber.h"
#include "app/kv_start.h"
#include "app/memory.h"
#include "app/open_files.h"
#include "app/peer_context.h"
#include "app/resp_start.h"
#include "app/shared/errc.h"
#include "app/shutdown_signal.h"
#include "app/warm_up.h"
#include "io/log/log.h"
#include "io/net.h"
#include "io/random.h"

namespace exa::app {

namespace {

Error cannot_bind(std::string_view what, const Error& cause) {
    return error(shared::errc::cannot_bind, fmt::format("{}: {}", what, cause.message()));
}

io::log::LogConfig log_config(const config::PeerConfig& config) {
    io::log::LogConfig log = config.log;
    log.peer = config.name;
    return log;
}

// What a peer without a disk for it keeps is gone with the process: it owns nothing.
std::uint16_t kv_weight(const kv::KvStats& stats) {
    if (!stats.disk) return 0;
    constexpr std::uint64_t most = std::numeric_limits<std::uint16_t>::max();
    return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(stats.disk->capacity_bytes >> 30, 1, most));
}

wire::PeerRecord first_record(const config::PeerConfig& config, const io::link::LinkIdentity& identity,
                              const Addresses& addresses, const replica::LocalReplicas::List& replicas,
                              const kv::KvService* kv) {
    wire::PeerRecord record;
    record.id = identity.peer;
    record.generation = identity.generation;
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

// A log's reader that goes away must not end the peer.
void prepare_process(const config::PeerConfig& config, Log& log) {
    std::signal(SIGPIPE, SIG_IGN);
    keep_freed_memory();
    if (const std::string problem = open_files_problem(config, raise_open_files_limit()); !problem.empty())
        log.warn("peer", problem, {});
}

// Stops the replicas, whose events go to the data plane, before that is gone, however the peer ends.
class ReplicaStop {
  public:
    explicit ReplicaStop(const replica::LocalReplicas& replicas) : replicas_(replicas) {}
    ReplicaStop(const ReplicaStop&) = delete;
    ReplicaStop& operator=(const ReplicaStop&) = delete;
    ~ReplicaStop() {
        const auto list = replicas_.all();
        for (const auto& replica : *list) replica->backend->stop();
    }

  private:
    const replica::LocalReplicas& replicas_;
};

// Lets what operators have ordered be answered while the data planes are there.
class KvStop {
  public:
    explicit KvStop(std::shared_ptr<kv::KvService> service) : service_(std::move(service)) {}
    KvStop(const KvStop&) = delete;
    KvStop& operator=(const KvStop&) = delete;
    ~KvStop() {
        if (service_) service_->stop();
    }

  private:
    const std::shared_ptr<kv::KvService> service_;
};

// Ends what the KV service does with other peers while the views that it reads are there.
class ReplicatorStop {
  public:
    explicit ReplicatorStop(kv::KvReplicatorThread* replicator) : replicator_(replicator) {}
    ReplicatorStop(const ReplicatorStop&) = delete;
    ReplicatorStop& operator=(const ReplicatorStop&) = delete;
    ~ReplicatorStop() {
        if (replicator_ != nullptr) replicator_->stop();
    }

  private:
    kv::KvReplicatorThread* replicator_;
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

gateway::IngressConfig ingress_config(const config::PeerConfig& config) {
    gateway::IngressConfig ingress;
    ingress.hash_only = config.http.routing == config::RoutingMode::hash;
    ingress.request.first_byte_timeout = config.http.first_byte_timeout;
    ingress.request.idle_timeout = config.http.stream_idle_timeout;
    ingress.warm_up_secret = fmt::format("{:016x}{:016x}", io::random_u64(), io::random_u64());
    return ingress;
}

// The replicas that the configuration asks for, in state `warming`.
Result<std::shared_ptr<replica::LocalReplicas>> start_replicas(const config::PeerConfig& config,
                                                               const PeerContext& base,
                                                               std::shared_ptr<kv::KvService> kv, Log& log) {
    auto replicas = std::make_shared<replica::LocalReplicas>();
    if (config.model.engine == config::EngineKind::attach) {
        EXA_TRY(replica::LocalReplicas::List attached, make_attached_replicas(config, base.identity.peer, log));
        replicas->publish(std::move(attached));
    } else if (config.model.replicas > 0) {
        const bool is_null = config.model.engine == config::EngineKind::null;
        EXA_TRY(const builtin::LoadedModel model,
                is_null ? Result<builtin::LoadedModel>(builtin::null_model()) : builtin::load_model(config.model.path));
        for (const std::string& warning : model.warnings)
            log.warn("peer", "the model file is doubtful", {{"file", config.model.path}, {"why", warning}});
        EXA_TRY(replica::LocalReplicas::List made, make_replicas(config, model, base.identity.peer, base.clock,
                                                                 {base.crypto, base.root_secret, std::move(kv)}));
        replicas->publish(std::move(made));
        log.info("peer", "model loaded",
                 {{"engine", is_null ? "null" : "builtin"},
                  {"file", is_null ? "" : config.model.path},
                  {"model", config.model.name}});
    }
    return replicas;
}

// What of a peer runs. Many members, because their order is the order in which a peer starts; they end in the reverse
// order, each while what it refers to is there.
class Peer {
  public:
    Peer(const config::PeerConfig& config, config::LiveConfig& live, ShutdownSignal& shutdown,
         std::string_view software, const PeerContext& base, AccessControl& access, gateway::IngressConfig ingress,
         std::shared_ptr<replica::LocalReplicas> replicas, std::shared_ptr<kv::KvService> kv, Log& log);

    // All ports; nothing is answered yet. errc::cannot_bind.
    Result<void> bind();
    // The peer is in the cluster, and its replicas begin to be ready.
    void run();
    // Until it is to end: errc::refused when the cluster has not taken it.
    Result<void> wait();
    void leave();
    // Thread-safe, after run(): what can change live.
    void set_limits(const config::PeerConfig& config);

  private:
    using ReloadDone = std::function<void(Result<boost::json::value>)>;
    void reload_config(ReloadDone done);
    std::uint32_t drain_seconds() const;
    Control make_control();
    DataPlaneShared make_shared_parts();
    admin::PeerStatus status() const;
    Result<void> bind_planes();
    void start_warm_up();
    void set_ready(ReplicaId id, bool ready);

    const config::PeerConfig& config_;  // of the start
    config::LiveConfig& live_;
    ShutdownSignal& shutdown_;
    const std::string software_;
    const PeerContext& base_;
    AccessControl& access_;
    const gateway::IngressConfig ingress_;
    const std::shared_ptr<replica::LocalReplicas> replicas_;
    const std::shared_ptr<kv::KvService> kv_;  // null: none
    Log& log_;
    Addresses advertise_;

    shared::SharedView view_;
    RequestMetrics request_metrics_;
    ThreadMetrics stats_;
    const admin::KvAdmin kv_admin_;
    std::unique_ptr<kv::KvReplicatorThread> replicator_;
    const ReplicatorStop stop_replicator_;
    std::optional<kv::KvScrubber> scrubber_;
    std::vector<std::unique_ptr<DataPlane>> planes_;
    Control control_;
    const DataPlaneShared shared_;
    const PlaneStop stop_planes_{planes_};
    const KvStop stop_kv_{kv_};
    const ReplicaStop stop_replicas_{*replicas_};
    // Reads the file for those who ask by the admin API: that may block.
    boost::asio::thread_pool reloads_{1};
    std::unique_ptr<resp::RespService> resp_;
    std::unique_ptr<WarmUp> warm_up_;
    std::vector<std::unique_ptr<attach::AttachProbe>> probes_;
};

// Null without a service.
std::unique_ptr<kv::KvReplicatorThread> make_replicator(const PeerContext& base, kv::KvService* kv,
                                                        const shared::SharedView& view, Log& log) {
    if (kv == nullptr) return nullptr;
    auto replicator = std::make_unique<kv::KvReplicatorThread>(kv::KvReplicatorDeps{.identity = base.identity,
                                                                                    .encryption = base.encryption,
                                                                                    .service = *kv,
                                                                                    .sealer = base.sealer,
                                                                                    .view = view,
                                                                                    .clock = base.clock,
                                                                                    .log = log});
    kv->set_peers(*replicator);
    return replicator;
}

Peer::Peer(const config::PeerConfig& config, config::LiveConfig& live, ShutdownSignal& shutdown,
           std::string_view software, const PeerContext& base, AccessControl& access, gateway::IngressConfig ingress,
           std::shared_ptr<replica::LocalReplicas> replicas, std::shared_ptr<kv::KvService> kv, Log& log)
    : config_(config),
      live_(live),
      shutdown_(shutdown),
      software_(software),
      base_(base),
      access_(access),
      ingress_(std::move(ingress)),
      replicas_(std::move(replicas)),
      kv_(std::move(kv)),
      log_(log),
      advertise_(base.advertise),
      request_metrics_(config.http.threads),
      stats_(config.http.threads),
      kv_admin_(base.crypto, base.root_secret, kv_, replicas_, config.kv.tenant_quota_gib),
      replicator_(make_replicator(base, kv_.get(), view_, log)),
      stop_replicator_(replicator_.get()),
      control_(make_control()),
      shared_(make_shared_parts()) {
    shutdown_.listen();
    if (kv_)
        scrubber_.emplace(*kv_,
                          kv::KvScrubConfig{.bytes_per_second = std::uint64_t{config.kv.scrub_mib_per_second} << 20});
}

Control Peer::make_control() {
    return Control({.identity = base_.identity,
                    .replicas = replicas_,
                    .view = view_,
                    .clock = base_.clock,
                    .log = log_,
                    .on_refused = [this](std::string why) { shutdown_.refuse(std::move(why)); },
                    .keys = base_.key_store,
                    .directory = base_.directory,
                    .crypto = base_.crypto,
                    .on_keys =
                        [this](std::shared_ptr<const LinkKeys> keys) {
                            for (const auto& plane : planes_) plane->set_keys(keys);
                            if (replicator_) replicator_->set_keys(keys);
                        },
                    .first_keys = base_.encryption.keys});
}

DataPlaneShared Peer::make_shared_parts() {
    return {
        .identity = base_.identity,
        .router = config_.router,
        .ingress = ingress_,
        .http = config_.http_server,
        .bodies = std::make_shared<io::http::BodyBudget>(config_.http_server.body_memory_max),
        .replicas = replicas_,
        .view = view_,
        .tokens = base_.tokens,
        .authorizer = access_.authorizer(),
        .cors = access_.cors(),
        .clock = base_.clock,
        .request_metrics = request_metrics_,
        .stats = stats_,
        .log = log_,
        .stream_coalesce = config_.http.stream_coalesce,
        .reuse_port = config_.http.threads > 1,
        .encryption = base_.encryption,
        .tls = access_.certificates() != nullptr ? access_.certificates()->serving() : nullptr,
        .access_log = access_.access_log(),
        .kv = replicator_.get(),
        .on_sync = [this](PeerId from, Bytes message) { control_.handle_sync(from, std::move(message)); },
        .on_link_broken = [this](PeerId peer, Generation generation) { control_.handle_link_broken(peer, generation); },
        .gateway = {.status = [this] { return status(); },
                    .metrics = {},
                    .kv = &kv_admin_,
                    .join = [this](std::vector<std::string> seeds) { control_.join({.seeds = std::move(seeds)}); },
                    .leave = [this] { shutdown_.leave(); },
                    .confirm_dead = [this](bool insist) { return control_.confirm_dead(insist); },
                    .change_keys =
                        [this](access::KeyCommand command) { return control_.change_keys(std::move(command)); },
                    .config = [this] { return config::config_json(live_.now(), live_.inputs()); },
                    .reload_config = [this](ReloadDone done) { reload_config(std::move(done)); },
                    .drain_seconds = [this] { return drain_seconds(); }}};
}

admin::PeerStatus Peer::status() const {
    const RequestMetrics::Sum sum = request_metrics_.sum();
    const auto now = view_.load();
    return {.cluster = config_.cluster,
            .software = software_,
            .uptime = base_.clock.now() - base_.started,
            .requests = sum.requests,
            .requests_failed = sum.failed,
            .requests_in_flight = sum.in_flight,
            .gossip_ignored = now->gossip_refused + now->udp.oversized,
            .links_refused = sum.links_refused,
            .https = access_.certificates() != nullptr ? std::optional(access_.certificates()->view()) : std::nullopt,
            .api_keys_failure = access_.keys_failure()};
}

Result<void> Peer::bind() {
    if (base_.resp) {
        auto started = start_resp(config_, *base_.resp, software_, base_.crypto, base_.root_secret, base_.sealer,
                                  kv_.get(), base_.identity.peer, access_.keys(), base_.clock);
        if (!started) return cannot_bind("kv.resp_listen", started.error());
        resp_ = std::move(started).value();
    }
    EXA_TRY(bind_planes());
    auto gossip = control_.bind(base_.listen.gossip);
    if (!gossip) return cannot_bind("listen.gossip", gossip.error());
    advertise_.gossip = advertised(advertise_.gossip, gossip.value());
    advertise_.link = advertised(advertise_.link, planes_.front()->link_endpoint());
    advertise_.http = advertised(advertise_.http, planes_.front()->http_endpoint());
    return success();
}

Result<void> Peer::bind_planes() {
    if (shared_.reuse_port) {
        boost::asio::io_context context;
        for (const auto& [key, endpoint] :
             {std::pair("listen.http", base_.listen.http), {"listen.link", base_.listen.link}})
            if (auto unused = io::check_tcp_port_free(context, key, endpoint); !unused)
                return cannot_bind(key, unused.error());
    }
    for (std::size_t thread = 0; thread < config_.http.threads; ++thread) {
        planes_.push_back(std::make_unique<DataPlane>(shared_, thread));
        // Of port 0 the system chooses once, for all of them.
        const DataPlane& first = *planes_.front();
        auto bound = thread == 0 ? planes_.back()->bind(base_.listen.http, base_.listen.link)
                                 : planes_.back()->bind(first.http_endpoint(), first.link_endpoint());
        if (!bound) return cannot_bind("listen.http or listen.link", bound.error());
    }
    return success();
}

void Peer::run() {
    control_.run(
        std::make_unique<node::Node>(node::Config{.cluster = base_.identity.cluster,
                                                  .membership = config_.membership,
                                                  .keys = base_.keys,
                                                  .crypto = &base_.crypto},
                                     first_record(config_, base_.identity, advertise_, *replicas_->all(), kv_.get()),
                                     io::random_u64(), base_.clock.now()));
    for (const auto& plane : planes_) plane->run();
    if (replicator_) replicator_->run();
    control_.join({.seeds = config_.seeds, .members = base_.members, .first = config_.first});
    log_.info("peer", "serving",
              {{"id", to_string(base_.identity.peer)},
               {"generation", std::to_string(base_.identity.generation.value)},
               {"http", to_string(advertise_.http)},
               {"gossip", to_string(advertise_.gossip)},
               {"link", to_string(advertise_.link)},
               {"rack", config_.rack},
               {"encrypted", !base_.keys.empty() ? "with key " + to_string(base_.keys.primary()->id) : "no"},
               {"api_keys", access_.keys() != nullptr ? config_.security.api_keys_file : "no"}});
    start_warm_up();
    shutdown_.maintain([this](bool hangup) {
        if (hangup) std::ignore = live_.reload(log_);
        access_.maintain(hangup, [this](const auto& tls) {
            for (const auto& plane : planes_) plane->set_tls(tls);
        });
    });
}

void Peer::start_warm_up() {
    if (config_.model.engine == config::EngineKind::attach) {
        probes_ =
            probe_attached(config_, *replicas_->all(), [this](ReplicaId id, bool up) { set_ready(id, up); }, log_);
        return;
    }
    const access::Certificates* certificates = access_.certificates();
    warm_up_ = std::make_unique<WarmUp>(
        WarmUpConfig{.url = (certificates != nullptr ? "https://" : "http://") + to_string(advertise_.http),
                     .secret = ingress_.warm_up_secret,
                     .trust = [certificates] { return certificates != nullptr ? certificates->trust() : nullptr; }},
        replicas_->all(), [this](ReplicaId id) { set_ready(id, true); }, log_);
}

void Peer::set_ready(ReplicaId id, bool ready) {
    const auto replica = replicas_->find(id);
    auto before = ready ? wire::ReplicaState::warming : wire::ReplicaState::ready;
    const auto after = ready ? wire::ReplicaState::ready : wire::ReplicaState::warming;
    // A drain that has begun stands.
    if (!replica->state.compare_exchange_strong(before, after)) return;
    wire::ReplicaRecord record = replica->record;
    record.state = after;
    control_.set_replica(std::move(record));
    log_.info("peer", ready ? "replica ready" : "replica not ready", {{"replica", to_string(id)}});
}

void Peer::set_limits(const config::PeerConfig& config) {
    for (const auto& plane : planes_) plane->set_limits(config.router, config.http_server);
}

void Peer::reload_config(ReloadDone done) {
    boost::asio::post(reloads_, [this, done = std::move(done)]() mutable {
        const auto report = live_.reload(log_);
        done(report ? Result<boost::json::value>(config::reload_json(report.value())) : report.error());
    });
}

std::uint32_t Peer::drain_seconds() const {
    return static_cast<std::uint32_t>(live_.now().values.drain_time.count());
}

Result<void> Peer::wait() {
    return shutdown_.wait();
}

void Peer::leave() {
    warm_up_.reset();
    probes_.clear();
    drain({*replicas_, control_, planes_, kv_.get(), base_.clock, log_}, drain_seconds());
}

}  // namespace

Result<void> run_peer(const config::ConfigInputs& inputs, std::string_view software) {
    // Before anything slow: from here on SIGHUP ends no peer.
    ShutdownSignal shutdown;
    EXA_TRY(config::EffectiveConfig effective, config::effective_config(inputs));
    const config::PeerConfig config = effective.values;
    config::LiveConfig live(inputs, std::move(effective));
    EXA_TRY(const std::unique_ptr<io::log::LeveledLog> log, io::log::make_log(log_config(config)));
    prepare_process(config, *log);
    config::warn_of_exposed_files(config, *log);
    EXA_TRY(const std::unique_ptr<const PeerContext> base, PeerContext::open(config));
    EXA_TRY(const std::shared_ptr<kv::KvService> kv,
            start_kv(config, base->identity.peer, base->sealer, base->clock, *log));
    EXA_TRY(const std::shared_ptr<replica::LocalReplicas> replicas, start_replicas(config, *base, kv, *log));
    const gateway::IngressConfig ingress = ingress_config(config);
    EXA_TRY(const std::unique_ptr<AccessControl> access,
            AccessControl::create(config, *base, ingress.warm_up_secret, *log));

    Peer peer(config, live, shutdown, software, *base, *access, ingress, replicas, kv, *log);
    live.on_change([&](const config::PeerConfig& changed) {
        log->set_level(changed.log.level);
        peer.set_limits(changed);
    });
    EXA_TRY(peer.bind());
    peer.run();
    EXA_TRY(peer.wait());
    peer.leave();
    return success();
}

}  // namespace exa::app
