// Drain: the end of an instance, from the command to leave to the moment when its process may end.
//
//   finishing ─> (moving) ─> closing ─> giving_away ─> leaving ─> done
//
// Replicas admit nothing new and finish what runs; the HTTP gateway stays open, routing new requests elsewhere, until
// every request that it took before the drain is answered. Then it closes, KV that only this peer holds reaches its new
// owners, the cluster is told, and the links close. Answers that the deadline cuts move to other replicas, and have a
// little longer to reach the clients of this gateway; KV has until the deadline.
//
// Pure: whoever drives it reports a status, now and then and at next_timeout(), and carries out the steps that come
// out.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace exa::node {

struct DrainConfig {
    Duration limit = std::chrono::seconds(30);      // from the command to the deadline
    Duration move_time = std::chrono::seconds(5);   // after the deadline, for answers that move
    Duration close_time = std::chrono::seconds(2);  // the least that the gateway has to close
    Duration leave_time = std::chrono::seconds(3);  // for the cluster to hear of it
};

// What is true at this moment.
struct DrainStatus {
    bool serving = false;         // replicas here answer requests of any peer
    bool answering = false;       // requests that the gateway took before the drain have no answer yet
    bool gateway_open = false;    // the gateway still answers something
    bool holds_kv_alone = false;  // KV that no other owner has
    bool left = false;            // the cluster knows
};

enum class DrainStep : std::uint8_t {
    announce,       // publish the peer as draining; replicas admit nothing more
    stop_replicas,  // end the answers under way, so that they go on elsewhere; the deadline is over
    close_gateway,  // answer what still comes with a closed connection; cut what is left at close_until()
    lose_kv,        // for the log: the deadline is over and KV that only this peer holds is lost with it
    leave,          // tell the cluster
    close_links,    // the process may end when they are
};

class Drain {
  public:
    enum class Stage : std::uint8_t { idle, finishing, moving, closing, giving_away, leaving, done };

    explicit Drain(const DrainConfig& config) : config_(config) {}

    Stage stage() const { return stage_; }
    bool begun() const { return stage_ != Stage::idle; }
    // The gateway takes no new connections.
    bool gateway_closed() const { return stage_ >= Stage::closing; }
    TimePoint close_until() const;
    // When the status is to be reported at the latest; time_never before start() and when done.
    TimePoint next_timeout() const;

    // Both append what is to be done now. start() does nothing the second time.
    void start(TimePoint now, std::vector<DrainStep>& steps);
    void handle_status(TimePoint now, const DrainStatus& status, std::vector<DrainStep>& steps);

  private:
    void enter(Stage stage, TimePoint now) {
        stage_ = stage;
        since_ = now;
    }

    DrainConfig config_;
    Stage stage_ = Stage::idle;
    TimePoint deadline_ = time_never;
    TimePoint since_{};  // the stage began
};

}  // namespace exa::node
