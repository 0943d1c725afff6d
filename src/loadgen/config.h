// Config: what a load test does. Parsed elsewhere; valid once validate() says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "loadgen/distribution.h"
#include "loadgen/outcome.h"

namespace exa::loadgen {

// Closed: each of `concurrency` clients asks again when it has its answer. Open: requests come when they come, however
// late the answers are.
enum class ArrivalKind : std::uint8_t { closed, fixed, poisson, trace };

enum class Api : std::uint8_t { chat, completions };

// None: no session header. Client: an id of our own from the first turn on. Server: the first turn has none, later ones
// send back the token of the answer before.
enum class SessionIds : std::uint8_t { none, client, server };

// Which target the next conversation, or turn, goes to.
enum class Spread : std::uint8_t { round_robin, random };

struct Timeouts {
    Duration connect = std::chrono::seconds(5);
    Duration first_byte = std::chrono::seconds(60);
    Duration idle = std::chrono::seconds(30);
};

// Many members, because each is one flag of the command.
struct Config {
    // Load.
    ArrivalKind arrivals = ArrivalKind::closed;
    std::uint32_t concurrency = 16;                // closed
    double rate = 10;                              // requests/s, fixed and poisson
    double trace_speed = 1;                        // 2: the trace in half its time
    Duration duration = std::chrono::seconds(30);  // after the warm-up
    Duration warmup{};                             // not measured
    Duration grace = std::chrono::seconds(30);     // for answers that are under way at the end
    std::uint64_t requests = 0;                    // stop after as many; 0: when the time is over
    std::uint32_t connections = 1'000;             // open, to each target; beyond, requests wait for one
    std::uint32_t in_flight_max = 10'000;          // open; beyond, requests fail as overflow

    // Requests.
    Api api = Api::chat;
    std::string model;
    bool stream = true;
    bool asks_usage = true;  // stream_options.include_usage
    bool ignores_eos = false;
    std::string extra_fields;  // members of a JSON object, without its braces: "\"temperature\":0"
    Distribution prompt_tokens{128};
    Distribution output_tokens{64};

    // Conversations.
    std::uint32_t system_prompts = 0;  // different ones; each conversation begins with one of them
    Distribution system_tokens{256};
    std::optional<Distribution> turns;  // absent: those of the prompt file, else 1
    Distribution think_seconds{0};      // between an answer and the next turn
    SessionIds session_ids = SessionIds::client;
    Spread spread = Spread::round_robin;
    bool moves = false;  // each turn may go to another target

    Slo slo;
    Timeouts timeouts;
    std::uint32_t retries = 0;  // of a 503 with a time to retry
    std::uint64_t seed = 1;
    std::uint32_t threads = 1;

    bool is_open() const { return arrivals != ArrivalKind::closed; }
};

std::string_view to_string(ArrivalKind kind);
std::string_view to_string(Api api);
std::string_view to_string(SessionIds ids);
std::string_view to_string(Spread spread);

// errc::invalid_config names the flag, the value and the range.
Result<void> validate(const Config& config);

// What one of `threads` threads does of it: a share of the clients, the rate and the requests.
Config share_of(const Config& config, std::uint32_t thread);

}  // namespace exa::loadgen
