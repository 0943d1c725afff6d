#include "kv/segment.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "kv/errc.h"

namespace exa::kv {

namespace {

constexpr std::array<std::uint8_t, 8> magic = {'e', 'x', 'a', '-', 'k', 'v', 's', 1};

constexpr std::size_t at_magic = 16, at_header_size = 24, at_kind = 28, at_key = 32, at_parent = 64, at_stamp = 96,
                      at_tenant = 104, at_payload_size = 112, at_checksum = 120, at_nonce = 128, at_tokens = 140,
                      at_expires = 144, at_rest = 152;
static_assert(at_magic == aead_tag_size);
static_assert(at_nonce + sizeof(AeadNonce) == at_tokens);
static_assert(segment_header_size % 64 == 0);

template <std::size_t size>
void copy_out(const std::uint8_t* at, std::array<std::uint8_t, size>& out) {
    std::copy_n(at, size, out.begin());
}

Error malformed(const char* what) {
    return error(errc::malformed, what);
}

}  // namespace

Result<SegmentHead> parse_segment(ByteView sealed) {
    if (sealed.size() < segment_header_size) return malformed("shorter than a header");
    const std::uint8_t* bytes = sealed.data();
    if (!std::equal(magic.begin(), magic.end(), bytes + at_magic)) return malformed("magic");
    if (get_le<std::uint32_t>(bytes + at_header_size) != segment_header_size) return malformed("header size");
    const auto kind = get_le<std::uint32_t>(bytes + at_kind);
    if (kind > static_cast<std::uint32_t>(SegmentKind::tombstone)) return malformed("kind");
    if (!std::all_of(bytes + at_rest, bytes + segment_header_size, [](std::uint8_t byte) { return byte == 0; }))
        return malformed("reserved bytes");

    SegmentHead head;
    head.kind = static_cast<SegmentKind>(kind);
    copy_out(bytes + at_key, head.key.bytes);
    copy_out(bytes + at_parent, head.parent.bytes);
    head.stamp = get_le<std::uint64_t>(bytes + at_stamp);
    head.tenant = get_le<std::uint64_t>(bytes + at_tenant);
    head.expires_s = get_le<std::uint64_t>(bytes + at_expires);
    head.payload_size = get_le<std::uint64_t>(bytes + at_payload_size);
    head.checksum = get_le<std::uint64_t>(bytes + at_checksum);
    copy_out(bytes + at_nonce, head.nonce);
    head.tokens = get_le<std::uint32_t>(bytes + at_tokens);
    if (head.payload_size > segment_payload_max || head.payload_size != sealed.size() - segment_header_size)
        return malformed("length");
    return head;
}

SegmentSealer::SegmentSealer(const Crypto& crypto, ByteView root_secret, Mutant mutant)
    : crypto_(&crypto),
      mac_secret_(crypto.hkdf_sha256(root_secret, {}, as_bytes("exaserve segment mac 1"))),
      mutant_(mutant) {}

std::unique_ptr<Aead> SegmentSealer::aead_for(const SegmentKey& key) const {
    return crypto_->aead(crypto_->hkdf_sha256(mac_secret_, {}, key.bytes));
}

void SegmentSealer::seal(const SegmentHead& head, SegmentBuffer& buffer) const {
    const std::span<std::uint8_t> sealed = buffer.bytes();
    EXA_CHECK(is_valid_sealed_size(sealed.size()));
    const ByteView payload = payload_of(sealed);
    std::uint8_t* bytes = sealed.data();
    std::copy(magic.begin(), magic.end(), bytes + at_magic);
    put_le(bytes + at_header_size, static_cast<std::uint32_t>(segment_header_size));
    put_le(bytes + at_kind, static_cast<std::uint32_t>(head.kind));
    std::copy(head.key.bytes.begin(), head.key.bytes.end(), bytes + at_key);
    std::copy(head.parent.bytes.begin(), head.parent.bytes.end(), bytes + at_parent);
    put_le(bytes + at_stamp, head.stamp);
    put_le(bytes + at_tenant, head.tenant);
    put_le(bytes + at_payload_size, static_cast<std::uint64_t>(payload.size()));
    put_le(bytes + at_checksum, hash64(payload));
    std::copy(head.nonce.begin(), head.nonce.end(), bytes + at_nonce);
    put_le(bytes + at_tokens, head.tokens);
    put_le(bytes + at_expires, head.expires_s);
    std::fill(bytes + at_rest, bytes + segment_header_size, std::uint8_t{0});
    aead_for(head.key)->seal(head.nonce, sealed.subspan(aead_tag_size), {}, sealed.first(aead_tag_size));
}

Result<SegmentHead> SegmentSealer::verify(const SegmentKey& expected, ByteView sealed) const {
    EXA_TRY(const SegmentHead head, parse_segment(sealed));
    if (mutant_ == Mutant::mac_unchecked) return head;
    if (head.key != expected) return error(errc::wrong_key, to_string(head.key));
    if (aead_for(head.key)->open(head.nonce, sealed.subspan(aead_tag_size), sealed.first(aead_tag_size), {}))
        return head;
    return error(hash64(payload_of(sealed)) == head.checksum ? errc::wrong_seal : errc::wrong_checksum);
}

}  // namespace exa::kv
