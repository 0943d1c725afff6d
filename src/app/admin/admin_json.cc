#include "app/admin/admin_json.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <map>
#include <utility>

#include "app/admin/alarms_json.h"
#include "openai/json.h"
#include "openai/utf8.h"

namespace exa::app::admin {

namespace {

namespace json = boost::json;
using membership::Liveness;
using openai::valid_utf8;  // names that other peers chose may hold any bytes, JSON may not
using wire::ReplicaState;

constexpr std::size_t join_bytes_max = 64 * 1024;
constexpr std::size_t seeds_max = 64;

json::value text_or_null(const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(valid_utf8(text));
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

std::string hex(std::uint64_t value) {
    return to_string(PeerId{value});
}

std::size_t ready_replicas(const wire::PeerRecord& record) {
    std::size_t ready = 0;
    for (const wire::ReplicaRecord& replica : record.replicas) ready += replica.state == ReplicaState::ready;
    return ready;
}

// Its replicas still count: the peer may serve, or may come back before its work is re-created.
bool is_present(Liveness liveness) {
    return liveness == Liveness::alive || liveness == Liveness::suspect;
}

json::object member_json(TimePoint now, const membership::Member& member) {
    const wire::PeerRecord& record = *member.record;
    return {
        {"id", to_string(record.id)},
        {"name", valid_utf8(record.name)},
        {"liveness", name_of(member.liveness)},
        {"state", name_of(record.state)},
        {"generation", record.generation.value},
        {"incarnation", member.incarnation.value},
        {"version", record.version},
        {"since_seconds", seconds(now - member.since)},
        {"region", valid_utf8(record.region)},
        {"rack", valid_utf8(record.rack)},
        {"gossip", to_string(record.gossip)},
        {"link", to_string(record.link)},
        {"http", to_string(record.http)},
        {"replicas", record.replicas.size()},
        {"replicas_ready", ready_replicas(record)},
    };
}

json::value load_json(TimePoint now, const membership::LoadEntry* load) {
    if (load == nullptr) return nullptr;
    return json::object{
        {"in_flight", load->report.in_flight},
        {"in_flight_limit", load->report.in_flight_limit},
        {"queued", load->report.queued},
        {"queued_tokens", load->report.queued_tokens},
        {"kv_used_permille", load->report.kv_used_permille},
        {"age_seconds", seconds(now - load->measured)},
    };
}

json::object replica_json(const membership::Member& member, const wire::ReplicaRecord& replica) {
    return {
        {"id", to_string(replica.id)},
        {"slot", replica.id.slot},
        {"peer", to_string(member.record->id)},
        {"peer_name", valid_utf8(member.record->name)},
        {"rack", valid_utf8(member.record->rack)},
        {"liveness", name_of(member.liveness)},
        {"deployment", valid_utf8(replica.deployment)},
        {"model", valid_utf8(replica.model)},
        {"version", valid_utf8(replica.version)},
        {"role", valid_utf8(replica.role)},
        {"state", name_of(replica.state)},
        {"weight", replica.weight},
        {"context_tokens", replica.context_tokens},
        {"in_flight_limit", replica.in_flight_limit},
    };
}

json::array ring_members_json(const router::RoutingView& view, const router::Pool& pool) {
    json::array members;
    for (std::uint32_t m = 0; m < pool.count; ++m) {
        const router::ReplicaEntry& entry = view.replicas()[pool.first + m];
        members.push_back(json::object{
            {"replica", to_string(entry.record->id)},
            {"peer", to_string(entry.member->record->id)},
            {"peer_name", valid_utf8(entry.member->record->name)},
            {"rack", valid_utf8(entry.member->record->rack)},
            {"weight", entry.record->weight},
            {"points", pool.ring->members()[m].weight * ring::points_per_weight},
            {"share", pool.ring->share(m)},
        });
    }
    return members;
}

json::value id_or_null(const std::optional<ReplicaId>& id) {
    return id ? json::value(to_string(*id)) : json::value(nullptr);
}

json::object candidate_json(const router::ExplainedCandidate& candidate) {
    return {
        {"replica", to_string(candidate.replica)},
        {"peer", to_string(candidate.replica.peer)},
        {"peer_name", valid_utf8(candidate.peer_name)},
        {"load", candidate.load},
        {"load_score", candidate.load_score / double{router::load_score_of_request}},
        {"bound", candidate.bound},
        {"limit", candidate.limit},
        {"queued", candidate.queued},
        {"queued_tokens", candidate.factors.queued_tokens},
        {"kv_used_permille", candidate.factors.kv_used_permille},
        {"tbt_p99_ms", candidate.factors.tbt_p99_ms},
        {"share_permille", candidate.share_permille},
        {"distance", router::to_string(candidate.distance)},
        {"eligibility", router::to_string(candidate.eligibility)},
        {"fits", candidate.fits},
        {"chosen", candidate.chosen},
    };
}

bool looks_like_host_and_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == 0 || colon == std::string_view::npos || text.size() > 300) return false;
    std::uint16_t port = 0;
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return errc == std::errc{} && end == digits.data() + digits.size() && port != 0;
}

// How many replicas there are, and how many are ready: of all models, and of each.
struct ReplicaCounts {
    std::size_t all = 0;
    std::size_t ready = 0;

    void add(bool is_ready) {
        ++all;
        ready += is_ready;
    }
};

struct ClusterCounts {
    std::array<std::size_t, 5> peers{};  // by liveness
    ReplicaCounts replicas;
    std::map<std::string, ReplicaCounts> by_model;
};

ClusterCounts count(const membership::View& view) {
    ClusterCounts counts;
    for (const auto& member : view.members) {
        ++counts.peers[static_cast<std::size_t>(member->liveness)];
        if (!is_present(member->liveness)) continue;
        for (const wire::ReplicaRecord& replica : member->record->replicas) {
            const bool is_ready = replica.state == ReplicaState::ready;
            counts.replicas.add(is_ready);
            counts.by_model[replica.model].add(is_ready);
        }
    }
    return counts;
}

}  // namespace

json::value members_json(TimePoint now, const PeerStatus& facts, const membership::View& view) {
    json::array members;
    for (const auto& member : view.members) members.push_back(member_json(now, *member));
    return json::object{
        {"cluster", valid_utf8(facts.cluster)},
        {"self", to_string(view.self)},
        {"view", view.number},
        {"members", std::move(members)},
    };
}

json::value status_json(const PeerStatus& facts, const membership::View& view) {
    const ClusterCounts counts = count(view);
    json::array models;
    for (const auto& [model, replicas] : counts.by_model)
        models.push_back(
            json::object{{"model", valid_utf8(model)}, {"replicas", replicas.all}, {"replicas_ready", replicas.ready}});
    json::object peer_counts;
    for (const Liveness liveness : {Liveness::alive, Liveness::suspect, Liveness::dead, Liveness::lost, Liveness::left})
        peer_counts[name_of(liveness)] = counts.peers[static_cast<std::size_t>(liveness)];

    json::object status{
        {"cluster", valid_utf8(facts.cluster)},
        {"software", facts.software},
        {"uptime_seconds", seconds(facts.uptime)},
        {"view", view.number},
        {"peers", std::move(peer_counts)},
        {"replicas", counts.replicas.all},
        {"replicas_ready", counts.replicas.ready},
        {"models", std::move(models)},
        {"requests",
         {{"total", facts.requests}, {"failed", facts.requests_failed}, {"in_flight", facts.requests_in_flight}}},
        {"gossip_ignored", facts.gossip_ignored},
        {"links_refused", facts.links_refused},
        {"alarms", alarms_json(view)},
        {"https", nullptr},
        {"api_keys", nullptr},
    };
    if (facts.https) {
        const std::string& failure = facts.https->failure;
        status["https"] = json::object{
            {"subject", facts.https->facts.subject},
            {"not_after_unix", facts.https->facts.not_after_unix_s},
            {"failure", text_or_null(failure)},
        };
    }
    if (facts.api_keys_failure) status["api_keys"] = json::object{{"failure", text_or_null(*facts.api_keys_failure)}};
    if (const membership::Member* self = view.find(view.self)) {
        status["self"] = json::object{
            {"id", to_string(self->record->id)},      {"name", valid_utf8(self->record->name)},
            {"state", name_of(self->record->state)},  {"generation", self->record->generation.value},
            {"rack", valid_utf8(self->record->rack)}, {"http", to_string(self->record->http)},
        };
    }
    return status;
}

json::value replicas_json(TimePoint now, const membership::View& view) {
    json::array replicas;
    for (const auto& member : view.members) {
        if (member->liveness == Liveness::lost || member->liveness == Liveness::left) continue;
        for (const wire::ReplicaRecord& replica : member->record->replicas) {
            json::object object = replica_json(*member, replica);
            object["load"] = load_json(now, view.find_load(replica.id));
            replicas.push_back(std::move(object));
        }
    }
    return json::object{{"view", view.number}, {"replicas", std::move(replicas)}};
}

json::value ring_json(const router::RoutingView& view, std::string_view model) {
    json::array pools;
    for (const router::Pool& pool : model.empty() ? view.pools() : view.pools_of(model)) {
        pools.push_back(json::object{
            {"model", valid_utf8(pool.key.model)},
            {"role", valid_utf8(pool.key.role)},
            {"tenant_pool", valid_utf8(pool.key.tenant_pool)},
            {"version", valid_utf8(pool.key.version)},
            {"digest", hex(pool.ring->digest())},
            {"members", ring_members_json(view, pool)},
        });
    }
    return json::object{{"view", view.number()}, {"pools", std::move(pools)}};
}

json::value route_json(std::string_view session, const router::Explanation& explanation) {
    json::array candidates;
    json::value chosen_name = nullptr;
    for (const router::ExplainedCandidate& candidate : explanation.candidates) {
        if (candidate.replica == explanation.choice) chosen_name = valid_utf8(candidate.peer_name);
        candidates.push_back(candidate_json(candidate));
    }
    const bool has_position = explanation.source != router::PositionSource::none;
    return json::object{
        {"session", has_position ? json::value(valid_utf8(session)) : json::value(nullptr)},
        {"model", valid_utf8(explanation.pool.model)},
        {"role", valid_utf8(explanation.pool.role)},
        {"version", valid_utf8(explanation.pool.version)},
        {"position_source", router::to_string(explanation.source)},
        {"position", has_position ? json::value(hex(explanation.position)) : json::value(nullptr)},
        {"owner", id_or_null(explanation.owner)},
        {"spilled_to", id_or_null(explanation.spilled_to)},
        {"replica", id_or_null(explanation.choice)},
        {"peer", explanation.choice ? json::value(to_string(explanation.choice->peer)) : json::value(nullptr)},
        {"peer_name", std::move(chosen_name)},
        {"reason", explanation.reason ? json::value(router::to_string(*explanation.reason)) : json::value(nullptr)},
        {"candidates", std::move(candidates)},
    };
}

openai::ApiResult<std::vector<std::string>> parse_join(std::string_view body) {
    BOOST_OUTCOME_TRY(const auto value, openai::parse_object(body, join_bytes_max));
    const openai::Fields fields(value.get_object(), {});
    const auto* list = fields.find("seeds");
    if (list == nullptr) return openai::missing("seeds");
    if (!list->is_array()) return openai::wrong_type("seeds", "an array of strings", openai::kind_name(*list));
    const json::array& items = list->get_array();
    if (items.empty() || items.size() > seeds_max)
        return openai::out_of_range("seeds", std::to_string(items.size()) + " seeds", "1 to 64 seeds");
    std::vector<std::string> seeds;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string path = "seeds[" + std::to_string(i) + "]";
        BOOST_OUTCOME_TRY(auto seed, openai::as_text(items[i], path));
        if (!looks_like_host_and_port(seed))
            return openai::out_of_range(path, seed, "HOST:PORT (IPv6 as [::1]:7946) with a port of 1 to 65535");
        seeds.push_back(std::move(seed));
    }
    return seeds;
}

json::value join_json(const std::vector<std::string>& seeds) {
    return json::object{{"seeds", json::array(seeds.begin(), seeds.end())}};
}

json::value leave_json(std::uint32_t drain_seconds, int pid) {
    return json::object{{"state", name_of(wire::PeerState::draining)}, {"drain_seconds", drain_seconds}, {"pid", pid}};
}

json::value confirm_dead_json(const membership::View& view, const std::string& warning) {
    const auto is_dead = [](const auto& member) { return member->liveness == Liveness::dead; };
    return json::object{{"held", view.alarms.losses_held},
                        {"dead", std::ranges::count_if(view.members, is_dead)},
                        {"warning", text_or_null(warning)}};
}

std::string_view name_of(Liveness liveness) {
    constexpr std::array<std::string_view, 5> names = {"alive", "suspect", "dead", "lost", "left"};
    return names[static_cast<std::size_t>(liveness)];
}

std::string_view name_of(ReplicaState state) {
    constexpr std::array<std::string_view, 8> names = {"created",  "loading", "warming",  "ready",
                                                       "draining", "stopped", "degraded", "failed"};
    return names[static_cast<std::size_t>(state)];
}

std::string_view name_of(wire::PeerState state) {
    constexpr std::array<std::string_view, 4> names = {"starting", "serving", "draining", "leaving"};
    return names[static_cast<std::size_t>(state)];
}

}  // namespace exa::app::admin
