// LiveConfig: the options that a peer runs with, and how they change while it runs.
//
// reload() reads the file again under the flags of the start. Options that can change live do so; the others are named
// and stay as they are until a restart. A file that cannot be used changes nothing.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "app/config/effective.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app::config {

struct OptionChange {
    std::string name;
    std::string before;
    std::string after;
};

struct ReloadReport {
    std::vector<OptionChange> changed;
    std::vector<OptionChange> needs_restart;  // `after` is what the file says
};

class LiveConfig {
  public:
    LiveConfig(ConfigInputs inputs, EffectiveConfig now) : inputs_(std::move(inputs)), now_(std::move(now)) {}

    // Called within reload() with the values from then on, when any has changed. Before the first reload().
    void on_change(std::function<void(const PeerConfig&)> apply) { apply_ = std::move(apply); }

    // Blocks on the file, and logs what came of it. Thread-safe, as all below. errc::usage: nothing changed.
    Result<ReloadReport> reload(Log& log);

    EffectiveConfig now() const;
    const ConfigInputs& inputs() const { return inputs_; }

  private:
    Result<ReloadReport> reload_values();

    const ConfigInputs inputs_;
    std::function<void(const PeerConfig&)> apply_;
    std::mutex reload_mutex_;
    mutable std::mutex mutex_;  // of now_
    EffectiveConfig now_;
};

}  // namespace exa::app::config
