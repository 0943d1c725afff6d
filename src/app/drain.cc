#include "app/drain.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>

namespace exa::app {

namespace {

// Behind the drain's deadline: for answers to go on elsewhere, and for the door to close.
constexpr std::chrono::seconds move_time{5};
constexpr Duration door_time = std::chrono::seconds(2);

// Waits until `done`, looking again every few milliseconds; false when `deadline` came first.
bool wait_until(const std::function<bool()>& done, std::chrono::steady_clock::time_point deadline) {
    while (!done()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

}  // namespace

void drain(const PeerConfig& config, LocalReplicas& replicas, Control& control,
           const std::vector<std::unique_ptr<DataPlane>>& planes, const KvService* kv, Log& log) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(config.drain_seconds);
    log.info("peer", "draining", {{"seconds_max", std::to_string(config.drain_seconds)}});
    control.set_peer_state(wire::PeerState::draining);
    const auto list = replicas.all();
    for (const auto& replica : *list) replica->state = wire::ReplicaState::draining;
    std::vector<std::weak_ptr<const void>> earlier;
    for (const auto& plane : planes) earlier.push_back(plane->close_epoch().get());
    const auto idle = [&] { return replicas.serving_now().load() == 0; };
    const auto answered = [&] { return std::ranges::all_of(earlier, [](const auto& one) { return one.expired(); }); };
    if (!wait_until([&] { return idle() && answered(); }, deadline)) {
        log.warn("peer", "the drain's deadline is over: answers under way go on at other replicas");
        for (const auto& replica : *list) replica->backend->stop();
        wait_until([&] { return idle() && answered(); }, deadline + move_time);
    }
    // All at once: while one waits, the others would take new requests and have no time left for them.
    std::vector<std::future<bool>> doors;
    for (const auto& plane : planes)
        doors.push_back(plane->drain_gateway(
            std::max(std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now()), door_time)));
    bool all_answered = true;
    for (auto& door : doors) all_answered = door.get() && all_answered;
    if (!all_answered) log.warn("peer", "answers were cut by the drain's deadline");
    const auto kept = [kv] { return kv != nullptr ? kv->stats().peers : std::nullopt; };
    const auto given_away = [&] {
        const auto peers = kept();
        return !peers || peers->given_away;
    };
    if (!wait_until(given_away, deadline))
        log.warn("peer", "the drain's deadline is over: KV cache that only this peer holds is lost with it",
                 {{"segments_waiting", std::to_string(kept()->waiting)}});
    control.leave(std::chrono::seconds(3));
    std::vector<std::future<void>> links;
    for (const auto& plane : planes) links.push_back(plane->close_links());
    for (auto& closed : links) closed.get();
    log.info("peer", "left the cluster");
}

}  // namespace exa::app
