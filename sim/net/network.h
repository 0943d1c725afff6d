// Network: what becomes of bytes between hosts. A base of latency, loss and limits, and on top of it rules that faults
// put in and take out. Every rule counts what it did.
//
// Each rule draws from a generator of its own, so that taking one out leaves the chances of the others as they were.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutant.h"
#include "base/rng.h"
#include "sim/world/streams.h"
#include "sim/world/time.h"
#include "wire/traffic_class.h"

namespace exa::sim {

// Of `hosts` in the world, which ones; by host number.
using HostSet = std::vector<std::uint8_t>;

struct NetConfig {
    // One way, uniform between the two. 900 us .. 1.1 ms.
    Duration latency_min{900};
    Duration latency_max{1100};
    // A slow tail: this part of messages takes up to latency_tail more.
    double tail = 0;
    Duration latency_tail = std::chrono::milliseconds{20};
    double loss = 0;       // of datagrams; link messages are late instead
    double duplicate = 0;  // of datagrams
    // Bytes a second a host may send, 0: no limit. Datagrams go first, then link messages of the control plane, then
    // data, then bulk, and each waits for a piece of what comes after it at the most, as io/link and a fair queue of
    // the kernel (RFC 8290) have it. A datagram that would wait longer than queue_time is dropped; on a slow line,
    // longer than two packets take: a queue that drops what a single packet holds up would pass nothing.
    double bandwidth = 0;
    Duration queue_time = std::chrono::milliseconds{50};
    // Of bytes of data or bulk that are on the line before anything else may go.
    std::size_t data_piece = 16 * 1024;
    Mutant mutant = Mutant::none;
    // A dial that nobody answers is given up after this, as io/link does.
    Duration connect_timeout = std::chrono::seconds{1};
    // A link that carries streams and is silent for this long is broken: two unanswered pings of io/link.
    Duration silence = std::chrono::seconds{15};
    Duration link_idle = std::chrono::seconds{60};
};

using wire::TrafficClass;

enum class RuleKind : std::uint8_t {
    cut,
    cut_udp,
    cut_link,
    loss,
    duplicate,
    reorder,
    corrupt,
    delay,
    clog,
    bandwidth
};

// Acts on what goes from a host of `from` to one of `to`.
struct Rule {
    RuleKind kind = RuleKind::cut;
    HostSet from;
    HostSet to;
    double chance = 1;              // loss, duplicate, reorder, corrupt
    Duration time{0};               // reorder, delay: how much later at most, or exactly
    double rate = 0;                // bandwidth: bytes a second
    WorldTime until = world_never;  // clog: held until then; bandwidth: then the line is as wide again as before
};

class Network {
  public:
    // Arrivals of one datagram.
    struct Fate {
        static constexpr std::size_t copies_max = 3;
        struct Copy {
            Duration delay{0};
            bool corrupt = false;
        };
        std::size_t copies = 0;
        std::array<Copy, copies_max> copy;
    };

    Network(const NetConfig& config, std::size_t hosts, const Streams& streams);

    const NetConfig& config() const { return config_; }

    // A rule's number; it counts in `effects`, which must outlive it.
    std::uint32_t add(Rule rule, std::uint64_t* effects);
    void remove(std::uint32_t number);

    // `by_outsider`: the sender's address is forged, and its line carries nothing of it.
    Fate send_datagram(WorldTime now, Host from, Host to, std::size_t bytes, bool by_outsider = false);
    // How long a link message takes; world_never's distance means that it cannot pass. `until` then says when it could.
    struct LinkFate {
        bool passes = true;
        Duration delay{0};
        WorldTime until = world_never;
    };
    LinkFate send_link(WorldTime now, Host from, Host to, std::size_t bytes,
                       TrafficClass traffic = TrafficClass::control);

    // Nothing cuts the way from one to the other; lossy ways count as open. `udp`: for datagrams.
    bool reaches(Host from, Host to, bool udp) const;
    // Some cut or clog keeps bytes from or to this host.
    bool is_cut(Host host) const;
    // Some clog or narrow line makes bytes late anywhere.
    bool is_held_up() const;
    // A number below `bytes` for the bit to flip of a corrupted datagram.
    std::uint64_t pick(std::uint64_t bound) { return corruption_.below(bound); }

    std::uint64_t datagrams() const { return datagrams_; }
    std::uint64_t datagram_bytes() const { return datagram_bytes_; }
    std::uint64_t link_messages() const { return link_messages_; }
    std::uint64_t link_bytes() const { return link_bytes_; }
    // The longest that a message of the control plane waited for its host's line, and how many found data or bulk
    // waiting.
    Duration control_wait_max() const { return control_wait_max_; }
    std::uint64_t control_behind_data() const { return control_behind_data_; }

  private:
    // When the queues of a host's line are empty, one a traffic class.
    using Line = std::array<WorldTime, 4>;
    struct Active {
        std::uint32_t number = 0;
        Rule rule;
        Rng rng;
        std::uint64_t* effects = nullptr;
        std::vector<Line> lines;  // bandwidth: one a host
    };

    struct Datagram {
        WorldTime now{};
        Host from;
        std::size_t bytes;
        bool by_outsider;
    };

    static bool applies(const Rule& rule, Host from, Host to) { return rule.from[from] != 0 && rule.to[to] != 0; }
    // Does to the first copy of a datagram, and to their number, what the rule says. False: it is lost.
    bool apply(Active& active, const Datagram& datagram, Fate::Copy& copy, std::size_t& copies);
    Duration latency();
    // Adds the time on a line of so many bytes a second, from which all that waits has gone by `until`. False: the
    // datagram finds the queue full.
    bool queue(WorldTime now, Line& line, std::size_t bytes, double rate, TrafficClass traffic, Duration& wait,
               WorldTime until = world_never);

    NetConfig config_;
    Streams streams_;
    Rng latency_;
    Rng loss_;
    Rng duplicate_;
    Rng corruption_;
    std::vector<Line> lines_;
    std::vector<Active> rules_;
    std::uint32_t next_rule_ = 1;
    std::uint64_t datagrams_ = 0;
    std::uint64_t datagram_bytes_ = 0;
    std::uint64_t link_messages_ = 0;
    std::uint64_t link_bytes_ = 0;
    Duration control_wait_max_{0};
    std::uint64_t control_behind_data_ = 0;
};

}  // namespace exa::sim
