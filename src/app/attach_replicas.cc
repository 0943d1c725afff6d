#include "app/attach_replicas.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "app/attach/backend.h"
#include "app/shared/errc.h"
#include "app/shared/text_file.h"

namespace exa::app {

namespace {

constexpr std::string_view deployment = "default";

Result<std::string> read_key(const std::string& path) {
    if (path.empty()) return std::string();
    auto text = shared::read_text_file(path, 4096);
    if (!text) return error(shared::errc::usage, "attach.api_key_file: " + text.error().detail);
    std::string key = std::move(text).value();
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
    if (key.empty() || !std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; }))
        return error(shared::errc::usage, "attach.api_key_file: one line of visible ASCII is expected");
    return key;
}

}  // namespace

Result<replica::LocalReplicas::List> make_attached_replicas(const config::PeerConfig& config, PeerId peer, Log& log) {
    EXA_TRY(const std::string key, read_key(config.attach.api_key_file));
    replica::LocalReplicas::List replicas;
    std::vector<attach::AttachServer> servers;
    for (const std::string& url : config.attach.urls) {
        EXA_TRY(attach::AttachServer server, attach::AttachServer::parse(url));
        if (std::ranges::any_of(servers, [&](const attach::AttachServer& other) { return server.is_same(other); })) {
            log.warn("attach", "a server is named twice and counts once", {{"url", url}});
            continue;
        }
        servers.push_back(std::move(server));
    }
    for (attach::AttachServer& server : servers) {
        server.api_key = key;
        auto replica = std::make_shared<replica::LocalReplica>();
        wire::ReplicaRecord& record = replica->record;
        record.id = {peer, deployment_id(deployment), static_cast<std::uint16_t>(replicas.size())};
        record.deployment = deployment;
        record.model = config.model.name;
        record.version = "attach";
        record.role = "chat";
        record.in_flight_limit = config.model.in_flight_limit;
        record.context_tokens = config.model.context_tokens;
        record.state = wire::ReplicaState::warming;
        replica->state = wire::ReplicaState::warming;
        replica->backend =
            std::make_shared<attach::AttachBackend>(record, std::move(server), config.attach.idle_timeout, log);
        replicas.push_back(std::move(replica));
    }
    return replicas;
}

std::vector<std::unique_ptr<attach::AttachProbe>> probe_attached(
    const config::PeerConfig& config, const replica::LocalReplicas::List& replicas,
    const std::function<void(ReplicaId, bool up)>& on_change, Log& log) {
    std::vector<std::unique_ptr<attach::AttachProbe>> probes;
    for (const auto& replica : replicas) {
        attach::AttachProbeConfig one;
        const auto backend = std::static_pointer_cast<attach::AttachBackend>(replica->backend);
        one.server = backend->server();
        one.model = config.model.name;
        one.health_path = config.attach.health_path;
        const auto handle_change = [on_change, backend](ReplicaId id, bool up) {
            on_change(id, up);
            if (!up) backend->drop_unanswered();
        };
        probes.push_back(std::make_unique<attach::AttachProbe>(std::move(one), replica->record.id, handle_change, log));
    }
    return probes;
}

}  // namespace exa::app
