// DataDir: the peer's own directory, held by one process. It keeps the identity: a random id made once, and a
// generation that grows with every boot and is on disk before anyone hears of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace exa::app::shared {

// The file of the members that the peer remembers (membership/member_memory.h).
inline constexpr std::string_view members_file = "members";

class DataDir {
  public:
    // Makes the directory if it is missing, locks it until destruction (flock), and counts the generation up, synced.
    // `fresh_id` becomes the id of a new directory; it must come from the system's generator and not be 0.
    // Errors: data_dir_locked, data_dir (names the file and the system's reason). A damaged identity file is an error,
    // never a new identity.
    static Result<DataDir> open(const std::string& path, PeerId fresh_id);

    DataDir(DataDir&& other) noexcept;
    DataDir& operator=(DataDir&&) = delete;
    ~DataDir();

    const std::string& path() const { return path_; }
    PeerId peer_id() const { return peer_id_; }
    Generation generation() const { return generation_; }

    // A file in it; nothing when there is none. data_dir.
    Result<std::optional<std::string>> read(std::string_view name) const;
    // Replaces a file, readable by the owner only: after a power cut either the old or the new one is there. data_dir;
    // then the old one is.
    Result<void> replace(std::string_view name, std::string_view text) const;

  private:
    DataDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

    std::string path_;
    int lock_fd_ = -1;
    PeerId peer_id_;
    Generation generation_;
};

}  // namespace exa::app::shared
