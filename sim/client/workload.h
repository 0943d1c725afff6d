// Workload: the clients. When they call and with what, what their SDKs do about errors, and what must hold of the
// answers that they get. Everything between the first byte of a request and the last one of its answer is production's
// (sim/gateway).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "sim/checks/oracles.h"
#include "sim/cluster/cluster.h"
#include "sim/gateway/call.h"
#include "sim/gateway/ingresses.h"
#include "sim/gateway/receivers.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct TrafficCounters {
    std::uint64_t requests = 0;
    std::uint64_t finished = 0;
    std::uint64_t rejected = 0;       // after the client's own retries
    std::uint64_t broken = 0;         // in the middle of a stream, by its ingress
    std::uint64_t ingress_lost = 0;   // its ingress died in the middle of a stream
    std::uint64_t abandoned = 0;      // by the client
    std::uint64_t client_errors = 0;  // answered with an error of the client
    std::uint64_t sdk_retries = 0;
    std::uint64_t tokens = 0;
    std::vector<double> first_token_s;
    std::vector<double> lost_to_silence_s;  // of requests that met a silent host (sim/gateway/ingresses.h)
    // Of the servers.
    std::uint64_t attempts = 0;
    std::uint64_t resumed = 0;           // streams that went on at another replica
    std::uint64_t refused = 0;           // attempts that a receiver sent away
    std::uint64_t busy = 0;              // attempts that got no permit
    std::uint64_t waited = 0;            // attempts that waited for a permit
    std::uint64_t unfit = 0;             // attempts whose prompt was too long there
    std::uint64_t moved = 0;             // streams that left a suspect peer
    std::uint64_t progress_credits = 0;  // streams that had earned as many attempts again

    std::uint64_t failed() const { return rejected + broken; }
};

class Workload final : public CallObserver {
  public:
    // Takes the cluster's events `arrival` and `client`.
    Workload(const Scenario& scenario, Cluster& cluster, Oracles& oracles);

    void start();
    // No new requests from here on.
    void stop() { stopped_ = true; }
    // More than 1 is an overload, which ends with 1.
    void set_factor(double factor);
    // Clients of this share of the requests under way go away; how many.
    std::uint64_t disconnect(double share);

    std::uint64_t under_way() const { return visits_.size() - free_.size(); }
    // What must hold at the end: Q1, Q6, Q7 and B2.
    void check_end();
    TrafficCounters counters() const;

    void on_head(CallId call, const gateway::SendHead& head) override;
    void on_body(CallId call, std::string_view bytes) override;
    void on_error(CallId call, const openai::ApiError& error) override;
    void on_done(CallId call, const gateway::Done& done, bool complete) override;

  private:
    enum class Step : std::uint8_t {
        come,     // to an ingress
        gone,     // the client goes away
        patience  // is the ingress still there?
    };
    enum class Ending : std::uint8_t { finished, rejected, broken, ingress_lost, abandoned, client_error };

    // One request of a client, over its SDK's retries.
    struct Visit {
        bool live = false;
        std::uint32_t life = 0;  // grows with every request in this slot
        std::uint32_t tries = 0;
        Call call;
        std::optional<Ingresses::CallHandle> handle;  // nothing while the client waits to try again
        std::uint32_t got = 0;                        // tokens
        bool started = false;
        int status = 0;
        std::optional<openai::ApiError> error;
        WorldTime born;
    };
    struct Overload {
        WorldTime from;
        WorldTime until = world_never;
    };
    // Requests that came in one virtual second.
    struct Second {
        std::uint32_t came = 0;
        std::uint32_t good = 0;
    };

    void arrive();
    void plan_arrival();
    Call make_call();
    void step(const Event& event);
    void plan(WorldTime at, Step step, CallId id);
    void come(CallId id);
    void patience(CallId id);
    void client_gone(CallId id);
    void retry_later(CallId id, Duration wait, Ending otherwise);
    void end(CallId id, Ending ending);
    // Of the requests that came in [from, until): those whose first token came in time, as a part of those that count.
    std::optional<double> goodput(WorldTime from, WorldTime until) const;
    void check_recovery();
    void check_first_bytes();
    void check_dispatchers();

    const Scenario& scenario_;
    const Load& load_;
    Cluster& cluster_;
    Oracles& oracles_;
    Receivers receivers_;
    Ingresses ingresses_;
    Rng arrivals_;
    Rng shapes_;
    Rng clients_;
    Rng disconnects_;
    Rng errors_;
    double factor_ = 1;
    std::vector<Overload> overloads_;
    std::vector<Second> seconds_;
    bool stopped_ = false;
    std::vector<std::string> tokens_;  // that sessions were given
    std::deque<Visit> visits_;
    std::vector<std::uint32_t> free_;
    TrafficCounters counters_;
};

}  // namespace exa::sim
