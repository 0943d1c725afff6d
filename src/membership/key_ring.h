// KeyRing: the keys of an encrypted cluster as a state that peers merge.
//
// Each key is installed or removed, by the change with the highest stamp; so is which key is primary (what everybody
// seals with). A stamp is one more than every stamp that the changing peer had seen (Lamport 1978). Merging in any
// order, any number of times, gives the same ring. A removed key stays as a mark without its secret, so that a peer
// that slept through the removal does not bring it back; only the latest wire::keys_removed_max marks are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cluster_key.h"
#include "base/crypto.h"
#include "base/link_keys.h"
#include "wire/gossip.h"

namespace exa::membership {

class KeyRing {
  public:
    // More installed keys than this are no rotation but a mistake; a merge of what several operators added at once may
    // hold up to wire::keys_held_max.
    static constexpr std::size_t installed_max = 8;

    // No keys: not sealed.
    KeyRing() = default;
    // As it was stored or received; entries whose id is not their secret's are left out.
    KeyRing(const Crypto& crypto, const wire::Keys& keys);

    // The keys that an operator's file gives to every peer. Those that the ring knows, also as removed, stay as they
    // are; the first one becomes primary when there is none. Gives the same on every peer with the same file.
    void add_first(std::span<const ClusterKey> keys);

    // The changes. False: nothing changed, since it is so already (add, use), or the key is unknown (use, remove).
    bool add(const ClusterKey& key);
    bool use(KeyId id);
    bool remove(KeyId id);
    // False when nothing changed. `crypto` checks that ids are their secrets'.
    bool merge(const Crypto& crypto, const wire::Keys& other);

    bool empty() const { return installed_.empty(); }
    // Sorted by id.
    const std::vector<ClusterKey>& installed() const { return installed_; }
    // Nothing when it is not installed.
    const ClusterKey* find(KeyId id) const;
    // What was last declared so; when that one is not installed (removed by someone who did not know) the key that was
    // installed last. Null when nothing is installed.
    const ClusterKey* primary() const { return find(primary_); }
    // The installed ones, the last changed first.
    std::vector<KeyId> newest_first() const;

    // Of everything but the secrets; 0 when there is nothing.
    std::uint64_t hash() const;

    const wire::Keys& state() const { return state_; }
    LinkKeys link_keys() const;

    bool operator==(const KeyRing& other) const { return state_ == other.state_; }

  private:
    wire::KeyEntry* entry(KeyId id);
    std::uint64_t next_stamp() const;
    bool merge_entry(const wire::KeyEntry& other);
    void put(const wire::KeyEntry& entry);
    // Bounds state_, and sets what follows from it.
    void derive();

    wire::Keys state_;
    std::vector<ClusterKey> installed_;
    KeyId primary_;
};

}  // namespace exa::membership
