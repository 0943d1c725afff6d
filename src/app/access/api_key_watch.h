// ApiKeyWatch: reads the file of API keys, and reads it again when it has changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "app/access/api_key_file.h"
#include "base/result.h"

namespace exa::app::access {

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

}  // namespace exa::app::access
