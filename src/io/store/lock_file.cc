#include "io/store/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "io/errc.h"

namespace exa::io::store {

Result<LockFile> LockFile::take(const std::filesystem::path& path) {
    LockFile lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (lock.fd_ < 0)
        return error(errc::store_unusable,
                     fmt::format("cannot open {}: {}", path.string(), std::generic_category().message(errno)));
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) return error(errc::store_locked, path.parent_path().string());
    return lock;
}

LockFile::~LockFile() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace exa::io::store
