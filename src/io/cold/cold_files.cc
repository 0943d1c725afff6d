#include "io/cold/cold_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "io/random.h"
#include "kv/segment.h"

namespace exa::io::cold {

namespace {

constexpr std::string_view unfinished = ".new-";
// Of names that another file has, as a process that was forked would choose them.
constexpr int attempts_max = 16;
constexpr std::time_t use_grain_s = 3600;

class Fd {
  public:
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    // What a file system that writes late has to say, it says now.
    bool close() { return ::close(std::exchange(fd_, -1)) == 0; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

ColdResult result_of(int code) {
    switch (code) {
        case ENOENT:
            return {ColdOutcome::missing};
        case ELOOP:
        case ENXIO:  // a pipe or a socket
            return {ColdOutcome::bad};
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return {ColdOutcome::full, code};
        default:
            return {ColdOutcome::failed, code};
    }
}

ColdResult last_error() {
    return result_of(errno);
}

// To whoever writes, a folder that is gone again is no miss.
ColdResult write_error() {
    const ColdResult result = last_error();
    return result.outcome == ColdOutcome::missing ? ColdResult{ColdOutcome::failed, ENOENT} : result;
}

std::string folder_name(std::uint32_t folder) {
    return fmt::format("{:03x}", folder);
}

class PosixColdFiles final : public ColdFiles {
  public:
    explicit PosixColdFiles(std::filesystem::path directory) : root_(std::move(directory) / "kv1") {}

    ColdResult size(const kv::SegmentKey& key, std::uint64_t& bytes) override {
        const Fd folder = open_folder(kv::cold_folder(key));
        struct stat status{};
        if (!folder || ::fstatat(folder.get(), kv::to_string(key).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
            return last_error();
        bytes = static_cast<std::uint64_t>(status.st_size);
        return {S_ISREG(status.st_mode) && kv::is_valid_sealed_size(bytes) ? ColdOutcome::ok : ColdOutcome::bad};
    }

    ColdResult read(const kv::SegmentKey& key, std::shared_ptr<kv::SegmentBuffer>& segment) override {
        const Fd folder = open_folder(kv::cold_folder(key));
        if (!folder) return last_error();
        // Not held up by a pipe that stands there.
        const Fd file(::openat(folder.get(), kv::to_string(key).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        struct stat status{};
        if (!file || ::fstat(file.get(), &status) != 0) return last_error();
        const auto bytes = static_cast<std::uint64_t>(status.st_size);
        if (!S_ISREG(status.st_mode) || !kv::is_valid_sealed_size(bytes)) return {ColdOutcome::bad};
        const auto buffer = std::make_shared<kv::SegmentBuffer>(bytes);
        std::size_t at = 0;
        while (at < bytes) {
            const ssize_t count = ::read(file.get(), buffer->bytes().data() + at, bytes - at);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return last_error();
            if (count == 0) return {ColdOutcome::bad};
            at += static_cast<std::size_t>(count);
        }
        if (::time(nullptr) - status.st_mtim.tv_sec > use_grain_s) ::futimens(file.get(), nullptr);
        segment = buffer;
        return {};
    }

    ColdResult publish(const kv::SegmentKey& key, ByteView sealed, bool durably) override {
        const std::uint32_t number = kv::cold_folder(key);
        Fd folder = open_folder(number);
        if (!folder && errno == ENOENT) {
            if (const ColdResult made = make_folder(number); made.outcome != ColdOutcome::ok) return made;
            Fd again = open_folder(number);
            if (!again) return write_error();
            return publish_in(again, key, sealed, durably);
        }
        if (!folder) return write_error();
        return publish_in(folder, key, sealed, durably);
    }

    ColdResult check() override {
        const std::string directory = root_.parent_path();
        const Fd folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!folder || ::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) return {ColdOutcome::failed, errno};
        return {};
    }

    ColdResult remove(const kv::SegmentKey& key) override { return remove(kv::cold_folder(key), kv::to_string(key)); }

    ColdResult remove(std::uint32_t number, const std::string& name) override {
        const Fd folder = open_folder(number);
        if (!folder) return last_error();
        if (::unlinkat(folder.get(), name.c_str(), 0) == 0) return {};
        if ((errno == EISDIR || errno == EPERM) && ::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
        // A directory with something in it is nothing of ours.
        return errno == ENOTEMPTY || errno == EEXIST ? ColdResult{ColdOutcome::bad} : last_error();
    }

    ColdResult list(std::uint32_t number, std::vector<kv::ColdFile>& files) override {
        Fd folder(
            ::openat(AT_FDCWD, (root_ / folder_name(number)).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder) return last_error();
        const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
        if (!stream) return last_error();
        const int fd = folder.release();
        for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
            const std::string_view name = entry->d_name;
            kv::ColdFile file{std::string(name), kv::parse_segment_key(name), 0, 0};
            if (!file.key && !name.starts_with(unfinished)) continue;
            struct stat status{};
            // Another peer may have removed it.
            if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
            file.bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
            file.used_s = status.st_mtim.tv_sec;
            files.push_back(std::move(file));
        }
        return errno == 0 ? ColdResult{} : last_error();
    }

  private:
    Fd open_folder(std::uint32_t number) const {
        return Fd(::open((root_ / folder_name(number)).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }

    ColdResult make_folder(std::uint32_t number) const {
        for (const std::filesystem::path& path : {root_, root_ / folder_name(number)})
            if (::mkdir(path.c_str(), 0770) != 0 && errno != EEXIST) return write_error();
        return {};
    }

    static ColdResult publish_in(const Fd& folder, const kv::SegmentKey& key, ByteView sealed, bool durably) {
        const std::string name = kv::to_string(key);
        struct stat status{};
        if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return {ColdOutcome::present};
        std::string temporary;
        Fd file(-1);
        for (int attempt = 0; !file && attempt < attempts_max; ++attempt) {
            temporary = fmt::format("{}{:016x}", unfinished, random_u64());
            file = Fd(
                ::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0660));
            if (!file && errno != EEXIST) break;
        }
        if (!file) return write_error();
        ColdResult result = write_all(file, sealed);
        if (result.outcome == ColdOutcome::ok && durably && ::fsync(file.get()) != 0) result = write_error();
        if (!file.close() && result.outcome == ColdOutcome::ok) result = write_error();
        if (result.outcome == ColdOutcome::ok) result = give_name(folder, temporary, name);
        ::unlinkat(folder.get(), temporary.c_str(), 0);
        if (result.outcome == ColdOutcome::ok && durably) {
            const Fd readable(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            if (!readable || ::fsync(readable.get()) != 0) return write_error();
        }
        return result;
    }

    static ColdResult write_all(const Fd& file, ByteView bytes) {
        while (!bytes.empty()) {
            const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return write_error();
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
        return {};
    }

    static ColdResult give_name(const Fd& folder, const std::string& temporary, const std::string& name) {
        if (::linkat(folder.get(), temporary.c_str(), folder.get(), name.c_str(), 0) == 0) return {};
        if (errno == EEXIST) return {ColdOutcome::present};
        // Not every file system has hard links. What a rename may overwrite is the same segment.
        if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return write_error();
        if (::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) return write_error();
        return {};
    }

    const std::filesystem::path root_;
};

}  // namespace

std::unique_ptr<ColdFiles> cold_files(std::filesystem::path directory) {
    return std::make_unique<PosixColdFiles>(std::move(directory));
}

}  // namespace exa::io::cold
