// How the key ring of a sealed cluster spreads: pushed over links at each change, and repaired by comparisons, whose
// digests carry its hash.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "membership/membership.h"

namespace exa::membership {

namespace {

// Of log2(n) + this many random peers nearly all are told by somebody in one wave; comparisons find the others.
constexpr std::size_t push_spare = 4;

}  // namespace

void Membership::start_keys(const Crypto& crypto, KeyRing ring) {
    crypto_ = &crypto;
    keys_ = std::move(ring);
}

void Membership::set_keys(KeyRing ring) {
    EXA_CHECK(crypto_ != nullptr);
    if (ring == keys_) return;
    keys_ = std::move(ring);
    emit(EventKind::keys_changed, self());
    push_keys(PeerId{});
}

void Membership::send_keys(PeerId to, bool want_theirs) {
    wire::Sync sync;
    sync.kind = wire::SyncKind::keys;
    sync.want_keys = want_theirs;
    sync.keys = keys_.state();
    send_sync(to, sync);
}

void Membership::push_keys(PeerId but) {
    std::vector<PeerId> targets = roster_.live();
    std::erase(targets, but);
    const std::size_t count = std::min<std::size_t>(std::bit_width(targets.size()) + push_spare, targets.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(targets[i], targets[i + rng_.below(targets.size() - i)]);
        send_keys(targets[i], false);
    }
}

void Membership::compare_keys(const wire::Sync& digest) {
    if (crypto_ != nullptr && digest.keys_hash != 0 && digest.keys_hash != keys_.hash())
        send_keys(digest.header.sender, true);
}

void Membership::take_keys(const wire::Sync& sync) {
    if (crypto_ == nullptr) {
        ++counters_.refused;
        return;
    }
    const PeerId from = sync.header.sender;
    if (keys_.merge(*crypto_, sync.keys)) {
        emit(EventKind::keys_changed, self());
        push_keys(from);
    }
    if (sync.want_keys && keys_.state() != sync.keys) send_keys(from, false);
}

}  // namespace exa::membership
