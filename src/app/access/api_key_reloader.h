// ApiKeyReloader: the thread that does the file work of an ApiKeyAuthorizer. It reloads the file of keys within about a
// second of a change, and stores in the peer's data directory what tenants have used of their quotas.
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "app/access/api_key_authorizer.h"
#include "app/access/api_key_watch.h"
#include "app/shared/data_dir.h"
#include "base/log.h"

namespace exa::app::access {

class ApiKeyReloader {
  public:
    // Gives the authorizer what was used before the restart, then starts. `authorizer`, `directory` and `log` outlive
    // it.
    ApiKeyReloader(ApiKeyWatch watch, ApiKeyAuthorizer& authorizer, const shared::DataDir& directory, Log& log);
    // Stores what was used.
    ~ApiKeyReloader();
    ApiKeyReloader(const ApiKeyReloader&) = delete;
    ApiKeyReloader& operator=(const ApiKeyReloader&) = delete;

    // Why the file as it is now is not used; empty when it is. Thread-safe.
    std::string failure() const;

  private:
    void run(const std::stop_token& stopping);
    // A file that is bad changes nothing, loudly.
    void read_keys();
    void restore_use();
    void store_use();

    ApiKeyWatch watch_;
    ApiKeyAuthorizer& authorizer_;
    const shared::DataDir& directory_;
    Log& log_;
    std::string stored_;  // of the use, what is on the disk
    mutable std::mutex mutex_;
    std::string failure_;
    std::jthread thread_;
};

}  // namespace exa::app::access
