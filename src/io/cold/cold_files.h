// ColdFiles: a directory on a file system that all peers mount, as the cold tier of the KV cache uses it.
//
//   DIRECTORY/kv1/<first 3 digits of the key>/<64 digits of the key>   a sealed segment, as it stands in memory
//   DIRECTORY/kv1/<3 digits>/.new-<16 digits>                          one that is being written
//
// Any number of peers at a time, without a lock: a file gets its name when it is whole, by a link that overwrites
// nothing; two that write one segment write the same, and the second finds it there. No file is written twice. What a
// writer left behind when it died has no name, and goes when it is old.
//
// Nothing is believed: a name is followed through no symbolic link, what is no regular file of a segment's size is bad,
// and what a read gives is not verified yet. Calls block for as long as the file system does, which may be for good:
// they belong on threads of their own. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "kv/cold_gc.h"
#include "kv/segment_buffer.h"
#include "kv/segment_key.h"

namespace exa::io::cold {

enum class ColdOutcome : std::uint8_t {
    ok,
    present,  // publish: it was there before
    missing,
    bad,   // no regular file, or one of a size that no segment has
    full,  // no room on the file system, or over a quota
    failed,
};

// With what the system said of `full` and `failed`, as errno.
struct ColdResult {
    ColdOutcome outcome = ColdOutcome::ok;
    int code = 0;
};

class ColdFiles {
  public:
    virtual ~ColdFiles() = default;

    // Whether the directory is there, and takes files.
    virtual ColdResult check() = 0;
    // The sealed size.
    virtual ColdResult size(const kv::SegmentKey& key, std::uint64_t& bytes) = 0;
    // What was not used for an hour is marked as used now, for whoever asks what may go.
    virtual ColdResult read(const kv::SegmentKey& key, std::shared_ptr<kv::SegmentBuffer>& segment) = 0;
    // Durably: it survives the loss of power, as far as the file system keeps that word.
    virtual ColdResult publish(const kv::SegmentKey& key, ByteView sealed, bool durably) = 0;
    // Whatever stands under the key; a directory only if it is empty.
    virtual ColdResult remove(const kv::SegmentKey& key) = 0;
    // missing: nobody has written there yet. Files of other names are left out.
    virtual ColdResult list(std::uint32_t folder, std::vector<kv::ColdFile>& files) = 0;
    virtual ColdResult remove(std::uint32_t folder, const std::string& name) = 0;
};

// Makes what is missing below the directory, once it is needed, but never the directory itself: where nothing is
// mounted, nothing is written.
std::unique_ptr<ColdFiles> cold_files(std::filesystem::path directory);

}  // namespace exa::io::cold
