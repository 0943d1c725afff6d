#include "base/siphash.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/check.h"

namespace exa {

namespace {

static_assert(std::endian::native == std::endian::little);

std::uint64_t get_le(ByteView bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

}  // namespace

SipKey make_sip_key(ByteView bytes) {
    EXA_CHECK(bytes.size() >= 16);
    return {get_le(bytes), get_le(bytes.subspan(8))};
}

std::uint64_t siphash(const SipKey& key, ByteView bytes) {
    SipHash hash(key);
    hash.add(bytes);
    return hash.value();
}

SipHash::SipHash(const SipKey& key)
    : v0_(key.k0 ^ 0x736f6d6570736575),
      v1_(key.k1 ^ 0x646f72616e646f6d),
      v2_(key.k0 ^ 0x6c7967656e657261),
      v3_(key.k1 ^ 0x7465646279746573) {}

void SipHash::round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
}

void SipHash::take(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
}

void SipHash::add(ByteView bytes) {
    std::size_t filled = length_ % 8;
    length_ += bytes.size();
    if (filled > 0) {
        const std::size_t count = std::min(8 - filled, bytes.size());
        for (std::size_t i = 0; i < count; ++i) tail_ |= std::uint64_t{bytes[i]} << (8 * filled++);
        bytes = bytes.subspan(count);
        if (filled < 8) return;
        take(tail_);
    }
    tail_ = 0;
    while (bytes.size() >= 8) {
        take(get_le(bytes));
        bytes = bytes.subspan(8);
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) tail_ |= std::uint64_t{bytes[i]} << (8 * i);
}

std::uint64_t SipHash::value() {
    take(length_ << 56 | tail_);
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
}

}  // namespace exa
