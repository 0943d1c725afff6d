// Settings and counters of peer links.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/crypto.h"
#include "base/ids.h"
#include "base/link_keys.h"
#include "base/time.h"

namespace exa::io::link {

// Who this peer is, as its hello says it.
struct LinkIdentity {
    ClusterId cluster;
    PeerId peer;
    Generation generation;
    std::string name;
};

// What the links of an encrypted cluster are made with. Without keys links are plain TCP.
struct LinkEncryption {
    const Crypto* crypto = nullptr;  // outlives every link; needed as soon as there are keys
    std::shared_ptr<const LinkKeys> keys;
};

struct LinkConfig {
    // Time for a TCP connection to a peer. Default 1 s.
    Duration connect_timeout = std::chrono::seconds(1);
    // Time for the other side to prove itself (encrypted links) and for its hello, once connected. Default 2 s.
    Duration hello_timeout = std::chrono::seconds(2);
    // The dialler closes a link that has had no stream for this long; the acceptor after three times as long. 60 s.
    Duration idle_timeout = std::chrono::seconds(60);
    // A link that is silent under open streams, or since a sync went out, is pinged this often and dead after two pings
    // without any byte back. 5 s.
    Duration ping_interval = std::chrono::seconds(5);
    // Streams open at once on one link. Default 4096.
    std::uint32_t streams_max = 4096;
    // Links accepted at once by one server. Default 4096.
    std::uint32_t links_max = 4096;
    // Connections accepted that have not said hello yet, beside links_max. When one more comes the oldest is closed: a
    // peer needs milliseconds, whoever floods holds nothing for long. Default 256.
    std::uint32_t greetings_max = 256;
    // An encrypted link replaces its traffic key after this many records of at most 16 KiB (RFC 8446 section 5.5 ends
    // at 2^24.5). Default 2^23.
    std::uint64_t rekey_records = 1U << 23;
    // Bytes of head, data and end that may wait on one link before its writers wait too. Default 1 MiB.
    std::size_t write_queue_bytes = 1024 * 1024;
    // Bytes of requests whose streams are open on one accepted link; more are answered busy. Default 256 MiB.
    std::size_t open_bytes_max = 256UL * 1024 * 1024;
    // Lets several servers of this process (one a thread) share a port. Default false.
    bool reuse_port = false;
};

// Counters grow for as long as their owner exists; the two `_now` are levels.
struct LinkStats {
    std::uint64_t links_now = 0;
    std::uint64_t streams_now = 0;
    std::uint64_t links_opened = 0;
    std::uint64_t links_broken = 0;        // after the hello, without a goodbye
    std::uint64_t links_refused = 0;       // wrong cluster, version or target, too many, and the two below
    std::uint64_t refused_encryption = 0;  // plaintext to an encrypted peer, or the reverse
    std::uint64_t refused_key = 0;         // encrypted with a key that this peer, or the one dialled, does not hold
    std::uint64_t greetings_cut = 0;       // closed before their hello because more came than may wait
    std::uint64_t links_rekeyed = 0;       // closed or retired because keys changed
    std::uint64_t malformed = 0;           // bytes that are not our protocol, or break it
    std::uint64_t dials_failed = 0;
    std::uint64_t streams_opened = 0;
    std::uint64_t streams_cancelled = 0;
    std::uint64_t syncs_sent = 0;
    std::uint64_t syncs_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t writes = 0;  // system calls; many frames share one
};

}  // namespace exa::io::link
