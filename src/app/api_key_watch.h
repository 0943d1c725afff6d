// ApiKeyWatch: reads the file of API keys, and reads it again when it has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include "app/api_key_file.h"
#include "app/key_gate.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app {

class ApiKeyWatch {
  public:
    explicit ApiKeyWatch(std::string path) : path_(std::move(path)) {}

    // What the file says when that is new, or why it says nothing (data_dir, usage; the file is named); nothing while
    // it is as it was when it was last read. The first call always reads it.
    std::optional<Result<ApiKeyFile>> poll();

  private:
    // Another file, or another text in it: inode, size and the times of its last changes.
    using Stamp = std::tuple<ino_t, off_t, std::int64_t, std::int64_t>;
    Stamp stamp() const;

    std::string path_;
    std::optional<Stamp> read_;
};

// Gives the gate what the file says, a second or so after it says it. A file that is bad changes nothing, loudly.
class ApiKeyReload {
  public:
    // Both outlive it.
    ApiKeyReload(ApiKeyWatch watch, KeyGate& gate, Log& log);
    ~ApiKeyReload();
    ApiKeyReload(const ApiKeyReload&) = delete;
    ApiKeyReload& operator=(const ApiKeyReload&) = delete;

  private:
    void run(const std::stop_token& stopping);

    ApiKeyWatch watch_;
    KeyGate& gate_;
    Log& log_;
    std::jthread thread_;
};

}  // namespace exa::app
