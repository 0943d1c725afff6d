#include "app/attach/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "io/errc.h"
#include "io/http/client.h"

namespace exa::app::attach {

namespace {

namespace json = boost::json;

constexpr int failures_max = 2;

// Whether a list of models as of GET /v1/models has `model`; nothing when it is no such list.
std::optional<bool> lists(std::string_view body, std::string_view model) {
    boost::system::error_code code;
    const json::value list = json::parse({body.data(), body.size()}, code);
    if (code) return std::nullopt;
    const auto* const object = list.if_object();
    const auto* const data = object == nullptr ? nullptr : object->if_contains("data");
    if (data == nullptr || !data->is_array()) return std::nullopt;
    return std::ranges::any_of(data->get_array(), [&](const json::value& one) {
        const auto* const entry = one.if_object();
        const auto* const id = entry == nullptr ? nullptr : entry->if_contains("id");
        return id != nullptr && id->is_string() && std::string_view(id->get_string()) == model;
    });
}

}  // namespace

bool ProbeVerdict::handle(const Result<void>& answer) {
    if (answer) {
        failures_ = 0;
        return !std::exchange(up_, true);
    }
    ++failures_;
    if (answer.error().code != io::errc::connect_failed && failures_ < failures_max) return false;
    return std::exchange(up_, false);
}

Result<bool> probe(const AttachProbeConfig& config) {
    io::http::HttpCall call;
    call.host = config.server.host;
    call.port = config.server.port;
    call.connect_timeout = config.timeout;
    call.idle_timeout = config.timeout;
    if (!config.server.api_key.empty()) call.headers.add("authorization", "Bearer " + config.server.api_key);
    call.target = config.server.prefix + config.health_path;
    EXA_TRY(const io::http::HttpReply health, io::http::http_call(call));
    const bool has_none = health.status == 404 || health.status == 405;
    if (health.status / 100 != 2 && !has_none)
        return error(io::errc::malformed, fmt::format("{} answers {}", config.health_path, health.status));
    call.target = config.server.prefix + "/v1/models";
    EXA_TRY(const io::http::HttpReply models, io::http::http_call(call));
    if (models.status != 200) return error(io::errc::malformed, fmt::format("/v1/models answers {}", models.status));
    const auto listed = lists(models.body, config.model);
    if (!listed) return error(io::errc::malformed, "/v1/models is no list of models");
    return *listed;
}

AttachProbe::AttachProbe(AttachProbeConfig config, ReplicaId replica, std::function<void(ReplicaId, bool up)> on_change,
                         Log& log)
    : config_(std::move(config)),
      replica_(replica),
      on_change_(std::move(on_change)),
      log_(log),
      thread_([this](const std::stop_token& stopping) { run(stopping); }) {}

AttachProbe::~AttachProbe() {
    thread_.request_stop();
    thread_.join();
}

void AttachProbe::run(const std::stop_token& stopping) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    ProbeVerdict verdict;
    for (bool first = true; !stopping.stop_requested(); first = false) {
        const auto answer = probe(config_);
        const bool changed = verdict.handle(answer ? Result<void>(success()) : Result<void>(answer.error()));
        if (changed || (first && !answer)) report(answer, verdict.is_up());
        if (changed) on_change_(replica_, verdict.is_up());
        std::unique_lock lock(mutex);
        stopped.wait_for(lock, stopping, config_.period, [] { return false; });
    }
}

void AttachProbe::report(const Result<bool>& answer, bool up) {
    const LogField replica{"replica", to_string(replica_)};
    const LogField url{"url", config_.server.url};
    if (!up) {
        log_.warn("attach", "the server does not answer", {replica, url, {"error", answer.error().message()}});
        return;
    }
    log_.info("attach", "the server answers", {replica, url});
    if (!answer.value())
        log_.warn("attach", "the server does not list the model", {replica, url, {"model", config_.model}});
}

}  // namespace exa::app::attach
