#include "membership/options.h"

#include <array>

namespace exa::membership {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Option time(std::string_view name, Duration Config::* member, Duration min, Duration max,
                      std::string_view help) {
    return {name, help, Field<Duration>{member, min, max}};
}

constexpr Option number(std::string_view name, std::uint32_t Config::* member, std::uint32_t min, std::uint32_t max,
                        std::string_view help) {
    return {name, help, Field<std::uint32_t>{member, min, max}};
}

constexpr Option size(std::string_view name, std::size_t Config::* member, std::size_t min, std::size_t max,
                      std::string_view help) {
    return {name, help, Field<std::size_t>{member, min, max}};
}

constexpr Option ratio(std::string_view name, double Config::* member, double min, double max, std::string_view help) {
    return {name, help, Field<double>{member, min, max}};
}

constexpr std::size_t peers_max = 1 << 20;

constexpr std::array table{
    time("probe_interval", &Config::probe_interval, milliseconds{10}, seconds{60},
         "Time from one probe of a peer to the next."),
    time("probe_timeout", &Config::probe_timeout, milliseconds{1}, seconds{30},
         "Time that a probed peer has to answer; at most half of probe_interval."),
    number("indirect_probes", &Config::indirect_probes, 0, 16,
           "Number of peers that are asked to probe a peer that did not answer."),
    number("local_health_max", &Config::local_health_max, 0, 64,
           "How far a peer that is slow itself stretches its probes: up to (1 + this) times."),
    time("suspicion_min", &Config::suspicion_min, milliseconds{6}, hours{1},
         "Time that a suspect has to refute when many peers accuse it; at least 6 x gossip_interval."),
    time("suspicion_max", &Config::suspicion_max, milliseconds{6}, hours{1},
         "Time that a suspect has to refute when one peer accuses it; at least suspicion_min."),
    number("suspicion_confirmations", &Config::suspicion_confirmations, 0, 16,
           "Number of further accusers after which only suspicion_min is left to refute."),
    number("out_of_turn_probers", &Config::out_of_turn_probers, 0, 16,
           "Number of peers, on average, that probe a suspect when they hear of the suspicion."),
    number("rack_suspects_min", &Config::rack_suspects_min, 2, 1000,
           "Number of suspects in one rack from which they are called dead together."),
    time("rack_verdict_wait", &Config::rack_verdict_wait, Duration{0}, hours{1},
         "Longest time that a verdict waits for the rest of its rack; 0: verdicts never wait."),
    time("dead_after_max", &Config::dead_after_max, milliseconds{100}, hours{24},
         "Longest time from a crash to the verdict dead that the values above may add up to."),
    time("lost_after", &Config::lost_after, milliseconds{1}, hours{24},
         "Time from dead to lost, when a peer's replicas and KV copies are re-created elsewhere."),
    time("gossip_interval", &Config::gossip_interval, milliseconds{1}, seconds{60},
         "Time between rounds of gossip while there are updates; at most probe_interval."),
    number("gossip_fanout", &Config::gossip_fanout, 1, 16, "Number of peers that a round of gossip reaches."),
    time("load_gossip_interval", &Config::load_gossip_interval, milliseconds{1}, seconds{10},
         "Time between rounds of gossip that carry only load reports; at least gossip_interval."),
    number("retransmit_factor", &Config::retransmit_factor, 1, 16,
           "Every peer sends each update about this many times log10(n + 1)."),
    size("packet_bytes", &Config::packet_bytes, 1000, wire::packet_bytes_max,
         "Largest packet in bytes, before encryption."),
    time("sync_interval", &Config::sync_interval, milliseconds{100}, hours{1},
         "Time between full comparisons with a random peer."),
    time("pull_timeout", &Config::pull_timeout, milliseconds{10}, hours{1},
         "Time after which a pull request that got no answer may be repeated."),
    time("seed_backoff", &Config::seed_backoff, milliseconds{10}, hours{1},
         "First wait before a joining peer dials silent seeds again."),
    time("seed_backoff_max", &Config::seed_backoff_max, milliseconds{10}, hours{1},
         "Longest wait before a joining peer dials silent seeds again; at least seed_backoff."),
    time("redial_interval", &Config::redial_interval, milliseconds{100}, hours{1},
         "Time between dials of a dead peer and of a seed that is no member."),
    time("left_retention", &Config::left_retention, seconds{1}, hours{24},
         "Time that a peer that left stays in the view."),
    time("lost_retention", &Config::lost_retention, milliseconds{1}, hours{24 * 365},
         "Time that a lost peer is remembered and dialled; at least lost_after."),
    size("tombstones_max", &Config::tombstones_max, 1, peers_max,
         "Number of dead, lost and left peers that are remembered."),
    size("members_max", &Config::members_max, 1, peers_max,
         "Number of peers that are known at once; at least tombstones_max."),
    time("record_interval", &Config::record_interval, milliseconds{1}, hours{1},
         "Least time between two versions of a peer's own record that others are told of."),
    time("record_interval_max", &Config::record_interval_max, milliseconds{1}, hours{1},
         "The same for a record that goes on changing; at least record_interval."),
    ratio("load_change", &Config::load_change, 0, 10,
          "Least change of a load value, as a part of what was told last, that is worth a report."),
    number("load_floor", &Config::load_floor, 0, peers_max,
           "Requests in flight below which a replica counts as idle; as the router's load_floor."),
    time("load_interval", &Config::load_interval, milliseconds{1}, hours{1},
         "Least time between two load reports of one peer."),
    time("load_interval_max", &Config::load_interval_max, milliseconds{1}, hours{1},
         "About the longest wait of a minor change of load; at least load_interval."),
    time("leave_propagation", &Config::leave_propagation, milliseconds{1}, hours{1},
         "Time that a leaving peer goes on spreading that it leaves; at least gossip_interval."),
};

}  // namespace

std::span<const Option> options() {
    return table;
}

}  // namespace exa::membership
