// Volumes: the files that hold the segments themselves, each written once from front to end.
//
// A volume is prepared at its full size, filled block by block, cut to what was written when the next one begins, and
// removed when nothing in it is wanted. A segment that goes leaves a hole, which the file system takes back at once: no
// segment is ever moved, and no place is ever written twice, so a place names its bytes for good. Which places are
// wanted stands in the index (index_db.h), not here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace exa::io::store {

// Volume and block in it, in one number; never 0.
struct Place {
    std::uint64_t value = 0;

    std::uint32_t volume() const { return static_cast<std::uint32_t>(value >> 32); }
    std::uint64_t offset() const { return (value & 0xffffffff) * 4096; }
    auto operator<=>(const Place&) const = default;
};

class Volumes {
  public:
    // `size`: of a volume, in bytes, whole blocks; what is larger gets a volume of its own. Files that are there are
    // found, but nothing of them is kept before keep() and finish_keeping().
    static Result<std::unique_ptr<Volumes>> open(const std::filesystem::path& directory, std::uint64_t size,
                                                 bool direct_io);
    Volumes(const Volumes&) = delete;
    Volumes& operator=(const Volumes&) = delete;
    ~Volumes();

    // At start, before anything else. False when there is no such place.
    bool keep(Place place, std::uint64_t bytes);
    // Gives back whatever was not kept.
    void finish_keeping();

    // `blocks`: aligned to blocks and whole ones. An error leaves nothing behind.
    Result<Place> append(ByteView blocks);
    // False when the disk could not give all of `blocks`.
    bool read(Place place, std::span<std::uint8_t> blocks) const;
    void release(Place place, std::uint64_t bytes);
    // What was appended to these volumes survives the loss of power when this returns true.
    bool sync(const std::set<std::uint32_t>& volumes);

    // On the disk beyond what places hold: what is prepared, and holes that could not be given back.
    std::uint64_t overhead_bytes() const;
    // On the disk, as the file system counts.
    std::uint64_t measure() const;
    bool direct_io() const { return direct_io_; }

  private:
    struct Volume;

    Volumes(std::filesystem::path directory, std::uint64_t size, bool direct_io);
    std::filesystem::path path_of(std::uint32_t id) const;
    Result<void> find_volumes();
    Result<std::shared_ptr<Volume>> create(std::uint64_t size);
    std::shared_ptr<Volume> find(std::uint32_t id) const;
    void finish(Volume& volume);
    void remove_if_empty(const std::shared_ptr<Volume>& volume);

    const std::filesystem::path directory_;
    const std::uint64_t size_;
    bool direct_io_;

    mutable std::mutex mutex_;
    std::map<std::uint32_t, std::shared_ptr<Volume>> volumes_;
    std::shared_ptr<Volume> active_;
    std::uint32_t last_id_ = 0;
    std::uint64_t stuck_bytes_ = 0;  // holes that could not be given back
};

}  // namespace exa::io::store
