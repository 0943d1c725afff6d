#include "membership/pull_requests.h"

#include <utility>

namespace exa::membership {

namespace {

// Records asked for; above that all are forgotten, which at worst asks for some of them twice.
constexpr std::size_t asked_max = 4096;

}  // namespace

void PullRequests::add(const Step& step, PeerId from, PeerId peer) {
    if (from == step.roster.self() || step.roster.find(from) == nullptr) return;
    const auto asked = asked_until_.find(peer);
    if (asked != asked_until_.end() && step.now < asked->second) return;
    if (asked_until_.size() >= asked_max) asked_until_.clear();
    asked_until_[peer] = step.now + step.config.pull_timeout;
    auto& requests = waiting_[from];
    if (requests.size() >= wire::digest_entries_max) return;
    const Peer* known = step.roster.find(peer);
    requests.push_back({peer, known != nullptr ? known->record->generation : Generation{},
                        known != nullptr ? known->record->version : 0});
}

std::vector<SyncOut> PullRequests::take() {
    std::vector<SyncOut> out;
    for (auto& [from, requests] : std::exchange(waiting_, {})) {
        wire::Sync sync;
        sync.kind = wire::SyncKind::updates;
        sync.pulls = std::move(requests);
        out.push_back({from, std::move(sync)});
    }
    return out;
}

}  // namespace exa::membership
