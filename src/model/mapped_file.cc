#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "model/errc.h"

namespace exa::model {

namespace {

Error unreadable(const std::string& path, int system_errno) {
    return error(errc::file_unreadable, path + ": " + std::generic_category().message(system_errno));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return unreadable(path, errno);
    struct stat status = {};
    if (::fstat(fd, &status) != 0) {
        const int reason = errno;
        ::close(fd);
        return unreadable(path, reason);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(fd);
        return error(errc::file_unreadable, path + ": not a regular file");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) {
        ::close(fd);
        return MappedFile(nullptr, 0);
    }
    void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    const int reason = errno;
    ::close(fd);
    if (data == MAP_FAILED) return unreadable(path, reason);
    return MappedFile(static_cast<const std::uint8_t*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace exa::model
