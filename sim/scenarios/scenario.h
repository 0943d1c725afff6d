// Scenario: what a run does, as a TOML file says it (docs/simulator.md). The plan of faults is a list apart from the
// seed: the seed decides chances, the plan what is done and when.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/cluster/cluster.h"
#include "sim/kv/conversations.h"

namespace exa::sim {

enum class FaultKind : std::uint8_t {
    crash,       // silent; back after for_s
    leave,       // by its own word
    pause,       // the process is stopped
    slow,        // every input costs `ms`
    clock_jump,  // by `ms`; back by as much only on the wall clock
    drift,       // by `ppm`
    cut,         // between the chosen and the rest (or `to`)
    cut_udp,
    loss,
    duplicate,
    reorder,
    corrupt,
    delay,
    clog,
    bandwidth,  // of the chosen, `rate` bytes a second
    disk_full,
    disk_lies,
    disk_corrupt,
    disk_slow,
    garbage,       // datagrams of random bytes
    replay,        // datagrams of the past again
    forge,         // well-formed datagrams of another cluster
    oversize,      // datagrams of the past with a long tail
    name_steal,    // starts again under the name of another; for_s: until its own
    load,          // `factor` times the clients' rate
    disconnect,    // clients go away in the middle
    key_add,       // of an encrypted cluster, by an operator at each of the chosen: one more key,
    key_use,       // the newest one is primary,
    key_remove,    // the oldest one goes; what would cut peers off is refused
    kv_rot,        // `chance`: which share of the stored segments change a bit
    kv_misdirect,  // the next segment is written in the place of another
    names_down,    // with named seeds: look-ups of the chosen fail,
    names_itself,  // give the asker's own address alone,
    names_turn,    // or one address after the other
    cut_link       // as cut_udp, of links
};

std::string_view to_string(FaultKind kind);
// The names of all.
std::span<const std::string_view> fault_kinds();
// What must_happen can name beside these: effects that a run counts.
std::span<const std::string_view> effect_names();

// One entry of the plan.
struct Fault {
    FaultKind kind = FaultKind::crash;
    Duration at{0};
    Duration lasts{0};        // 0: for good
    Duration every{0};        // again after this ...
    std::uint32_t times = 1;  // ... so often in all
    // Who: exactly one of these; none means everybody.
    std::uint32_t count = 0;
    double share = 0;
    std::int64_t rack = -1;  // -1: none; -2: a random one
    std::vector<Host> hosts;
    std::vector<Host> to;  // cut and the other network faults: only towards these
    bool one_way = false;  // cut: only from the chosen to the rest
    bool keep_disk = true;
    double chance = 1;
    Duration time{0};
    std::int64_t ppm = 0;
    double rate = 0;
    bool is_refused = false;  // of keys: the command is to be refused, and has its effect then
};

struct Load {
    double rate = 0;  // requests a second of all clients; 0: none
    bool poisson = true;
    Duration from{0};
    Duration until{0};  // 0: the end
    std::uint32_t sessions = 1000;
    double session_share = 0.5;  // of requests that belong to a session
    double hot_share = 0;        // of requests that belong to one single session
    std::uint32_t prompt_tokens = 200;
    std::uint32_t answer_tokens = 64;
    std::uint32_t chunk_tokens = 16;
    double slow_readers = 0;  // of requests, whose clients take slow_tokens a second
    double slow_tokens = 10;
    double disconnects = 0;    // of requests whose client goes away in the middle
    double client_errors = 0;  // of requests that a replica answers at once with an error of the client (4xx)
    std::uint32_t sdk_retries = 2;
    Duration deadline = std::chrono::seconds{120};
};

struct KvLoad {
    double rate = 0;  // turns of conversations a second; 0: no KV services
    Duration from{0};
    ConversationShape conversations;
    std::uint32_t turn_segments = 4;           // at most, that a turn adds
    std::uint32_t segment_bytes = 200'000;     // on a link
    std::uint32_t capacity_segments = 16'384;  // of one store
};

struct ValueLoad {
    double rate = 0;  // sets, gets and removals a second; 0: no values
    Duration from{0};
    std::uint32_t keys = 50;
};

struct Bounds {
    Duration detect{0};  // M2; 0: what membership promises for this many peers, and 2 s for the updates
    Duration settle = std::chrono::seconds{60};
    std::uint32_t suspicions = 0;                       // no-false-suspicions: so many are let pass
    std::uint32_t killer_victims = 2;                   // M5: false deaths that one accuser may cause
    double request_failures = 1;                        // of requests; more is a violation of Q1's second half
    Duration recover = std::chrono::seconds{5};         // B2: from the end of an overload
    Duration first_byte = std::chrono::seconds{3};      // Q7: lost to silent hosts
    Duration control = std::chrono::milliseconds{250};  // B3: of a membership message for its host's line
    std::uint32_t members = 0;                          // B1: that one peer remembers at once; 0: as its config says
};

struct Scenario {
    std::string name;
    std::string about;
    std::uint64_t hash = 0;  // of the text and the settings
    std::uint64_t seed = 1;  // unless the command line names one
    ClusterConfig cluster;
    Duration duration = std::chrono::seconds{30};
    Duration start_spread = std::chrono::seconds{1};  // the hosts boot at random within it
    Duration measure_from{0};                         // traffic is counted from here
    std::vector<Fault> plan;
    Load load;
    KvLoad kv;
    ValueLoad values;
    Bounds bounds;
    std::vector<std::string> watch;
    std::vector<std::string> must_happen;
};

struct Setting {
    std::string key;  // dotted: "cluster.peers", "fault.0.count"
    std::string value;
};

// `text` is TOML. Settings are applied on top of it, in order. Errors: errc::bad_scenario, naming the key.
Result<Scenario> parse_scenario(std::string_view name, std::string_view text, std::span<const Setting> settings);

// The text with the settings applied; comments are lost.
Result<std::string> settled_text(std::string_view name, std::string_view text, std::span<const Setting> settings);

struct BuiltIn {
    std::string_view name;
    std::string_view text;
};
// The scenarios that are part of the program, by name.
std::span<const BuiltIn> built_in_scenarios();

}  // namespace exa::sim
