#include "app/warm_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/builtin/backend.h"
#include "app/gateway/ingress.h"
#include "app/replica/warm_up_header.h"
#include "app/shared/errc.h"
#include "engine/batch_replica.h"
#include "engine/null_replica.h"
#include "io/errc.h"
#include "io/http/client.h"
#include "model/llama.h"

namespace exa::app {

namespace {

// One deployment a peer for now: what it is called in replica ids.
constexpr std::string_view deployment = "default";

// What runs a slot, and what its record says of it.
struct Engine {
    std::unique_ptr<engine::Replica> replica;
    std::string version;
    std::string numerics;
    std::uint32_t context_tokens = 0;
    builtin::HostConfig host{};
    std::shared_ptr<const kv::KvScopes> scopes{};
};

exa::kv::CacheFingerprint fingerprint_of(const Crypto& crypto, const model::LlamaModel& llama,
                                         const model::LlamaShape& shape) {
    exa::kv::CacheFingerprint fingerprint;
    // Another kernel family rounds otherwise, so its KV would lead to another text.
    fingerprint.weights = crypto.sha256(as_bytes(llama.numerics()));
    fingerprint.kv_dtype = "f16";
    fingerprint.layout = "layer,kv,token,head,dim";
    fingerprint.rope.dimensions = 2 * shape.rope_pairs;
    fingerprint.rope.base = shape.rope_base;
    if (shape.rope_scale != 1) fingerprint.rope.scaling = "linear";
    fingerprint.rope.factor = shape.rope_scale;
    fingerprint.version = 1;
    return fingerprint;
}

// One token of a short prompt, whatever it is.
Result<void> try_engine(engine::Replica& replica, const config::PeerConfig& config) {
    engine::GenerateRequest request;
    request.prompt = {0};
    request.max_tokens = 1;
    request.sampling.temperature = 0;
    EXA_TRY(replica.submit({}, {}, std::move(request)));
    while (replica.step({})) {
    }
    const auto event = replica.poll_event();
    if (event && event->has_token) return success();
    return error(shared::errc::bad_model,
                 config.model.path + ": the model gives no token for a prompt: what it computes are no numbers");
}

Result<Engine> make_builtin(const config::PeerConfig& config, const builtin::LoadedModel& model, const KvDeps& kv) {
    auto llama = std::make_unique<model::LlamaModel>(model.weights, config.model.kv_tokens / engine::page_tokens);
    Engine made;
    made.version = model.weights->digest().substr(0, 8);
    made.numerics = llama->numerics();
    engine::BatchKvConfig segments;
    if (kv.service) segments = {.segment_tokens = config.kv.segment_tokens, .crypto = &kv.crypto};
    made.scopes = std::make_shared<const kv::KvScopes>(
        kv.crypto, kv.root_secret, fingerprint_of(kv.crypto, *llama, model.weights->shape()), config.kv.segment_tokens);
    made.host.kv = kv.service;
    auto batch = std::make_unique<engine::BatchReplica>(
        std::move(llama), engine::BatchConfig{.in_flight_limit = config.model.in_flight_limit}, segments);
    EXA_TRY(try_engine(*batch, config));
    made.context_tokens = batch->context_tokens();
    made.host.between_tokens = config.model.tbt_target;
    made.replica = std::move(batch);
    return made;
}

Result<Engine> make_null(const config::PeerConfig& config, const builtin::LoadedModel& model) {
    const engine::NullConfig null{.in_flight_limit = config.model.in_flight_limit,
                                  .context_tokens = config.model.kv_tokens,
                                  .vocab_size = model.tokenizer->size(),
                                  .prefill_per_token = config.null_engine.prefill,
                                  .decode_per_token = config.null_engine.decode,
                                  .jitter_permille = config.null_engine.jitter_permille,
                                  .answer_tokens = config.null_engine.answer_tokens};
    return Engine{std::make_unique<engine::NullReplica>(null), "null", "null", config.model.kv_tokens};
}

}  // namespace

Result<replica::LocalReplicas::List> make_replicas(const config::PeerConfig& config, const builtin::LoadedModel& model,
                                                   PeerId peer, const io::clock::SystemClock& clock, const KvDeps& kv) {
    const std::uint32_t context_max = config.model.context_tokens == 0 ? UINT32_MAX : config.model.context_tokens;
    replica::LocalReplicas::List replicas;
    for (std::uint16_t slot = 0; slot < config.model.replicas; ++slot) {
        EXA_TRY(Engine made, model.weights ? make_builtin(config, model, kv) : make_null(config, model));
        auto replica = std::make_shared<replica::LocalReplica>();
        wire::ReplicaRecord& record = replica->record;
        record.id = {peer, deployment_id(deployment), slot};
        record.deployment = deployment;
        record.model = config.model.name;
        record.version = std::move(made.version);
        record.numerics = std::move(made.numerics);
        record.role = "chat";
        record.in_flight_limit = config.model.in_flight_limit;
        record.context_tokens = std::min(context_max, made.context_tokens);
        record.state = wire::ReplicaState::warming;
        made.host.queue.requests_max = config.model.queue_requests;
        replica->state = wire::ReplicaState::warming;
        replica->backend = std::make_shared<builtin::BuiltinBackend>(
            record, model, std::move(made.replica), made.host, [&clock] { return clock.now(); }, made.scopes);
        replicas.push_back(std::move(replica));
    }
    return replicas;
}

WarmUp::WarmUp(WarmUpConfig config, std::shared_ptr<const replica::LocalReplicas::List> replicas,
               std::function<void(ReplicaId)> on_ready, Log& log)
    : config_(std::move(config)),
      replicas_(std::move(replicas)),
      on_ready_(std::move(on_ready)),
      log_(log),
      thread_([this](const std::stop_token& stopping) { run(stopping); }) {}

WarmUp::~WarmUp() {
    thread_.request_stop();
    thread_.join();
}

void WarmUp::run(const std::stop_token& stopping) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    for (const auto& replica : *replicas_) {
        std::uint32_t done = 0;
        while (done < config_.generations) {
            if (stopping.stop_requested()) return;
            if (const auto generated = generate(*replica); generated) {
                ++done;
                continue;
            } else {
                log_.warn("warm-up", "no answer came from the advertised HTTP address",
                          {{"url", config_.url},
                           {"replica", to_string(replica->record.id)},
                           {"error", generated.error().message()}});
            }
            std::unique_lock lock(mutex);
            stopped.wait_for(lock, stopping, config_.retry, [] { return false; });
        }
        on_ready_(replica->record.id);
    }
}

Result<void> WarmUp::generate(const replica::LocalReplica& replica) const {
    EXA_TRY(io::http::HttpCall call, io::http::parse_http_url(config_.url));
    if (config_.trust) call.trust = config_.trust();
    call.method = "POST";
    call.target = "/v1/completions";
    call.headers.add("content-type", "application/json");
    call.headers.add(replica::warm_up_header, config_.secret + " " + to_string(replica.record.id));
    call.headers.add(gateway::model_header, replica.record.model);
    call.body = boost::json::serialize(boost::json::object{
        {"model", replica.record.model}, {"prompt", "Hello"}, {"max_tokens", 4}, {"temperature", 0}});
    EXA_TRY(const io::http::HttpReply reply, io::http::http_call(call));
    if (reply.status != 200)
        return error(io::errc::malformed, fmt::format("status {}: {}", reply.status, reply.body.substr(0, 200)));
    if (reply.headers.find("x-exaserve-replica") != to_string(replica.record.id))
        return error(io::errc::malformed, "another peer answers there");
    return success();
}

}  // namespace exa::app
