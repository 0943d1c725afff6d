#include "app/resp/value.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/little_endian.h"

namespace exa::app::resp {

namespace {

constexpr std::array<std::uint8_t, 8> magic = {'e', 'x', 'a', '-', 'r', 's', 'p', 1};
constexpr std::uint64_t value_bytes_max = 1ull << 40;
// Of a key, from which its owners follow.
constexpr std::ptrdiff_t place_bytes = 8;

void append(Bytes& out, ByteView bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

void write_resp_head(const RespValueHead& head, std::span<std::uint8_t> payload) {
    EXA_CHECK(payload.size() >= resp_head_size(head.key.size()));
    std::ranges::copy(magic, payload.begin());
    put_le(payload.data() + 8, static_cast<std::uint32_t>(head.key.size()));
    put_le(payload.data() + 12, head.parts);
    put_le(payload.data() + 16, head.bytes);
    put_le(payload.data() + 24, static_cast<std::uint64_t>(head.expires_ms));
    std::ranges::copy(as_bytes(head.key), payload.begin() + 32);
}

std::optional<RespValueHead> read_resp_head(ByteView payload) {
    if (payload.size() < resp_head_size(0) || !std::equal(magic.begin(), magic.end(), payload.begin()))
        return std::nullopt;
    const auto key_bytes = get_le<std::uint32_t>(payload.data() + 8);
    if (key_bytes > payload.size() - resp_head_size(0)) return std::nullopt;
    RespValueHead head;
    head.key = as_text(payload.subspan(32, key_bytes));
    head.parts = get_le<std::uint32_t>(payload.data() + 12);
    head.bytes = get_le<std::uint64_t>(payload.data() + 16);
    head.expires_ms = static_cast<std::int64_t>(get_le<std::uint64_t>(payload.data() + 24));
    head.data = payload.subspan(resp_head_size(key_bytes));
    if (head.parts == 0 || head.bytes > value_bytes_max || head.data.size() > head.bytes) return std::nullopt;
    if (head.parts == 1 && head.data.size() != head.bytes) return std::nullopt;
    return head;
}

std::string_view resp_stem(std::string_view user_key) {
    for (const std::string_view ending : {"kv_bytes", "metadata"})
        if (user_key.size() > ending.size() && user_key.ends_with(ending))
            return user_key.substr(0, user_key.size() - ending.size());
    return user_key;
}

exa::kv::SegmentKey resp_key(const Crypto& crypto, const Digest& tenant_salt, std::string_view user_key) {
    const auto digest = [&](std::string_view domain, std::string_view text) {
        Bytes message;
        append(message, as_bytes(domain));
        append(message, tenant_salt);
        append(message, as_bytes(text));
        return crypto.sha256(message);
    };
    exa::kv::SegmentKey key{digest("exaserve resp value 1", user_key)};
    std::ranges::copy_n(digest("exaserve resp stem 1", resp_stem(user_key)).begin(), place_bytes, key.bytes.begin());
    return key;
}

exa::kv::SegmentKey resp_part_key(const Crypto& crypto, const exa::kv::SegmentKey& first, std::uint64_t stamp,
                                  std::uint32_t part) {
    if (part == 0) return first;
    Bytes message;
    append(message, as_bytes("exaserve resp part 1"));
    append(message, first.bytes);
    std::array<std::uint8_t, 12> rest;
    put_le(rest.data(), stamp);
    put_le(rest.data() + 8, part);
    append(message, rest);
    exa::kv::SegmentKey key{crypto.sha256(message)};
    std::ranges::copy_n(first.bytes.begin(), place_bytes, key.bytes.begin());
    return key;
}

}  // namespace exa::app::resp
