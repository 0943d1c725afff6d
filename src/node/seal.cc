#include "node/seal.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "wire/checksum.h"
#include "wire/errc.h"

namespace exa::node {

namespace {

using membership::EventKind;

// Only authenticated peers get in, so this is far above any cluster; beyond it the memory starts again.
constexpr std::size_t heard_max = 16'384;

constexpr std::array kinds = {EventKind::heard_plaintext, EventKind::heard_encrypted, EventKind::heard_foreign_key};

const ClusterKey* find(const std::vector<ClusterKey>& keys, KeyId id) {
    const auto at = std::ranges::find(keys, id, &ClusterKey::id);
    return at != keys.end() ? &*at : nullptr;
}

}  // namespace

Seal::Seal(const Crypto* crypto, ClusterId cluster, PeerId self, Generation generation, std::uint32_t life) {
    for (std::size_t i = 0; i < kinds.size(); ++i) alarms_[i].alarm.kind = kinds[i];
    if (crypto == nullptr) return;
    sealer_.emplace(*crypto, cluster, self, generation, life);
    opener_.emplace(*crypto, cluster);
}

void Seal::set_keys(const membership::KeyRing& ring, const membership::KeyRing& stored) {
    EXA_CHECK(encrypts());
    keys_ = ring.installed();
    opener_->set_keys(keys_);
    const ClusterKey* const told = stored.primary();
    const ClusterKey* const primary = told != nullptr && ring.find(told->id) != nullptr ? told : ring.primary();
    primary_ = primary != nullptr ? primary->id : KeyId{};
    for (Heard& heard : alarms_) heard.is_told = false;
}

Result<ByteView> Seal::open(TimePoint now, const Endpoint& from, ByteView bytes) {
    const bool sealed = wire::is_sealed(bytes);
    if (!encrypts()) {
        if (!sealed) {
            auto plain = wire::check_checksum(bytes);
            if (!plain) ++counters_.damaged;
            return plain;
        }
        ++counters_.sealed;
        raise(now, EventKind::heard_encrypted, from, {});
        return error(wire::errc::sealed);
    }
    if (!sealed) {
        ++counters_.plain;
        raise(now, EventKind::heard_plaintext, from, {});
        return error(wire::errc::not_sealed);
    }
    auto opened = opener_->open(bytes);
    if (!opened) {
        const std::error_code why = opened.error().code;
        if (why == wire::errc::unknown_key) {
            ++counters_.unknown_key;
            raise(now, EventKind::heard_foreign_key, from, wire::decode_seal_header(bytes).value().key);
        } else if (why == wire::errc::replayed) {
            ++counters_.replayed;
        } else {
            ++counters_.not_authentic;
        }
        return std::move(opened).error();
    }
    const wire::SealHeader& header = opened.value().header;
    if (heard_of_.size() >= heard_max) heard_of_.clear();
    heard_of_[header.sender] = header.key;
    plain_ = std::move(opened.value().plain);
    return ByteView(plain_);
}

const ClusterKey& Seal::choose(PeerId to) {
    const ClusterKey& primary = *find(keys_, primary_);
    const std::uint64_t chance = [this] {
        std::uint64_t state = ++turn_;
        return splitmix64(state);
    }();
    const auto heard = heard_of_.find(to);
    const bool is_unknown = to == PeerId{};
    if (!is_unknown && (heard == heard_of_.end() || heard->second == primary_)) return primary;
    if (chance % 2 == 0) return primary;
    if (!is_unknown)
        if (const ClusterKey* theirs = find(keys_, heard->second)) return *theirs;
    return keys_[chance / 2 % keys_.size()];
}

std::optional<Bytes> Seal::seal(PeerId to, Bytes plain) {
    if (!encrypts()) return wire::add_checksum(std::move(plain));
    // Without any key, which only insisting on a removal on two sides at once can bring about, nothing leaves.
    auto sealed =
        primary_ == KeyId{} ? Result<Bytes>(error(wire::errc::unknown_key)) : sealer_->seal(choose(to), plain);
    if (!sealed) {
        ++counters_.unsent;
        return std::nullopt;
    }
    return std::move(sealed).value();
}

void Seal::raise(TimePoint now, EventKind kind, const Endpoint& from, KeyId key) {
    Heard& heard = *std::ranges::find(alarms_, kind, [](const Heard& each) { return each.alarm.kind; });
    if (!heard.is_told || now - heard.alarm.last >= quiet) {
        heard.is_told = heard.is_due = true;
        heard.alarm.packets = 0;
    }
    ++heard.alarm.packets;
    heard.alarm.from = from;
    heard.alarm.key = key;
    heard.alarm.last = now;
}

std::optional<EventKind> Seal::take_alarm() {
    for (Heard& heard : alarms_)
        if (std::exchange(heard.is_due, false)) return heard.alarm.kind;
    return std::nullopt;
}

std::vector<SealAlarm> Seal::alarms(TimePoint now) const {
    std::vector<SealAlarm> lasting;
    for (const Heard& heard : alarms_)
        if (heard.is_told && now - heard.alarm.last < quiet) lasting.push_back(heard.alarm);
    return lasting;
}

}  // namespace exa::node
