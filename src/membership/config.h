// Config: how fast membership notices, decides and forgets. Every peer of a cluster should run the same values.
//
// Start from the profile that fits the network and change single values if you must. All values are read once, when a
// peer starts; none can change while it runs. options() in membership/options.h gives the range of each, and validate()
// also checks how they relate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutant.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Config {
    // --- Detection -------------------------------------------------------------------------------------------------

    // Time from one probe to the next; each probe checks one peer. A shorter interval finds a crash sooner: halving it
    // doubles the probe packets of every peer. Default 1 s, range 10 ms .. 60 s.
    Duration probe_interval = std::chrono::seconds{1};
    // Time that a probed peer has to answer before other peers and the link are tried. Set it to a few round trips of
    // the slowest path. Default 500 ms, range 1 ms .. 30 s; at most half of probe_interval, so that the second attempt
    // has as long as the first.
    Duration probe_timeout = std::chrono::milliseconds{500};
    // Number of other peers that are asked to probe a peer that did not answer. More tolerate more packet loss between
    // two peers. Default 3, range 0 .. 16.
    std::uint32_t indirect_probes = 3;
    // Limit of the local-health score: a peer whose own probes fail stretches its interval and timeout up to
    // (1 + local_health_max) times, so that a slow observer accuses nobody (Lifeguard, Dadgar et al. 2017).
    // Default 8, range 0 .. 64 (0: never stretch).
    std::uint32_t local_health_max = 8;

    // Time that a suspect has to refute when many peers accuse it, and so about the longest pause (swapping, a stopped
    // process) that a healthy peer survives without being called dead. Grows with log n above 256 peers.
    // Default 2.5 s, range 6 ms .. 1 h; at least 6 x gossip_interval, which an accusation and its refutation take.
    Duration suspicion_min = std::chrono::milliseconds{2500};
    // Time that a suspect has to refute when a single peer accuses it. It shrinks to suspicion_min with the logarithm
    // of the number of accusers. Default 5 s, range suspicion_min .. 1 h.
    Duration suspicion_max = std::chrono::seconds{5};
    // Number of further accusers after which only suspicion_min is left. Default 3, range 0 .. 16 (0: suspicion_min
    // applies at once).
    std::uint32_t suspicion_confirmations = 3;
    // Number of peers, on average, that probe a suspect out of turn when they hear of the suspicion. They either
    // confirm it or tell the suspect, which then refutes. Default 6, range 0 .. 16; fewer than suspicion_confirmations
    // make detection take suspicion_max.
    std::uint32_t out_of_turn_probers = 6;
    // When this many peers of one rack are suspect, none of them is called dead before all are decided: the loss of a
    // rack is then one change of the view and of the ring. Default 3, range 2 .. 1,000.
    std::uint32_t rack_suspects_min = 3;
    // Longest time that the first of these verdicts waits for the others. Default 2.5 s, range 0 .. 1 h (0: verdicts
    // never wait).
    Duration rack_verdict_wait = std::chrono::milliseconds{2500};
    // Promise: a silent crash is called dead after this time at most, in clusters of up to 256 healthy peers. The
    // values above are refused when they add up to more (worst_detection). Default 10 s, range 100 ms .. 24 h.
    Duration dead_after_max = std::chrono::seconds{10};
    // Time from dead to lost. A lost peer's replicas and KV copies are re-created elsewhere, so this should exceed a
    // restart of the peer. Default 30 s, range 1 ms .. 24 h.
    Duration lost_after = std::chrono::seconds{30};

    // --- Dissemination ---------------------------------------------------------------------------------------------

    // Time from one round of gossip to the next while there are updates of peers or records. A round sends packets to
    // gossip_fanout random peers; an idle cluster sends none. With the defaults a death is in every view of 256 peers
    // about 200 ms after the first. Default 100 ms, range 1 ms .. probe_interval.
    Duration gossip_interval = std::chrono::milliseconds{100};
    // Number of peers that a round of gossip reaches. Default 3, range 1 .. 16.
    std::uint32_t gossip_fanout = 3;
    // As gossip_interval, while there are only load reports to send: they are many and soon out of date. Reports of
    // replicas that are not busy wait for a probe or its answer to carry them. Default 400 ms,
    // range gossip_interval .. 10 s.
    Duration load_gossip_interval = std::chrono::milliseconds{400};
    // Every peer sends each update ceil(retransmit_factor x log10(n + 1)) times, and at least 8 times. More resists
    // loss, less saves bandwidth. Default 4, range 1 .. 16.
    std::uint32_t retransmit_factor = 4;
    // Largest packet, in bytes, before encryption. Lower it only where the path MTU is below 1,400 bytes.
    // Default 1,336 (1,400 less what encryption adds), range 1,000 .. 1,336.
    std::size_t packet_bytes = wire::packet_bytes_max;

    // --- Anti-entropy, joining, healing ----------------------------------------------------------------------------

    // Time from one full comparison with a random peer, over the link, to the next. Stretched by 1 + log2(n / 32) above
    // 32 peers. Default 10 s, range 100 ms .. 1 h.
    Duration sync_interval = std::chrono::seconds{10};
    // Time after which a pull request that got no answer may be repeated. Default 2 s, range 10 ms .. 1 h.
    Duration pull_timeout = std::chrono::seconds{2};
    // Time before a joining peer dials silent seeds again. Each wait is half as long again as the one before, and
    // there is no last attempt. Default 500 ms, range 10 ms .. 1 h.
    Duration seed_backoff = std::chrono::milliseconds{500};
    // Longest of these waits. Default 10 s, range seed_backoff .. 1 h.
    Duration seed_backoff_max = std::chrono::seconds{10};
    // Time from one dial of a dead peer, and of a seed that is no member, to the next. These dials heal partitions and
    // never stop. Default 5 s, range 100 ms .. 1 h.
    Duration redial_interval = std::chrono::seconds{5};

    // --- Memory ----------------------------------------------------------------------------------------------------

    // Time that a peer that left stays in the view; afterwards it is a tombstone for as long again, which late gossip
    // cannot bring back. Default 60 s, range 1 s .. 24 h.
    Duration left_retention = std::chrono::seconds{60};
    // Time that a lost peer is remembered and dialled. Default 24 h, range lost_after .. 365 days.
    Duration lost_retention = std::chrono::hours{24};
    // Number of dead, lost and left peers that are remembered; the oldest is forgotten first. Default 4,096,
    // range 1 .. 1,048,576.
    std::size_t tombstones_max = 4096;
    // Number of peers that are known at once, tombstones included. Further peers are refused and counted.
    // Default 8,192, range tombstones_max .. 1,048,576.
    std::size_t members_max = 8192;

    // --- What a peer tells of itself -------------------------------------------------------------------------------

    // Least time between two versions of a peer's own record that others are told of. Grows to record_interval_max
    // while the record goes on changing: a starting peer would otherwise report every step of every replica. The loss
    // of something, and the last replica to get ready, are told at once. Default 200 ms, range 1 ms .. 1 h.
    Duration record_interval = std::chrono::milliseconds{200};
    // Longest such wait. Default 4 s, range record_interval .. 1 h.
    Duration record_interval_max = std::chrono::seconds{4};
    // Least change of a load value, as a part of what was told last, that is worth a report. Default 0.1,
    // range 0 .. 10.
    double load_change = 0.1;
    // Requests in flight below which a replica counts as idle and its changes as minor; should equal the router's
    // load_floor. Default 4, range 0 .. 1,048,576.
    std::uint32_t load_floor = 4;
    // Least time between two load reports of one peer. Stretched by n / 256 above 256 peers. Default 1 s,
    // range 1 ms .. 1 h.
    Duration load_interval = std::chrono::seconds{1};
    // About the longest time that a minor change of load waits to be told; stretched likewise. Default 300 s,
    // range load_interval .. 1 h.
    Duration load_interval_max = std::chrono::seconds{300};
    // Time that a leaving peer goes on spreading that it leaves before its process may end. Default 1 s,
    // range gossip_interval .. 1 h.
    Duration leave_propagation = std::chrono::seconds{1};

    bool operator==(const Config&) const = default;

    // Simulator only: a defect that an oracle must catch (docs/simulator.md).
    Mutant mutant = Mutant::none;
};

enum class Profile : std::uint8_t {
    lan,  // one data centre
    wan,  // several sites, round trips up to about 300 ms, more loss
    hpc   // one fabric with round trips below a millisecond and peers that rarely pause
};

// The defaults: a crash is dead within 10 s.
Config lan();
// Half as fast, with longer suspicions and a larger fan-out against loss: a crash is dead within 30 s, lost 2 min
// later.
Config wan();
// Twice as fast, for twice the packets: a crash is dead within 6 s. A process that stops for 1.5 s may be called dead.
Config hpc();
Config config_of(Profile profile);

// errc::invalid_config, naming the value and its range.
Result<void> validate(const Config& config);

// The longest time from a silent crash in a cluster of `peers` healthy ones until an observer calls it dead: the
// longest wait for a probe of it, the probe, the suspicion, the last check, and the rest of its rack. Each round one
// peer probes it (ProbeOrder), somewhere in its own interval, so two probes are less than two intervals apart; a third
// is for a round that a change of the view displaced.
Duration worst_detection(const Config& config, std::size_t peers);

}  // namespace exa::membership
