// ColdCare: which folders of a directory shared by all peers this one looks after, when, and what goes from them.
//
// The directory has `cold_folders` folders, and a segment's key names its own. Rendezvous hashing gives each folder to
// one of the peers, so that nothing is agreed upon and no folder is gone through by all: each peer goes through its own
// in a round, one at a time. Keys are spread evenly, so a peer's share of the folders is its share of the capacity, and
// the oldest tenth of each folder is the oldest tenth of all: what is too much is taken from every folder alike.
//
// How full the folders are is known from the last round. What others wrote since is taken to be about what this peer
// wrote; when that would be too much, the round goes faster. So the capacity is kept within what is written in a round.
//
// Sans-IO. Polling order: next() until it has nothing to say, each followed by handle_listing() unless the folder could
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

struct ColdCareConfig {
    std::uint64_t capacity_bytes = 0;           // of the whole directory
    Duration round = std::chrono::minutes{5};   // through all of this peer's folders
    Duration hurry = std::chrono::seconds{20};  // the same, when there may be too much
    double low_water = 0.95;                    // of this peer's share, once it was full
    std::int64_t leftover_s = 3600;             // how old a file that never got its name is when it goes
};

// A file in a folder, as a listing shows it.
struct ColdFile {
    std::string name;
    std::optional<SegmentKey> key;  // nothing: a file that never got its name
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  // Unix time: when it was written or last used
};

class ColdCare {
  public:
    ColdCare(PeerId self, const ColdCareConfig& config);

    // Getters.
    std::uint32_t folders() const { return static_cast<std::uint32_t>(mine_.size()); }
    // In this peer's folders, as of the last time each was looked at.
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t files() const { return files_; }
    std::uint64_t share_bytes() const;
    TimePoint next_timeout() const { return next_; }

    // Who looks after the directory; this peer is one of them if it is among them.
    void handle_peers(TimePoint now, const std::vector<PeerId>& peers);
    // This peer wrote a file.
    void handle_written(std::uint64_t bytes) { written_ += bytes; }

    // The folder to look at now.
    std::optional<std::uint32_t> next(TimePoint now);
    // What is in it; returns the names of those that shall go.
    std::vector<std::string> handle_listing(WallTime now, std::uint32_t folder, std::vector<ColdFile> files);

  private:
    struct Folder {
        bool is_mine = false;
        std::uint64_t bytes = 0;
        std::uint64_t files = 0;
    };

    void forget(Folder& folder);

    const PeerId self_;
    const ColdCareConfig config_;
    std::vector<Folder> folders_;
    std::set<std::uint32_t> mine_;
    std::optional<std::uint32_t> last_;  // that was looked at
    TimePoint next_ = time_never;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
    std::uint64_t written_ = 0;         // since the round began
    std::uint64_t written_before_ = 0;  // in the round before
    // While there is too much: how many folders are still to give up which part of theirs, and what those before should
    // have given up beside, had files been smaller.
    std::size_t evict_left_ = 0;
    double evict_part_ = 0;
    double carry_ = 0;
};

}  // namespace exa::kv
