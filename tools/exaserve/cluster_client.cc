#include "exaserve/cluster_client.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <utility>

#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

// A peer that is there answers in milliseconds; one that is not must not hold up a command for all.
constexpr std::chrono::seconds answer_time{5};

const json::array& members_of(const json::value& reply) {
    static const json::array none;
    const auto* object = reply.if_object();
    const auto* members = object == nullptr ? nullptr : object->if_contains("members");
    return members != nullptr && members->is_array() ? members->get_array() : none;
}

}  // namespace

Outcome<ClusterClient> ClusterClient::open(const Target& target) {
    AdminClient entry(target.url, target.admin_key, answer_time, target.ca_file);
    BOOST_OUTCOME_TRY(const auto reply, entry.get("members"));
    const std::string self = field_text(reply, "self");
    const std::string scheme = target.url.starts_with("https://") ? "https://" : "http://";
    std::vector<ClusterPeer> peers;
    for (const json::value& member : members_of(reply)) {
        const std::string id = field_text(member, "id");
        // The target's own URL is known to work; what it advertises may not be for this machine.
        const std::string url = id == self ? target.url : scheme + field_text(member, "http");
        peers.push_back({id, field_text(member, "name"), field_text(member, "liveness"),
                         AdminClient(url, target.admin_key, answer_time, target.ca_file)});
    }
    std::ranges::sort(peers, {}, &ClusterPeer::name);
    if (std::ranges::find(peers, self, &ClusterPeer::id) == peers.end())
        return Failure{exit_failed, "the peer at " + target.url + " does not say who it is"};
    return ClusterClient(std::move(entry), self, std::move(peers));
}

std::vector<const ClusterPeer*> ClusterClient::alive() const {
    std::vector<const ClusterPeer*> alive;
    for (const ClusterPeer& peer : peers_)
        if (peer.is_alive()) alive.push_back(&peer);
    return alive;
}

const ClusterPeer& ClusterClient::self() const {
    return *std::ranges::find(peers_, self_, &ClusterPeer::id);
}

Outcome<const ClusterPeer*> ClusterClient::find(std::string_view id_or_name) const {
    std::string names;
    for (const ClusterPeer* peer : alive()) {
        if (peer->id == id_or_name || peer->name == id_or_name) return peer;
        names += (names.empty() ? "" : ", ") + peer->name;
    }
    return Failure{exit_usage, "no peer '" + std::string(id_or_name) + "' is alive; there are " + names};
}

Outcome<std::string> ClusterClient::liveness_of(std::string_view id) const {
    BOOST_OUTCOME_TRY(const auto reply, entry_.get("members"));
    for (const json::value& member : members_of(reply))
        if (field_text(member, "id") == id) return field_text(member, "liveness");
    return std::string();
}

}  // namespace exa::cli
