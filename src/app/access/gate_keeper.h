// GateKeeper: the thread beside a KeyGate that touches files. It gives the gate what the file of keys says, a second or
// so after it says it, and keeps what tenants have used of their quotas in the peer's data directory.
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "app/access/api_key_watch.h"
#include "app/access/key_gate.h"
#include "app/shared/data_dir.h"
#include "base/log.h"

namespace exa::app {

class GateKeeper {
  public:
    // Gives the gate what was used before the restart, then starts. `gate`, `directory` and `log` outlive it.
    GateKeeper(ApiKeyWatch watch, KeyGate& gate, const DataDir& directory, Log& log);
    // Stores what was used.
    ~GateKeeper();
    GateKeeper(const GateKeeper&) = delete;
    GateKeeper& operator=(const GateKeeper&) = delete;

    // Why the file as it is now is not used; empty when it is. Thread-safe.
    std::string failure() const;

  private:
    void run(const std::stop_token& stopping);
    // A file that is bad changes nothing, loudly.
    void read_keys();
    void restore_use();
    void store_use();

    ApiKeyWatch watch_;
    KeyGate& gate_;
    const DataDir& directory_;
    Log& log_;
    std::string stored_;  // of the use, what is on the disk
    mutable std::mutex mutex_;
    std::string failure_;
    std::jthread thread_;
};

}  // namespace exa::app
