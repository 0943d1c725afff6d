// AttachProbe: whether an attached server answers, asked every second by a thread of its own.
//
// A replica is ready while its server does; one that is away makes it unready, and it returns by itself.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "app/attach/server.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app::attach {

// What answers make of a server: one that cannot be reached is away at once, since every request would fail; one that
// is late or says that it is ill has a second chance.
class ProbeVerdict {
  public:
    bool is_up() const { return up_; }
    // True when it changed.
    bool handle(const Result<void>& answer);

  private:
    bool up_ = false;
    int failures_ = 0;  // in a row
};

struct AttachProbeConfig {
    AttachServer server;
    std::string model;
    std::string health_path = "/health";
    std::chrono::milliseconds period = std::chrono::seconds(1);
    Duration timeout = std::chrono::seconds(2);
};

// Asks once, blocking: the health path, where 404 means that the server has none, and the list of models. Gives whether
// that has the model. Errors are those of io::http_call(), and malformed for an answer that is not what it should be.
Result<bool> probe(const AttachProbeConfig& config);

class AttachProbe {
  public:
    // `on_change` is called from the probe's thread, first when the server is up for the first time.
    AttachProbe(AttachProbeConfig config, ReplicaId replica, std::function<void(ReplicaId, bool up)> on_change,
                Log& log);
    // Waits for the question under way.
    ~AttachProbe();
    AttachProbe(const AttachProbe&) = delete;
    AttachProbe& operator=(const AttachProbe&) = delete;

  private:
    void run(const std::stop_token& stopping);
    void report(const Result<bool>& answer, bool up);

    const AttachProbeConfig config_;
    const ReplicaId replica_;
    const std::function<void(ReplicaId, bool)> on_change_;
    Log& log_;
    std::jthread thread_;
};

}  // namespace exa::app::attach
