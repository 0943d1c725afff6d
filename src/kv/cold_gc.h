// ColdGc: which folders of the cold tier's shared directory this peer cleans up, when, and which files it removes.
//
// The directory has `cold_folders` folders, and a segment's key names its own. Rendezvous hashing assigns each folder
// to one peer, so that nothing has to be agreed on and no folder is scanned by two: each peer goes through its own
// folders in a round, one at a time. Keys are spread evenly, so a peer's share of the folders is its share of the
// capacity, and the oldest tenth of each folder is the oldest tenth of all: what exceeds the capacity is taken from
// every folder alike.
//
// How full the folders are is known from the last round. Other peers are assumed to have written about as much since as
// this peer; when that would exceed the share, the round goes faster. So the capacity is exceeded by what is written in
// one round at most.
//
// Sans-IO. Polling order: next() until it returns nothing, each followed by handle_listing() unless the folder could
// not be read; then next_timeout().
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "kv/segment_key.h"

namespace exa::kv {

inline constexpr std::uint32_t cold_folders = 4096;

// The key's first twelve bits.
std::uint32_t cold_folder(const SegmentKey& key);

struct ColdGcConfig {
    std::uint64_t capacity_bytes = 0;                // of the whole directory
    Duration round = std::chrono::minutes{5};        // through all of this peer's folders
    Duration full_round = std::chrono::seconds{20};  // the same, while there may be too much
    double low_water = 0.95;                         // of this peer's share, after it was full
    std::int64_t leftover_s = 3600;                  // age at which a file that never got its name is removed
};

// A file in a folder, as a listing shows it.
struct ColdFile {
    std::string name;
    std::optional<SegmentKey> key;  // nothing: a file that never got its name
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  // Unix time: when it was written or last used
};

class ColdGc {
  public:
    ColdGc(PeerId self, const ColdGcConfig& config);

    // Getters.
    std::uint32_t folders() const { return static_cast<std::uint32_t>(mine_.size()); }
    // In this peer's folders, as of each one's last listing.
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t files() const { return files_; }
    std::uint64_t share_bytes() const;
    TimePoint next_timeout() const { return next_; }

    // The peers that share the work; this peer takes part if it is among them.
    void handle_peers(TimePoint now, const std::vector<PeerId>& peers);
    // This peer wrote a file.
    void handle_written(std::uint64_t bytes) { written_ += bytes; }

    // The folder to list now.
    std::optional<std::uint32_t> next(TimePoint now);
    // What is in it; returns the names of the files to remove.
    std::vector<std::string> handle_listing(WallTime now, std::uint32_t folder, std::vector<ColdFile> files);

  private:
    struct Folder {
        bool is_mine = false;
        std::uint64_t bytes = 0;
        std::uint64_t files = 0;
    };

    void forget(Folder& folder);

    const PeerId self_;
    const ColdGcConfig config_;
    std::vector<Folder> folders_;
    std::set<std::uint32_t> mine_;
    std::optional<std::uint32_t> last_;  // listed
    TimePoint next_ = time_never;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
    std::uint64_t written_ = 0;         // since the round began
    std::uint64_t written_before_ = 0;  // in the round before
    // While there is too much: how many folders still have to lose which part of their bytes, and how many bytes of the
    // folders before are still owed because files are not divisible.
    std::size_t evict_left_ = 0;
    double evict_part_ = 0;
    double carry_ = 0;
};

}  // namespace exa::kv
