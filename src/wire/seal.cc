#include "wire/seal.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "wire/errc.h"

namespace exa::wire {

namespace {

constexpr std::string_view label = "exaserve gossip v1";
// More than a rotation ever has in use at once.
constexpr std::size_t subkeys_max = 4;

void put(std::uint8_t*& at, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = bytes; i > 0; --i) *at++ = static_cast<std::uint8_t>(value >> (8 * (i - 1)));
}

std::uint64_t take(const std::uint8_t*& at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | *at++;
    return value;
}

void write(std::uint8_t* at, const SealHeader& header) {
    put(at, seal_mark, 1);
    put(at, header.key.value, 4);
    put(at, header.sender.value, 8);
    put(at, header.generation.value, 8);
    put(at, header.instance, 4);
    put(at, header.counter, 8);
}

AeadNonce nonce_of(std::uint64_t counter) {
    AeadNonce nonce{};
    std::uint8_t* at = nonce.data() + 4;
    put(at, counter, 8);
    return nonce;
}

std::unique_ptr<Aead> derive(const Crypto& crypto, ClusterId cluster, const KeySecret& secret,
                             const SealHeader& header) {
    std::array<std::uint8_t, label.size() + 8> salt;
    std::uint8_t* at = std::ranges::copy(label, salt.begin()).out;
    put(at, cluster.value, 8);
    std::array<std::uint8_t, 20> info;
    at = info.data();
    put(at, header.sender.value, 8);
    put(at, header.generation.value, 8);
    put(at, header.instance, 4);
    return crypto.aead(crypto.hkdf_sha256(secret, salt, info));
}

// It is the first one then.
Aead* find(Subkeys& subkeys, KeyId key) {
    const auto known = std::ranges::find(subkeys, key, &Subkeys::value_type::first);
    if (known == subkeys.end()) return nullptr;
    std::rotate(subkeys.begin(), known, known + 1);
    return subkeys.front().second.get();
}

Aead& add(Subkeys& subkeys, KeyId key, std::unique_ptr<Aead> subkey) {
    if (subkeys.size() == subkeys_max) subkeys.pop_back();
    subkeys.emplace(subkeys.begin(), key, std::move(subkey));
    return *subkeys.front().second;
}

}  // namespace

bool is_sealed(ByteView packet) {
    return !packet.empty() && packet.front() == seal_mark;
}

Result<SealHeader> decode_seal_header(ByteView packet) {
    if (!is_sealed(packet)) return error(errc::not_sealed);
    if (packet.size() < seal_header_bytes + aead_tag_size) return error(errc::truncated, "seal");
    const std::uint8_t* at = packet.data() + 1;
    SealHeader header;
    header.key.value = static_cast<std::uint32_t>(take(at, 4));
    header.sender.value = take(at, 8);
    header.generation.value = take(at, 8);
    header.instance = static_cast<std::uint32_t>(take(at, 4));
    header.counter = take(at, 8);
    return header;
}

Sealer::Sealer(const Crypto& crypto, ClusterId cluster, PeerId sender, Generation generation, std::uint32_t instance,
               std::uint64_t counters_max)
    : crypto_(crypto), cluster_(cluster), header_{{}, sender, generation, instance, 0}, counters_max_(counters_max) {}

Aead& Sealer::subkey(const ClusterKey& key) {
    if (Aead* const known = find(subkeys_, key.id)) return *known;
    return add(subkeys_, key.id, derive(crypto_, cluster_, key.secret, header_));
}

Result<Bytes> Sealer::seal(const ClusterKey& key, ByteView plain) {
    if (header_.counter >= counters_max_) return error(errc::seal_used_up);
    Aead& aead = subkey(key);
    // One counter for all keys: a subkey that was dropped and derived again goes on where it was.
    ++header_.counter;
    header_.key = key.id;
    Bytes packet(seal_header_bytes + plain.size() + aead_tag_size);
    write(packet.data(), header_);
    const std::span<std::uint8_t> all(packet);
    aead.seal(nonce_of(header_.counter), all.first(seal_header_bytes), plain, all.subspan(seal_header_bytes));
    return packet;
}

bool ReplayWindow::is_fresh(std::uint64_t counter) const {
    if (counter == 0) return false;
    if (counter > last_) return true;
    if (last_ - counter >= window) return false;
    return (seen_[counter / 64 % words] >> counter % 64 & 1) == 0;
}

void ReplayWindow::take(std::uint64_t counter) {
    if (counter > last_) {
        const std::uint64_t moved = std::min<std::uint64_t>(counter / 64 - last_ / 64, words);
        for (std::uint64_t i = 1; i <= moved; ++i) seen_[(last_ / 64 + i) % words] = 0;
        last_ = counter;
    }
    seen_[counter / 64 % words] |= std::uint64_t{1} << counter % 64;
}

Opener::Opener(const Crypto& crypto, ClusterId cluster, std::size_t senders_max)
    : crypto_(crypto), cluster_(cluster), senders_max_(senders_max) {}

void Opener::set_keys(std::span<const ClusterKey> keys) {
    keys_.assign(keys.begin(), keys.end());
    const auto is_tombstone = [&](const Subkeys::value_type& subkey) {
        return std::ranges::find(keys_, subkey.first, &ClusterKey::id) == keys_.end();
    };
    for (Sender& sender : senders_)
        for (Instance& instance : sender.instances) std::erase_if(instance.subkeys, is_tombstone);
}

Result<OpenedPacket> Opener::open(ByteView packet) {
    EXA_TRY(const SealHeader header, decode_seal_header(packet));
    if (packet.size() > datagram_bytes_max) return error(errc::oversized, std::to_string(packet.size()) + " bytes");
    const auto key = std::ranges::find(keys_, header.key, &ClusterKey::id);
    if (key == keys_.end()) return error(errc::unknown_key, to_string(header.key));
    if (header.counter == 0) return error(errc::not_authentic);

    const auto known = by_peer_.find(header.sender);
    Instance* instance = nullptr;
    if (known != by_peer_.end()) {
        Sender& sender = *known->second;
        const auto at = std::ranges::find_if(sender.instances, [&](const Instance& each) {
            return each.generation == header.generation && each.instance == header.instance;
        });
        if (at != sender.instances.end()) instance = &*at;
        if (instance != nullptr ? !instance->seen.is_fresh(header.counter) : header.generation <= sender.closed)
            return error(errc::replayed);
    }

    Aead* subkey = instance != nullptr ? find(instance->subkeys, header.key) : nullptr;
    std::unique_ptr<Aead> fresh;
    if (subkey == nullptr) {
        fresh = derive(crypto_, cluster_, key->secret, header);
        subkey = fresh.get();
    }
    OpenedPacket opened{header, Bytes(packet.size() - seal_header_bytes - aead_tag_size)};
    if (!subkey->open(nonce_of(header.counter), packet.first(seal_header_bytes), packet.subspan(seal_header_bytes),
                      opened.plain))
        return error(errc::not_authentic);

    if (known != by_peer_.end()) senders_.splice(senders_.begin(), senders_, known->second);
    if (instance == nullptr) instance = &keep(header);
    if (fresh) add(instance->subkeys, header.key, std::move(fresh));
    instance->seen.take(header.counter);
    return opened;
}

// Of the sender of `header`, which is the first one if it has an entry.
Opener::Instance& Opener::keep(const SealHeader& header) {
    if (senders_.empty() || senders_.front().peer != header.sender) {
        if (senders_.size() >= senders_max_) {
            by_peer_.erase(senders_.back().peer);
            senders_.pop_back();
        }
        senders_.push_front({header.sender, {}, {}});
        by_peer_.emplace(header.sender, senders_.begin());
    }
    Sender& sender = senders_.front();
    for (Instance& earlier : sender.instances) earlier.subkeys.clear();
    if (sender.instances.size() == instances_max) {
        const auto oldest = std::ranges::min_element(sender.instances, {}, &Instance::generation);
        sender.closed = std::max(sender.closed, oldest->generation);
        sender.instances.erase(oldest);
    }
    Instance instance;
    instance.generation = header.generation;
    instance.instance = header.instance;
    return sender.instances.emplace_back(std::move(instance));
}

}  // namespace exa::wire
