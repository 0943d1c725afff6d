#include "app/shared/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <tuple>

#include "app/shared/errc.h"

namespace exa::app::shared {

namespace {

Error system_error(std::string_view what, const std::string& path) {
    return error(errc::data_dir, fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

// Closes it whatever happens, and keeps errno.
class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        const int kept = errno;
        if (fd_ >= 0) ::close(fd_);
        errno = kept;
    }

    int get() const { return fd_; }

  private:
    int fd_;
};

Result<void> write_all(const Descriptor& file, const std::string& path, std::string_view text) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written >= 0 && written < static_cast<ssize_t>(text.size())) errno = ENOSPC;
    if (written != static_cast<ssize_t>(text.size()) || ::fsync(file.get()) != 0) return system_error("write", path);
    return success();
}

Result<void> sync_directory(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
    const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.get() < 0) return system_error("open", directory);
    if (::fsync(opened.get()) != 0) return system_error("sync", directory);
    return success();
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return system_error("read", path);
    std::string text(bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) return system_error("read", path);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > bytes_max)
        return error(errc::data_dir, fmt::format("{} is longer than {} bytes", path, bytes_max));
    return text;
}

Result<void> replace_text_file(const std::string& path, std::string_view text) {
    const std::string fresh = path + ".new";
    {
        const Descriptor file(::open(fresh.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        if (file.get() < 0) return system_error("write", fresh);
        struct stat old{};
        if (::stat(path.c_str(), &old) == 0) {
            std::ignore = ::fchown(file.get(), old.st_uid, old.st_gid);
            std::ignore = ::fchmod(file.get(), old.st_mode & 0777);
        }
        EXA_TRY(write_all(file, fresh, text));
    }
    if (::rename(fresh.c_str(), path.c_str()) != 0) return system_error("replace", path);
    return sync_directory(path);
}

}  // namespace exa::app::shared
