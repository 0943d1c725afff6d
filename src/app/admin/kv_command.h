// KvCommand: what an operator wants of the KV cache of one peer.
//
//   {"action":"locate","key"}                LocateKey
//   {"action":"locate","keys":[...]}         LocateKeys
//   {"action":"locate","request","tenant"}   LocateRequest: the body of a chat, a completion or a response
//   {"action":"locate","session"}            LocateSession: by its position on the ring (GET route)
//   {"action":"locate","replica"[,"after"]}  LocateReplica: "after" is the "next" of the previous page
//   {"action":"locate","value","tenant"}     LocateValue: by the key that a client of the Redis port uses
//   {"action":"get","key"}                   GetSegment
//   {"action":"put","key","payload"}         PutValue
//   {"action":"delete","key"}                DeleteSegment
//   {"action":"verify"[,"after"]}            VerifyDisk: "after" is the "next" of the previous page
//   {"action":"quota","tenant"}              ShowQuota
//   {"action":"quota","tenant","gib"}        SetQuota: 0 for kv.tenant_quota_gib
//   {"action":"quota","all":true}            ListQuotas
//   {"action":"migrate","keys":[...],"to"}   MigrateSegments
//
// Keys are 64 hexadecimal digits, up to 4096 of them; payloads are base64; an empty tenant is the anonymous one. When
// several members of "locate" are there, the first in this order counts: request, session, replica, value, keys, key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/kv/sessions.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "kv/segment_key.h"
#include "openai/error.h"

namespace exa::app::admin {

// Of one command; a queue to a peer takes as many.
inline constexpr std::size_t kv_command_keys_max = 4096;
// Of the body of a command; a payload is a third smaller.
inline constexpr std::size_t kv_command_bytes_max = 16 * 1024 * 1024;

struct LocateKey {
    exa::kv::SegmentKey key;
};
struct LocateKeys {
    std::vector<exa::kv::SegmentKey> keys;  // at least one
};
struct LocateRequest {
    std::string body;  // a JSON object
    std::string tenant;
};
struct LocateSession {
    std::uint64_t position = 0;
};
struct LocateReplica {
    ReplicaId replica;
    kv::KvSessions::Place from;
};
struct LocateValue {
    std::string user_key;
    std::string tenant;
};
struct GetSegment {
    exa::kv::SegmentKey key;
};
struct PutValue {
    exa::kv::SegmentKey key;
    Bytes payload;
};
struct DeleteSegment {
    exa::kv::SegmentKey key;
};
struct VerifyDisk {
    std::optional<exa::kv::SegmentKey> after;  // nothing: a round begins
};
struct ShowQuota {
    std::string tenant;
};
struct SetQuota {
    std::string tenant;
    std::uint32_t gib = 0;
};
struct ListQuotas {};
struct MigrateSegments {
    std::vector<exa::kv::SegmentKey> keys;  // at least one
    PeerId to;
};

using KvCommand =
    std::variant<LocateKey, LocateKeys, LocateRequest, LocateSession, LocateReplica, LocateValue, GetSegment, PutValue,
                 DeleteSegment, VerifyDisk, ShowQuota, SetQuota, ListQuotas, MigrateSegments>;

openai::ApiResult<KvCommand> parse_kv_command(std::string_view body);

// A page's place in a replica's sessions, as "after" takes it.
std::string to_text(const kv::KvSessions::Place& place);

}  // namespace exa::app::admin
