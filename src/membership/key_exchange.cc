#include "membership/key_exchange.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace exa::membership {

namespace {

// Of log2(n) + this many random peers nearly all are told by somebody in one wave; comparisons find the others.
constexpr std::size_t push_spare = 4;

}  // namespace

void KeyExchange::start(const Crypto& crypto, KeyRing ring) {
    crypto_ = &crypto;
    ring_ = std::move(ring);
}

Effects KeyExchange::set(const Step& step, KeyRing ring) {
    EXA_CHECK(crypto_ != nullptr);
    if (ring == ring_) return {};
    ring_ = std::move(ring);
    return push(step, PeerId{});
}

SyncOut KeyExchange::message(PeerId to, bool want_theirs) const {
    wire::Sync sync;
    sync.kind = wire::SyncKind::keys;
    sync.want_keys = want_theirs;
    sync.keys = ring_.state();
    return {to, std::move(sync)};
}

Effects KeyExchange::push(const Step& step, PeerId except) const {
    Effects effects;
    effects.notices.push_back({EventKind::keys_changed, step.roster.self()});
    std::vector<PeerId> targets = step.roster.live();
    std::erase(targets, except);
    const std::size_t count = std::min<std::size_t>(std::bit_width(targets.size()) + push_spare, targets.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(targets[i], targets[i + step.rng.below(targets.size() - i)]);
        effects.syncs.push_back(message(targets[i], false));
    }
    return effects;
}

std::vector<SyncOut> KeyExchange::compare(const wire::Sync& digest) const {
    if (crypto_ == nullptr || digest.keys_hash == 0 || digest.keys_hash == ring_.hash()) return {};
    return {message(digest.header.sender, true)};
}

std::optional<Effects> KeyExchange::merge(const Step& step, const wire::Sync& keys) {
    if (crypto_ == nullptr) return std::nullopt;
    const PeerId from = keys.header.sender;
    Effects effects;
    if (ring_.merge(*crypto_, keys.keys)) effects = push(step, from);
    if (keys.want_keys && ring_.state() != keys.keys) effects.syncs.push_back(message(from, false));
    return effects;
}

}  // namespace exa::membership
