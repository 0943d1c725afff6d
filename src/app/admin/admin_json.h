// The JSON of a peer's admin API: what `exaserve members`, `status`, `ring`, `route` and `replicas` show.
//
//   GET  /exaserve/v1/members                     members_json
//   GET  /exaserve/v1/status                      status_json
//   GET  /exaserve/v1/replicas                    replicas_json
//   GET  /exaserve/v1/ring?model=M                ring_json         without a model: every pool
//   GET  /exaserve/v1/route?session=ID&model=M    route_json        without a model: the only one there is; also
//        &tenant=T &priority=P &prefix=HEX &prompt_tokens=N: of a request that says so, the last two of its prompt;
//        &unchecked=true: also when the tenant may not use the model
//   GET  /exaserve/v1/kv                          kv_json           app/admin/kv_json.h
//   POST /exaserve/v1/kv {"action":...}           app/admin/kv_admin.h
//   POST /exaserve/v1/join {"seeds":[...]}        join_json         200
//   POST /exaserve/v1/leave                       leave_json        202, then the peer drains and ends
//   POST /exaserve/v1/confirm-dead               confirm_dead_json 200
//
// Ids and ring positions are hexadecimal strings, since a JSON number does not hold 64 bits everywhere; times are
// seconds before now. Lists are sorted by id, so that equal views give equal text on every peer.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/access/certificates.h"
#include "base/time.h"
#include "membership/view.h"
#include "openai/error.h"
#include "router/explanation.h"
#include "router/routing_view.h"

namespace exa::app::admin {

// What a peer knows of itself beside its views.
struct PeerStatus {
    std::string cluster;
    std::string software;  // version of the program
    Duration uptime{0};
    // Since its start, as the ingress; all of them of this peer's data-plane threads together.
    std::uint64_t requests = 0;
    std::uint64_t requests_failed = 0;  // answered 5xx, or broke in the middle
    std::uint64_t requests_in_flight = 0;
    // Datagrams on the gossip port that were not ours or damaged.
    std::uint64_t gossip_ignored = 0;
    // Connections on the link port that did not speak our protocol.
    std::uint64_t links_refused = 0;
    std::optional<access::CertificateView> https{};  // nothing: the gateway speaks plain HTTP
    // Why the file of API keys as it is now is not used; empty when it is. Nothing: there is none.
    std::optional<std::string> api_keys_failure{};
};

// {"cluster","self","view","members":[{"id","name","liveness","state","generation","incarnation","version",
//  "since_seconds","region","rack","gossip","link","http","replicas","replicas_ready"}]}
boost::json::value members_json(TimePoint now, const PeerStatus& facts, const membership::View& view);

// {"cluster","software","uptime_seconds","self":{"id","name","state","generation","rack","http"},"view",
//  "peers":{"alive","suspect","dead","lost","left"},"replicas","replicas_ready",
//  "models":[{"model","replicas","replicas_ready"}],
//  "requests":{"total","failed","in_flight"},"gossip_ignored","links_refused","alarms":[names],
//  "https":null or {"subject","not_after_unix","failure":null or text},"api_keys":null or {"failure":null or text}}
// Replicas count on peers that are alive or suspect.
boost::json::value status_json(const PeerStatus& facts, const membership::View& view);

// {"view","replicas":[{"id","slot","peer","peer_name","rack","liveness","deployment","model","version","role","state",
//  "weight","context_tokens","in_flight_limit","load":null or {"in_flight","queued_tokens","kv_used_permille",
//  "age_seconds"}}]}, of every peer that has not left and is not lost.
boost::json::value replicas_json(TimePoint now, const membership::View& view);

// {"view","pools":[{"model","role","tenant_pool","version","digest","members":[{"replica","peer","peer_name","rack",
//  "weight","points","share"}]}]}. An empty `model` means all; a model that nobody serves gives no pools.
boost::json::value ring_json(const router::RoutingView& view, std::string_view model);

// {"session","model","role","version","position_source","position","owner","spilled_to","replica","peer","peer_name",
//  "reason","candidates":[{"replica","peer","peer_name","load","load_score","bound","limit","queued","queued_tokens",
//  "kv_used_permille","tbt_p99_ms","share_permille","distance","eligibility","fits","chosen"}]}.
// "load_score" is of all that loads a replica, in requests, as the bound is; "share_permille" below 1000 is of a new
// one; without a session, "session" and "owner" are null. "owner" is the ring's alone, the same on every peer;
// "replica" is where a request would go now, null when nowhere.
boost::json::value route_json(std::string_view session, const router::Explanation& explanation);

// The members of "seeds": 1 to 64 texts, each "host:port" as far as a glance can tell.
openai::ApiResult<std::vector<std::string>> parse_join(std::string_view body);

// {"seeds":[...]}: those that are asked from now on.
boost::json::value join_json(const std::vector<std::string>& seeds);

// {"state":"draining","drain_seconds","pid"}: how long running answers have at most; the peer has left when the process
// is gone.
boost::json::value leave_json(std::uint32_t drain_seconds, int pid);

// {"held","dead","warning"}: whether losses were held at this peer when it was told, how many peers it calls dead, and
// what the command was forced against (null: nothing).
boost::json::value confirm_dead_json(const membership::View& view, const std::string& warning);

// "alive", "suspect", ...
std::string_view name_of(membership::Liveness liveness);
std::string_view name_of(wire::ReplicaState state);
std::string_view name_of(wire::PeerState state);

}  // namespace exa::app::admin
