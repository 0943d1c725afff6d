// What the tests of the store share: a directory that goes away, and segments whose every byte follows from a number.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/hash.h"
#include "io/crypto/openssl_crypto.h"
#include "io/store/segment_store.h"
#include "kv/segment.h"

namespace exa::io::test {

inline const crypto::OpenSslCrypto openssl;
inline const kv::SegmentSealer sealer(openssl, as_bytes("the root secret"));
inline NullLog no_log;

class TemporaryDirectory {
  public:
    // Under `parent`, or where temporary files go.
    explicit TemporaryDirectory(std::string parent = {}) {
        const char* named = ::getenv("TMPDIR");
        if (parent.empty()) parent = named == nullptr ? "/var/tmp" : named;
        std::string name = parent + "/exaserve-store-XXXXXX";
        BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

inline WallTime at(std::int64_t seconds) {
    return {(1'800'000'000 + seconds) * 1'000'000};
}

inline kv::SegmentKey key_of(std::uint64_t n) {
    return {openssl.sha256(as_bytes("segment " + std::to_string(n)))};
}

inline kv::SegmentHead head_of(std::uint64_t n, std::uint64_t tenant = 1) {
    kv::SegmentHead head;
    head.key = key_of(n);
    head.tenant = tenant;
    head.tokens = 64;
    for (std::size_t i = 0; i < 8; ++i) head.nonce[i] = static_cast<std::uint8_t>(n >> (8 * i));
    return head;
}

inline kv::SealedSegment sealed(const kv::SegmentHead& head, std::size_t payload, std::uint64_t seed) {
    const auto buffer = std::make_shared<kv::SegmentBuffer>(kv::segment_header_size + payload);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < payload; ++i) {
        if (i % 8 == 0) word = hash64(i, seed);
        buffer->bytes()[kv::segment_header_size + i] = static_cast<std::uint8_t>(word >> (8 * (i % 8)));
    }
    sealer.seal(head, *buffer);
    return buffer;
}

inline kv::SealedSegment segment(std::uint64_t n, std::size_t payload = 100'000, std::uint64_t tenant = 1) {
    return sealed(head_of(n, tenant), payload, n);
}

inline kv::SealedSegment value(std::uint64_t n, std::uint64_t stamp, std::size_t payload = 1000) {
    kv::SegmentHead head = head_of(n);
    head.kind = kv::SegmentKind::value;
    head.stamp = stamp;
    head.tokens = 0;
    return sealed(head, payload, stamp);
}

inline bool equal(const kv::SealedSegment& a, const kv::SealedSegment& b) {
    return a && b && std::ranges::equal(a->view(), b->view());
}

// Bytes on the disk of everything below.
inline std::uint64_t disk_usage(const std::filesystem::path& directory) {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
        struct stat status{};
        if (::lstat(file.path().c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

}  // namespace exa::io::test
