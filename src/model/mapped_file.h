// MappedFile: a file's bytes in memory, read-only, paged in by the kernel as they are touched.
//
// Replicas of a peer share one mapping. The file must not shrink while it is mapped: reading past its new end is fatal
// (SIGBUS), so models are replaced by renaming a new file over the old one, never by writing into it.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace exa::model {

class MappedFile {
  public:
    // errc::file_unreadable names the path and the system's reason. An empty file maps to no bytes.
    static Result<MappedFile> open(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    // Valid as long as this object; moving the object does not move the bytes.
    ByteView bytes() const { return {data_, size_}; }

  private:
    MappedFile(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    const std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace exa::model
