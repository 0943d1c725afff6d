#include "app/drain.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "node/drain.h"

namespace exa::app {

namespace {

using node::DrainStep;

constexpr std::chrono::milliseconds look_period{10};

// Carries out the steps of one drain and reports how things stand.
class Drainer {
  public:
    Drainer(const DrainDeps& deps, std::uint32_t seconds_max)
        : deps_(deps), drain_({.limit = std::chrono::seconds(seconds_max)}), replicas_(deps.replicas.all()) {}

    // Blocks until the process may end.
    void run() {
        std::vector<DrainStep> steps;
        drain_.start(deps_.clock.now(), steps);
        while (true) {
            for (const DrainStep step : std::exchange(steps, {})) carry_out(step);
            if (drain_.stage() == node::Drain::Stage::done) return;
            drain_.handle_status(deps_.clock.now(), status(), steps);
            if (steps.empty()) std::this_thread::sleep_for(look_period);
        }
    }

  private:
    node::DrainStatus status() {
        const auto is_open = [](std::future<bool>& gateway) {
            return gateway.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
        };
        return {.serving = deps_.replicas.serving_now().load() != 0,
                .answering = std::ranges::any_of(earlier_, [](const auto& one) { return !one.expired(); }),
                .gateway_open = std::ranges::any_of(gateways_, is_open),
                .holds_kv_alone = kv_alone().has_value(),
                .left = deps_.control.has_left()};
    }

    // How many segments wait for other owners; nothing when none does.
    std::optional<std::size_t> kv_alone() const {
        const auto peers = deps_.kv != nullptr ? deps_.kv->stats().peers : std::nullopt;
        if (!peers || peers->handed_over) return std::nullopt;
        return peers->waiting;
    }

    void carry_out(DrainStep step) {
        switch (step) {
            case DrainStep::announce:
                deps_.control.set_peer_state(wire::PeerState::draining);
                for (const auto& replica : *replicas_) replica->state = wire::ReplicaState::draining;
                for (const auto& plane : deps_.planes) earlier_.push_back(plane->watch_in_flight().get());
                return;
            case DrainStep::stop_replicas:
                deps_.log.warn("peer", "drain deadline reached: unfinished answers move to other replicas");
                for (const auto& replica : *replicas_) replica->backend->stop();
                return;
            case DrainStep::close_gateway:
                // All at once: while one waits, the others would take new requests and have no time left for them.
                for (const auto& plane : deps_.planes)
                    gateways_.push_back(plane->drain_gateway(drain_.close_until() - deps_.clock.now()));
                return;
            case DrainStep::lose_kv:
                deps_.log.warn("peer", "drain deadline reached: KV that only this peer holds is lost with it",
                               {{"segments_waiting", std::to_string(kv_alone().value_or(0))}});
                return;
            case DrainStep::leave:
                if (!all_answered()) deps_.log.warn("peer", "drain deadline reached: unfinished answers were cut");
                deps_.control.leave();
                return;
            case DrainStep::close_links: {
                std::vector<std::future<void>> links;
                for (const auto& plane : deps_.planes) links.push_back(plane->close_links());
                for (auto& closed : links) closed.get();
                return;
            }
        }
    }

    // The gateways cut at the moment that they were told; their threads may be a little late.
    bool all_answered() {
        bool all = true;
        for (auto& gateway : gateways_) all = gateway.get() && all;
        gateways_.clear();
        return all;
    }

    const DrainDeps& deps_;
    node::Drain drain_;
    const std::shared_ptr<const replica::LocalReplicas::List> replicas_;
    std::vector<std::weak_ptr<const void>> earlier_;  // requests that were there at the start
    std::vector<std::future<bool>> gateways_;
};

}  // namespace

void drain(const DrainDeps& deps, std::uint32_t seconds_max) {
    deps.log.info("peer", "draining", {{"seconds_max", std::to_string(seconds_max)}});
    Drainer(deps, seconds_max).run();
    deps.log.info("peer", "left the cluster");
}

}  // namespace exa::app
