// Links: peer links between hosts, as io/link keeps them: dialled when needed, ordered, closed when idle. A peer that
// crashed sends no reset: a dial to it times out, and what is sent on an open link to it vanishes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/ids.h"
#include "sim/net/network.h"
#include "sim/world/time.h"

namespace exa::sim {

// Each process has three pools of links: the control strand's, the data plane's, and the one for KV.
enum class LinkPool : std::uint8_t { control, data, bulk };

// What the two ends are right now; a process is named by its boot number, 0: down.
struct LinkEnds {
    Host from = 0;
    Host to = 0;
    std::uint32_t from_boot = 0;
    std::uint32_t to_boot = 0;
    Generation to_generation{};  // what its hello says
};

struct LinkResult {
    enum class Kind : std::uint8_t {
        arrives,  // at `at`, behind everything sent on this link before
        fails,    // the sender learns at `at` that the link is broken or cannot be opened
        vanishes  // nobody learns anything until the link has been silent for NetConfig::silence
    };
    Kind kind = Kind::arrives;
    WorldTime at;
    bool dialled = false;
    Generation generation{};  // of the life at the other end of the link that fails; 0: nobody answered the dial
    // Of the first message that vanishes: when pings have told the sender that the link is dead. Otherwise world_never.
    WorldTime breaks = world_never;
};

class Links {
  public:
    explicit Links(Network& network) : network_(network) {}

    LinkResult send(WorldTime now, LinkPool pool, const LinkEnds& ends, std::size_t bytes);
    // Whether the other end of a link on which something vanished answers pings again.
    bool answers(LinkPool pool, const LinkEnds& ends);
    // The sender's own knowledge is gone: its process ended, or it gave the link up.
    void forget(LinkPool pool, Host from, Host to);
    void forget_all_of(Host from);
    std::size_t open() const;

  private:
    struct Key {
        Host to = 0;
        LinkPool pool = LinkPool::control;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::uint64_t operator()(const Key& key) const {
            return mix64(std::uint64_t{key.to} << 2 | static_cast<std::uint64_t>(key.pool));
        }
    };
    struct Link {
        std::uint32_t to_boot = 0;
        Generation to_generation;
        WorldTime last_arrival;
        WorldTime used;
        bool is_silent = false;  // something vanished on it
    };

    LinkResult vanish(Link& link, WorldTime now) const;

    Network& network_;
    std::vector<FlatMap<Key, Link, KeyHash>> links_;  // by the host that dialled
};

}  // namespace exa::sim
