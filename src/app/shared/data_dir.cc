#include "app/shared/data_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "app/shared/errc.h"
#include "app/shared/text_file.h"
#include "node/identity.h"

namespace exa::app::shared {

namespace {

constexpr std::string_view identity_name = "identity";

Error system_error(std::string_view what, const std::string& path) {
    return error(errc::data_dir, fmt::format("{} {}: {}", what, path, std::generic_category().message(errno)));
}

}  // namespace

Result<DataDir> DataDir::open(const std::string& path, PeerId fresh_id) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed) return error(errc::data_dir, fmt::format("cannot make {}: {}", path, failed.message()));

    const std::string lock_path = path + "/lock";
    const int lock_fd = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (lock_fd < 0) return system_error("cannot open", lock_path);
    DataDir directory(path, lock_fd);
    if (::flock(lock_fd, LOCK_EX | LOCK_NB) != 0) return error(errc::data_dir_locked, path);

    EXA_TRY(const auto kept, directory.read(identity_name));
    const auto next = node::next_instance(kept, fresh_id);
    if (!next)
        return error(errc::data_dir, fmt::format("{}/{} is damaged; restore it, or remove the whole directory to start "
                                                 "as a new peer",
                                                 path, identity_name));
    EXA_TRY(directory.replace(identity_name, next->file));
    directory.peer_id_ = next->identity.id;
    directory.generation_ = next->identity.generation;
    return directory;
}

Result<std::optional<std::string>> DataDir::read(std::string_view name) const {
    const std::string path = fmt::format("{}/{}", path_, name);
    std::error_code failed;
    const bool known = std::filesystem::exists(path, failed);
    // What cannot be looked at may be there.
    if (failed) return error(errc::data_dir, fmt::format("cannot read {}: {}", path, failed.message()));
    if (!known) return std::optional<std::string>();
    const std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::optional(text.str());
}

Result<void> DataDir::replace(std::string_view name, std::string_view text) const {
    return replace_text_file(fmt::format("{}/{}", path_, name), text);
}

DataDir::DataDir(DataDir&& other) noexcept
    : path_(std::move(other.path_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      peer_id_(other.peer_id_),
      generation_(other.generation_) {}

DataDir::~DataDir() {
    if (lock_fd_ >= 0) ::close(lock_fd_);
}

}  // namespace exa::app::shared
