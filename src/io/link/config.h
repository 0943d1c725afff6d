// Settings and counters of peer links.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/time.h"

namespace exa::io {

// Who this peer is, as its hello says it.
struct LinkIdentity {
    ClusterId cluster;
    PeerId peer;
    Generation generation;
    std::string name;
};

struct LinkConfig {
    // Time for a TCP connection to a peer. Default 1 s.
    Duration connect_timeout = std::chrono::seconds(1);
    // Time for the other side's hello, once connected. Default 2 s.
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
    // Bytes of head, data and end that may wait on one link before its writers wait too. Default 1 MiB.
    std::size_t write_queue_bytes = 1024 * 1024;
    // Bytes of requests whose streams are open on one accepted link; more are answered busy. Default 256 MiB.
    std::size_t open_bytes_max = 256UL * 1024 * 1024;
    // Lets several servers of this process (one a thread) share a port. Default false.
    bool reuse_port = false;
};

// Counters grow for the life of their owner; the two `_now` are levels.
struct LinkStats {
    std::uint64_t links_now = 0;
    std::uint64_t streams_now = 0;
    std::uint64_t links_opened = 0;
    std::uint64_t links_broken = 0;   // after the hello, without a goodbye
    std::uint64_t links_refused = 0;  // wrong cluster, version or target, too many
    std::uint64_t malformed = 0;      // bytes that are not our protocol, or break it
    std::uint64_t dials_failed = 0;
    std::uint64_t streams_opened = 0;
    std::uint64_t streams_cancelled = 0;
    std::uint64_t syncs_sent = 0;
    std::uint64_t syncs_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t writes = 0;  // system calls; many frames share one
};

}  // namespace exa::io
