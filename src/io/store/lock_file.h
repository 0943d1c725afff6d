// LockFile: a file that one process at a time holds locked, as the sign that it owns the file's directory.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"

namespace exa::io::store {

class LockFile {
  public:
    // Makes the file when it is not there. errc::store_unusable when that fails, errc::store_locked while another
    // process, or another LockFile, holds it.
    static Result<LockFile> take(const std::filesystem::path& path);
    LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    LockFile& operator=(LockFile&&) = delete;
    ~LockFile();  // gives it back

  private:
    explicit LockFile(int fd) : fd_(fd) {}
    int fd_;
};

}  // namespace exa::io::store
