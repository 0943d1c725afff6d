// RespVersion: one write of one value of the Redis port, in memory, as its parts lie in segments (app/resp/value.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/crypto.h"
#include "kv/messages.h"
#include "kv/segment.h"
#include "resp/reply.h"

namespace exa::app::resp {

// Shares its parts with its copies.
struct RespVersion {
    std::vector<std::shared_ptr<exa::kv::SegmentBuffer>> parts;  // of a removal one, without a payload
    std::vector<exa::kv::SegmentKey> keys;                       // of them
    std::uint64_t stamp = 0;
    std::uint64_t tag = 0;  // of the tenant
    std::int64_t expires_ms = 0;
    std::uint64_t bytes = 0;  // of memory
    bool is_removal = false;
    // Null: the parts came sealed.
    std::shared_ptr<std::once_flag> sealing;

    bool is_live(std::int64_t now_ms) const { return !is_removal && (expires_ms == 0 || now_ms < expires_ms); }
    // As other peers hear of it: of size 0 when it is not live.
    exa::kv::Item item(std::int64_t now_ms) const {
        return {keys[0], stamp, is_live(now_ms) ? static_cast<std::uint32_t>(parts[0]->size()) : 0};
    }
};

// The removal of what stands under `key`.
RespVersion resp_removal(const exa::kv::SegmentKey& key, std::uint64_t stamp, std::uint64_t tag);

// Once for all copies, by the first caller; the others wait for it. Thread-safe.
void seal_resp(const RespVersion& version, const exa::kv::SegmentSealer& sealer);

// What the first part, verified under `key`, says of a value: everything but the other parts, whose keys are filled.
// Nothing for what is no first part of a value of `user_key`.
std::optional<RespVersion> resp_version_of(const Crypto& crypto, const exa::kv::SegmentKey& key,
                                           std::string_view user_key, const exa::kv::SealedSegment& first);
// The next part, verified under its key. False when it cannot be.
bool add_resp_part(RespVersion& version, const exa::kv::SealedSegment& part);
// All parts are there, and as long together as the value is.
bool is_resp_whole(const RespVersion& version);

// The value's bytes; the version must be a value.
exa::resp::Value resp_view(const RespVersion& version);

}  // namespace exa::app::resp
