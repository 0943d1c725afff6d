#include "io/store/volumes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "io/errc.h"

namespace exa::io::store {

namespace {

constexpr std::uint64_t block = 4096;
constexpr std::string_view prefix = "volume-";

Error failed(std::string_view what, const std::filesystem::path& path) {
    return error(errc::system, fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(errno)));
}

std::optional<std::uint32_t> parse_name(std::string_view name) {
    if (!name.starts_with(prefix) || name.size() != prefix.size() + 8) return std::nullopt;
    name.remove_prefix(prefix.size());
    std::uint32_t id = 0;
    const auto [end, errc] = std::from_chars(name.data(), name.data() + name.size(), id, 16);
    if (errc != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    return id;
}

// All of the bytes, or false with errno set.
template <class Call, class Pointer>
bool whole(Call call, int fd, Pointer bytes, std::size_t size, std::uint64_t offset) {
    while (size > 0) {
        const ssize_t done = call(fd, bytes, size, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = EIO;
        if (done <= 0) return false;
        bytes += done;
        size -= static_cast<std::size_t>(done);
        offset += static_cast<std::uint64_t>(done);
    }
    return true;
}

}  // namespace

struct Volumes::Volume {
    std::uint32_t id;
    int fd;
    std::uint64_t size;                                         // up to which it may be written
    std::uint64_t used = 0;                                     // up to which it is, or is being, written
    std::uint64_t wanted = 0;                                   // bytes of places that hold something
    std::uint64_t stuck = 0;                                    // of holes that could not be given back
    bool finished = false;                                      // nothing will be appended
    std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;  // offset, bytes; until finish_keeping()

    Volume(std::uint32_t number, int descriptor, std::uint64_t bytes) : id(number), fd(descriptor), size(bytes) {}
    Volume(const Volume&) = delete;
    Volume& operator=(const Volume&) = delete;
    ~Volume() { ::close(fd); }

    bool punch(std::uint64_t offset, std::uint64_t bytes) const {
        return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                           static_cast<off_t>(bytes)) == 0;
    }
};

Volumes::Volumes(std::filesystem::path directory, std::uint64_t size, bool direct_io)
    : directory_(std::move(directory)), size_(size), direct_io_(direct_io) {}

Volumes::~Volumes() {
    if (active_) finish(*active_);
}

std::filesystem::path Volumes::path_of(std::uint32_t id) const {
    return directory_ / fmt::format("{}{:08x}", prefix, id);
}

Result<std::unique_ptr<Volumes>> Volumes::open(const std::filesystem::path& directory, std::uint64_t size,
                                               bool direct_io) {
    EXA_CHECK(size > 0 && size % block == 0);
    std::unique_ptr<Volumes> volumes(new Volumes(directory, size, direct_io));
    EXA_TRY(volumes->find_volumes());
    return volumes;
}

Result<void> Volumes::find_volumes() {
    std::error_code broken;
    std::filesystem::create_directories(directory_, broken);
    if (broken) return error(errc::system, fmt::format("cannot make {}: {}", directory_.string(), broken.message()));
    if (direct_io_) {
        const std::filesystem::path probe = directory_ / "probe";
        const int fd = ::open(probe.c_str(), O_CREAT | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
        direct_io_ = fd >= 0;
        if (fd >= 0) ::close(fd);
        ::unlink(probe.c_str());
    }
    for (const auto& file : std::filesystem::directory_iterator(directory_, broken)) {
        const auto id = parse_name(file.path().filename().string());
        if (!id) continue;
        const int fd = ::open(file.path().c_str(), O_RDWR | O_CLOEXEC | (direct_io_ ? O_DIRECT : 0));
        if (fd < 0) return failed("cannot open", file.path());
        struct stat status{};
        ::fstat(fd, &status);
        auto volume = std::make_shared<Volume>(*id, fd, static_cast<std::uint64_t>(status.st_size));
        volume->used = volume->size;
        volume->finished = true;
        volumes_.emplace(*id, std::move(volume));
        last_id_ = std::max(last_id_, *id);
    }
    if (broken) return error(errc::system, fmt::format("cannot read {}: {}", directory_.string(), broken.message()));
    return success();
}

bool Volumes::keep(Place place, std::uint64_t bytes) {
    const auto found = volumes_.find(place.volume());
    if (found == volumes_.end() || bytes == 0 || place.offset() + bytes > found->second->size) return false;
    found->second->kept.emplace_back(place.offset(), bytes);
    found->second->wanted += bytes;
    return true;
}

void Volumes::finish_keeping() {
    std::vector<std::shared_ptr<Volume>> all;
    for (const auto& [id, volume] : volumes_) all.push_back(volume);
    for (const std::shared_ptr<Volume>& volume : all) {
        std::ranges::sort(volume->kept);
        std::uint64_t end = 0;
        for (const auto& [offset, bytes] : volume->kept) {
            if (offset > end && !volume->punch(end, offset - end)) stuck_bytes_ += offset - end;
            end = std::max(end, offset + bytes);
        }
        if (end < volume->size && ::ftruncate(volume->fd, static_cast<off_t>(end)) == 0) volume->size = end;
        volume->used = volume->size;
        volume->kept = {};
        remove_if_empty(volume);
    }
}

Result<std::shared_ptr<Volumes::Volume>> Volumes::create(std::uint64_t size) {
    const std::uint32_t id = last_id_ + 1;
    const std::filesystem::path path = path_of(id);
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | (direct_io_ ? O_DIRECT : 0), 0600);
    if (fd < 0) return failed("cannot make", path);
    auto volume = std::make_shared<Volume>(id, fd, size);
    if (::fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0) {
        // Where room cannot be prepared, the file grows as it is written.
        const bool unsupported = errno == EOPNOTSUPP;
        if (!unsupported || ::ftruncate(fd, static_cast<off_t>(size)) != 0) {
            Error why = failed("cannot prepare", path);
            ::unlink(path.c_str());
            return why;
        }
    }
    last_id_ = id;
    volumes_.emplace(id, volume);
    return volume;
}

std::shared_ptr<Volumes::Volume> Volumes::find(std::uint32_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = volumes_.find(id);
    return found == volumes_.end() ? nullptr : found->second;
}

void Volumes::finish(Volume& volume) {
    volume.finished = true;
    if (::ftruncate(volume.fd, static_cast<off_t>(volume.used)) == 0) volume.size = volume.used;
}

void Volumes::remove_if_empty(const std::shared_ptr<Volume>& volume) {
    if (!volume->finished || volume->wanted != 0) return;
    ::unlink(path_of(volume->id).c_str());
    stuck_bytes_ -= std::min(stuck_bytes_, volume->stuck);
    volumes_.erase(volume->id);
}

Result<Place> Volumes::append(ByteView blocks) {
    EXA_CHECK(!blocks.empty() && blocks.size() % block == 0);
    std::shared_ptr<Volume> volume;
    std::uint64_t offset = 0;
    {
        const std::lock_guard lock(mutex_);
        if (blocks.size() > size_) {
            EXA_TRY(volume, create(blocks.size()));
            volume->finished = true;
        } else {
            if (active_ && active_->used + blocks.size() > active_->size) {
                finish(*active_);
                remove_if_empty(active_);
                active_.reset();
            }
            if (!active_) {
                EXA_TRY(active_, create(size_));
            }
            volume = active_;
        }
        offset = volume->used;
        volume->used += blocks.size();
        volume->wanted += blocks.size();
    }
    const Place place{static_cast<std::uint64_t>(volume->id) << 32 | offset / block};
    if (!whole(::pwrite, volume->fd, blocks.data(), blocks.size(), offset)) {
        Error why = failed("cannot write", path_of(volume->id));
        release(place, blocks.size());
        return why;
    }
    return place;
}

bool Volumes::read(Place place, std::span<std::uint8_t> blocks) const {
    const std::shared_ptr<Volume> volume = find(place.volume());
    return volume && whole(::pread, volume->fd, blocks.data(), blocks.size(), place.offset());
}

void Volumes::release(Place place, std::uint64_t bytes) {
    const std::shared_ptr<Volume> volume = find(place.volume());
    if (!volume) return;
    const bool given_back = volume->punch(place.offset(), bytes);
    const std::lock_guard lock(mutex_);
    EXA_CHECK(volume->wanted >= bytes);
    volume->wanted -= bytes;
    if (!given_back) {
        volume->stuck += bytes;
        stuck_bytes_ += bytes;
    }
    remove_if_empty(volume);
}

bool Volumes::sync(const std::set<std::uint32_t>& volumes) {
    for (const std::uint32_t id : volumes) {
        const std::shared_ptr<Volume> volume = find(id);
        if (volume && ::fdatasync(volume->fd) != 0) return false;
    }
    // The names of new files.
    const int fd = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool synced = ::fsync(fd) == 0;
    ::close(fd);
    return synced;
}

std::uint64_t Volumes::overhead_bytes() const {
    const std::lock_guard lock(mutex_);
    // All of the active volume, since what is being written into it is counted as reserved already or not any more.
    return stuck_bytes_ + size_;
}

std::uint64_t Volumes::measure() const {
    std::vector<std::shared_ptr<Volume>> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, volume] : volumes_) all.push_back(volume);
    }
    std::uint64_t bytes = 0;
    for (const std::shared_ptr<Volume>& volume : all) {
        struct stat status{};
        if (::fstat(volume->fd, &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

}  // namespace exa::io::store
