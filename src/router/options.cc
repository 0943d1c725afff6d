#include "router/options.h"

namespace exa::router {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds minute_ms{60'000};

// Long, because it is one list: an option after the other.
std::vector<Option<Config>> make_options() {
    return {
        whole_number(
            "load_factor_percent", "N", "percent", &Config::load_factor_percent, 100, 1'000,
            "A session leaves its owner for another replica when the owner would be above this part of the mean "
            "number of requests in flight (bounded load), and above router.load_floor.")
            .live(),
        whole_number("load_floor", "N", "", &Config::load_floor, 1, 10'000,
                     "Requests in flight up to which a replica keeps its sessions whatever the mean.")
            .live(),
        whole_number("attempts_max", "N", "", &Config::attempts_max, 1, attempts_limit,
                     "Replicas that one request may be tried on.")
            .live(),
        whole_number(
            "retry_ratio_percent", "N", "percent", &Config::retry_ratio_percent, 0, 100,
            "Retries that the peer makes at most, as a part of its new requests: a sick cluster must not double "
            "its own load."),
        whole_number("retry_burst", "N", "", &Config::retry_burst, 1, 100'000,
                     "Retries that may be made at once beyond router.retry_ratio_percent."),
        whole_number("prefix_choices", "N", "", &Config::prefix_choices, 1, 64,
                     "Replicas that may serve prompts with the same beginning while their load is below the mean.")
            .live(),
        whole_number("breaker_failures", "N", "", &Config::breaker_failures, 1, 1'000,
                     "Failures of one replica in a row that open its circuit breaker.")
            .live(),
        duration("breaker_open_ms", &Config::breaker_open, milliseconds(1), 60 * minute_ms,
                 "Time that an open circuit breaker keeps requests off its replica, before one request may try it. It "
                 "doubles with every failed trial, up to router.breaker_open_max_ms.")
            .live(),
        duration("breaker_open_max_ms", &Config::breaker_open_max, milliseconds(1), 60 * minute_ms,
                 "Longest time that an open circuit breaker waits. At least router.breaker_open_ms.")
            .live(),
        duration("peer_backoff_ms", &Config::peer_backoff, milliseconds(1), minute_ms,
                 "Time that a peer is left alone after its link broke, before one request may try it. It doubles with "
                 "every failure, up to router.peer_backoff_max_ms.")
            .live(),
        duration("peer_backoff_max_ms", &Config::peer_backoff_max, milliseconds(1), 10 * minute_ms,
                 "Longest time that a peer is left alone. At least router.peer_backoff_ms.")
            .live(),
        duration("refused_backoff_ms", &Config::refused_backoff, milliseconds(1), minute_ms,
                 "Time that a replica is left alone after it refused a request because it drains or runs another "
                 "version.")
            .live(),
        duration("load_fresh_ms", &Config::load_fresh, milliseconds(0), minute_ms,
                 "Time that a replica which reported itself full is believed.")
            .live(),
        duration(
            "queue_wait_ms", &Config::queue_wait, milliseconds(0), milliseconds(100'000),
            "Time that a request waits when every replica of its model is at its limit, before it is answered 503. "
            "0: it does not wait.")
            .live(),
        duration("queue_wait_alone_ms", &Config::queue_wait_alone, milliseconds(0), milliseconds(100'000),
                 "The same where all replicas of the model are this peer's own: a client that was refused could ask "
                 "nobody else. router.queue_wait_ms if that is longer or 0.")
            .live(),
        duration("retry_after_ms", &Config::retry_after, milliseconds(1), 60 * minute_ms,
                 "Time after which a client is told to try again when all replicas are busy; spread by a quarter to "
                 "either side.")
            .live(),
        whole_number(
            "spill_entries", "N", "", &Config::spill_entries, 1, 10'000'000,
            "Sessions that moved to another replica and are remembered; the one unused for longest is forgotten "
            "first."),
        duration(
            "slow_start_seconds", &Config::slow_start, seconds(0), seconds(600),
            "Time in which a replica that joins a pool is ramped up from a tenth of a full share. It does not apply "
            "when half of the pool or more is new. 0: a full share at once.")
            .live(),
        whole_number("progress_tokens", "N", "tokens", &Config::progress_tokens, 1, 1'000'000,
                     "Tokens of progress after which a stream may be tried on router.attempts_max replicas again.")
            .live(),
        duration("token_life_seconds", &Config::token_life, seconds(60), seconds(7 * 24 * 3600),
                 "Life of a session token."),
        duration("token_future_seconds", &Config::token_future, seconds(0), seconds(3600),
                 "How far another peer's clock may be ahead of this one's before its session tokens are refused."),
    };
}

}  // namespace

const std::vector<Option<Config>>& options() {
    static const std::vector<Option<Config>> all = make_options();
    return all;
}

}  // namespace exa::router
