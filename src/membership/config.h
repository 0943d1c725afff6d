// Config: the time constants of membership. Every peer of a cluster should run the same ones.
//
// None can change while a peer runs. Durations are given to validate() as they are; validate() names what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Config {
    // One peer is probed in each interval. Shorter finds crashes sooner and costs every peer two more packets a
    // second for each halving. Default 1 s, range 10 ms .. 60 s.
    Duration probe_interval = std::chrono::seconds{1};
    // How long the probed peer has to answer before others are asked to try and the link is tried as well. At most
    // half of probe_interval, so that they have as long again. Default 500 ms.
    Duration probe_timeout = std::chrono::milliseconds{500};
    // How many others are asked. Default 3, range 0 .. 16.
    std::uint32_t indirect_probes = 3;
    // How much a sick observer stretches its own interval and timeout at the most: times (1 + this). Default 8 (as
    // Lifeguard, Dadgar et al. 2017), range 0 .. 64.
    std::uint32_t health_max = 8;

    // How long a suspect has to refute: suspicion_max with one accuser, shrinking with the logarithm of the number of
    // independent accusers to suspicion_min at 1 + suspicion_confirmations of them. The time of a pause (a swap storm,
    // a stopped process) that a peer survives without being called dead is about suspicion_min. Above 256 peers both
    // grow with log n. Defaults 2.5 s, 5 s and 3.
    Duration suspicion_min = std::chrono::milliseconds{2500};
    Duration suspicion_max = std::chrono::seconds{5};
    std::uint32_t suspicion_confirmations = 3;
    // How many peers, on average, check for themselves when they hear of a suspicion, out of turn: they confirm it or
    // bring the suspect the news. Default 6.
    std::uint32_t witnesses = 6;
    // Of so many suspects of one rack none is buried before all are decided, or group_wait after the first was: the
    // loss of a rack is then one change of the view and of the ring. Defaults 3 (range 2 .. 1,000) and 2.5 s (0: off).
    std::uint32_t group_min = 3;
    Duration group_wait = std::chrono::milliseconds{2500};
    // What the values above must add up to at most, for three peers as for 256 (see worst_detection). Default 10 s.
    Duration dead_after_max = std::chrono::seconds{10};
    // From dead to lost: then its work is re-created elsewhere. Default 30 s.
    Duration lost_after = std::chrono::seconds{30};

    // News of peers and records leaves in packets of their own this often while there is any, to gossip_fanout random
    // peers: with the defaults a death is in every view of 256 peers some 200 ms after the first. Defaults 100 ms
    // and 3.
    Duration gossip_interval = std::chrono::milliseconds{100};
    std::uint32_t gossip_fanout = 3;
    // The same while there are only loads to tell, which are many and soon out of date; those of replicas that are not
    // busy wait for a probe or an answer to carry them. Default 400 ms, range gossip_interval .. 10 s.
    Duration load_gossip_interval = std::chrono::milliseconds{400};
    // Each piece of news is sent retransmit_factor x log10(n + 1) times by every peer, 8 times at the least. More
    // resists loss, less saves bandwidth. Default 4, range 1 .. 16.
    std::uint32_t retransmit_factor = 4;
    // Bytes of a packet before it is sealed. Default and most: 1,336 (1,400 less the seal); least 1,000.
    std::size_t packet_bytes = wire::packet_bytes_max;

    // One random peer is compared with in full this often, over the link. Stretched by 1 + log2(n / 32) above 32
    // peers. Default 10 s.
    Duration sync_interval = std::chrono::seconds{10};
    // A question over the link that got no answer may be asked again after this. Default 2 s.
    Duration pull_timeout = std::chrono::seconds{2};
    // Seeds that have not answered are tried again after seed_backoff, growing by half each time up to
    // seed_backoff_max, for ever. Defaults 500 ms and 10 s.
    Duration seed_backoff = std::chrono::milliseconds{500};
    Duration seed_backoff_max = std::chrono::seconds{10};
    // One dead peer, and one seed that is no member, is dialled this often, for ever: it heals partitions. Default 5 s.
    Duration redial_interval = std::chrono::seconds{5};

    // Peers that left stay in the view for left_shown, and as long again as a memory against late news. Default 60 s.
    Duration left_shown = std::chrono::seconds{60};
    // A lost peer is forgotten after this. Default 24 h.
    Duration lost_kept = std::chrono::hours{24};
    // Peers that are not alive and still remembered; the oldest goes first. Default 4,096.
    std::size_t gone_max = 4096;
    // Peers known at once; news of more is dropped and counted. Default 8,192.
    std::size_t members_max = 8192;

    // While our own record goes on changing, its editions are told this far apart, growing from record_interval to
    // record_interval_max: a peer that starts would else tell everybody of every step of every replica. What takes
    // something away, and the last replica to get ready, is told at once. Defaults 200 ms and 4 s.
    Duration record_interval = std::chrono::milliseconds{200};
    Duration record_interval_max = std::chrono::seconds{4};

    // When own loads are told (see LoadNewsRule): a change by this part of what was told last, of a replica that was
    // told to have this many in flight or that is busy now, at most this often; any other change about this much later
    // (both times n / 256 above 256 peers). Defaults 0.1, 4 (the router's load_floor), 1 s and 300 s.
    double load_change = 0.1;
    std::uint32_t load_floor = 4;
    Duration load_interval = std::chrono::seconds{1};
    Duration load_settle = std::chrono::seconds{300};

    // After leave(), how long the news is spread before left_cluster says that the process may end. Default 1 s.
    Duration leave_time = std::chrono::seconds{1};
};

// errc::invalid_config, naming the value and its range.
Result<void> validate(const Config& config);

// The longest time from a silent crash in a cluster of `peers` healthy ones until an observer calls it dead: the
// longest wait for a probe of it, the probe, the suspicion, the last question, and the rest of its rack. Each round one
// peer probes it (ProbeOrder), somewhere in its own interval, so two probes are less than two intervals apart; a third
// is for a round that a change of the view displaced.
Duration worst_detection(const Config& config, std::size_t peers);

}  // namespace exa::membership
