// One request at peer 1 of a small cluster, and what it wanted done so far.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gateway/request.h"
#include "unit/router/cluster.h"

namespace exa::gateway::test {

using router::test::start;

inline wire::Open open_for(std::string model = "m") {
    wire::Open open;
    open.model = std::move(model);
    open.kind = wire::RequestKind::chat;
    return open;
}

inline wire::Head stream_head() {
    return {200, "text/event-stream"};
}
inline wire::Head json_head(std::uint16_t status = 200) {
    return {status, "application/json"};
}
inline wire::Data tokens(std::uint32_t offset, std::vector<std::uint32_t> ids) {
    std::string bytes;
    for (const std::uint32_t id : ids) bytes += std::to_string(id) + ";";
    return {offset, std::move(ids), std::move(bytes)};
}

// The names of actions, in order, with spaces between them.
inline std::string names(const Actions& actions) {
    static constexpr const char* all[] = {"stream", "local", "cancel", "head", "body", "end", "error", "done"};
    std::string text;
    for (const Action& action : actions) text += (text.empty() ? "" : " ") + std::string(all[action.index()]);
    return text;
}

class Harness {
  public:
    // Peers 1 .. n with one replica each. `local`: the first attempt is at peer 1 itself.
    explicit Harness(std::uint64_t peers = 3, bool local = false, const router::Config& router = {},
                     std::string model = "m")
        : cluster(peers, 1),
          dispatcher(router::test::make_dispatcher(cluster, 1, router)),
          request(config(), dispatcher, open_for(std::move(model))) {
        if (!local) cluster.peer(1).record.replicas.clear();
        if (local)
            for (std::uint64_t peer = 2; peer <= peers; ++peer) cluster.peer(peer).record.replicas.clear();
        dispatcher.handle_view(cluster.routing_view());
    }

    void begin() { request.start(now, {.wall = router::test::wall_start}, actions); }
    static const Config& config() {
        static const Config config;
        return config;
    }
    // Of the current attempt.
    void open() {
        if (!request.attempt().local) request.handle_opened(number());
    }
    void head(wire::Head head) { request.handle_head(now, number(), std::move(head), actions); }
    void data(wire::Data data) { request.handle_data(now, number(), std::move(data), actions); }
    void end(wire::EndCode code, std::string message = {}) {
        request.handle_end(now, number(), {code, std::move(message)}, actions);
    }
    AttemptNumber number() const { return request.attempt_number(); }
    std::string take() {
        const std::string text = names(actions);
        last = std::exchange(actions, {});
        return text;
    }
    template <class T>
    const T* find() const {
        const auto at = std::ranges::find_if(last, [](const Action& a) { return std::holds_alternative<T>(a); });
        return at != last.end() ? &std::get<T>(*at) : nullptr;
    }

    router::test::Cluster cluster;
    router::Dispatcher dispatcher;
    Request request;
    TimePoint now = start;
    Actions actions;
    Actions last;  // what take() took
};

}  // namespace exa::gateway::test
