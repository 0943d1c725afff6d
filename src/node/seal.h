// Seal: what leaves a node of an encrypted cluster is sealed, and what comes in is opened, before membership sees it.
//
// Which key. Normally the primary. A peer that last spoke under another key of ours may not hold the primary yet, or
// not any more: with it the two take turns until it follows. Strangers (seeds) get every key in turn, the primary most:
// who slept through a rotation finds its way back in with any key that is still installed.
//
// A node without keys puts a checksum behind each packet (wire/checksum.h), lets plain packets with the right one
// through and drops sealed ones; an encrypted node drops plain ones. Nothing that is dropped is answered or changes
// anything but counters and alarms.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "membership/event.h"
#include "membership/key_ring.h"
#include "wire/seal.h"

namespace exa::node {

struct SealCounters {
    std::uint64_t plain = 0;          // dropped: plain, and we are sealed
    std::uint64_t sealed = 0;         // dropped: sealed, and we are not
    std::uint64_t unknown_key = 0;    // dropped: of a key that we do not hold
    std::uint64_t not_authentic = 0;  // dropped: damaged or forged
    std::uint64_t replayed = 0;       // dropped: here before
    std::uint64_t damaged = 0;        // dropped: plaintext with a wrong checksum
    std::uint64_t unsent = 0;         // ours: no counter was left
};

// One kind of trouble, as long as it goes on. Its numbers come from bytes that anyone may have sent.
struct SealAlarm {
    membership::EventKind kind = membership::EventKind::heard_plaintext;
    std::uint64_t packets = 0;
    Endpoint from;  // of the latest
    KeyId key;      // of heard_foreign_key
    TimePoint last;
};

class Seal {
  public:
    // An alarm is told of again when it had been quiet for so long, or when the keys changed.
    static constexpr Duration quiet = std::chrono::minutes{10};

    // `crypto` outlives it; null: not sealed.
    Seal(const Crypto* crypto, ClusterId cluster, PeerId self, Generation generation, std::uint32_t life);

    bool encrypts() const { return sealer_.has_value(); }

    // All installed keys of `ring` open from now on. `stored`, which is on the disk, says what is sealed with.
    void set_keys(const membership::KeyRing& ring, const membership::KeyRing& stored);

    // The plain packet: a part of `bytes` in a cluster that is not encrypted, else valid until the next call.
    Result<ByteView> open(TimePoint now, const Endpoint& from, ByteView bytes);
    // `to`: who is meant, 0 for whoever is there. Nothing when it cannot be sealed: then it must not leave.
    std::optional<Bytes> seal(PeerId to, Bytes plain);

    // An alarm that is new since the last call.
    std::optional<membership::EventKind> take_alarm();
    // Those that were not quiet.
    std::vector<SealAlarm> alarms(TimePoint now) const;
    const SealCounters& counters() const { return counters_; }

  private:
    struct Heard {
        SealAlarm alarm;
        bool is_told = false;
        bool is_due = false;
    };

    void raise(TimePoint now, membership::EventKind kind, const Endpoint& from, KeyId key);
    const ClusterKey& choose(PeerId to);

    std::optional<wire::Sealer> sealer_;
    std::optional<wire::Opener> opener_;
    std::vector<ClusterKey> keys_;  // installed
    KeyId primary_;
    std::map<PeerId, KeyId> heard_of_;  // the key of the last packet that was authentic
    std::uint64_t turn_ = 0;
    Bytes plain_;
    std::array<Heard, 3> alarms_;
    SealCounters counters_;
};

}  // namespace exa::node
