// A small cluster's membership view, made by hand, and a dispatcher that routes by it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "router/dispatcher.h"
#include "router/routing_view.h"
#include "router/session.h"
#include "support/members.h"

namespace exa::router::test {

inline constexpr TimePoint start{std::chrono::seconds(1'000)};
inline constexpr WallTime wall_start{1'700'000'000'000'000};

inline const SessionTokens& test_tokens() {
    static const io::crypto::OpenSslCrypto crypto;
    static const SessionTokens tokens(crypto, as_bytes("a root secret for tests"));
    return tokens;
}

// What a member of the view is made of; tests change it in place.
struct Peer {
    wire::PeerRecord record;
    membership::Liveness liveness = membership::Liveness::alive;
};

// Peers 1 .. n with `slots` ready replicas of model "m" each.
class Cluster {
  public:
    explicit Cluster(std::uint64_t peers, std::uint16_t slots = 2, std::uint32_t limit = 0) {
        for (std::uint64_t p = 1; p <= peers; ++p) {
            Peer member;
            member.record.id = PeerId{p};
            member.record.name = "peer" + std::to_string(p);
            member.record.state = wire::PeerState::serving;
            member.record.link = *parse_endpoint("127.0.0.1:" + std::to_string(7'000 + p));
            for (std::uint16_t s = 0; s < slots; ++s) {
                wire::ReplicaRecord replica;
                replica.id = {PeerId{p}, deployment_id("d"), s};
                replica.state = wire::ReplicaState::ready;
                replica.deployment = "d";
                replica.model = "m";
                replica.version = "1";
                replica.role = "chat";
                replica.numerics = "n";
                replica.in_flight_limit = limit;
                replica.context_tokens = 2'048;
                member.record.replicas.push_back(replica);
            }
            members.push_back(member);
        }
    }

    Peer& peer(std::uint64_t id) { return members.at(id - 1); }
    wire::ReplicaRecord& replica(std::uint64_t peer_id, std::size_t slot) {
        return peer(peer_id).record.replicas.at(slot);
    }

    void set_load(const ReplicaId& id, std::uint32_t in_flight, TimePoint measured) {
        std::erase_if(loads, [&](const auto& entry) { return entry.report.replica == id; });
        membership::LoadEntry entry;
        entry.report.replica = id;
        entry.report.in_flight = in_flight;
        entry.measured = measured;
        loads.push_back(entry);
        std::ranges::sort(loads, {}, [](const auto& load) { return load.report.replica; });
    }

    // As peer `self` sees it. Members that did not change are shared with the view before.
    membership::View view(std::uint64_t self = 1) {
        membership::View view;
        std::map<PeerId, membership::PeerLoads> loads_by_peer;
        view.number = ++number_;
        view.self = PeerId{self};
        published_.resize(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto& old = published_[i];
            const bool same = old && *old->record == members[i].record && old->liveness == members[i].liveness;
            if (same) continue;
            published_[i] = exa::test::member_of(members[i].record, members[i].liveness);
        }
        view.members = membership::MemberList(published_);
        for (const auto& entry : loads) {
            auto& of_peer = loads_by_peer[entry.report.replica.peer];
            of_peer.peer = entry.report.replica.peer;
            of_peer.entries.push_back(entry);
        }
        for (const auto& [peer, of_peer] : loads_by_peer)
            view.loads.push_back(std::make_shared<const membership::PeerLoads>(of_peer));
        return view;
    }

    std::shared_ptr<const RoutingView> routing_view(std::uint64_t self = 1) {
        last_ = RoutingView::build(std::make_shared<const membership::View>(view(self)), last_.get());
        return last_;
    }

    std::vector<Peer> members;
    std::vector<membership::LoadEntry> loads;

  private:
    std::uint64_t number_ = 0;
    std::vector<std::shared_ptr<const membership::Member>> published_;
    std::shared_ptr<const RoutingView> last_;
};

inline Dispatcher make_dispatcher(Cluster& cluster, std::uint64_t seed = 1, const Config& config = {}) {
    Dispatcher dispatcher(config, test_tokens(), Rng(seed));
    dispatcher.handle_view(cluster.routing_view());
    return dispatcher;
}

inline RequestMeta request_for(std::string_view session = {}) {
    return {.wall = wall_start, .model = "m", .session = session};
}

}  // namespace exa::router::test
