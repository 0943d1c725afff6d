// What a decoded message may say. The codec applies these to everything it reads and, so that no peer sends what others
// refuse, to everything it writes.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/gossip.h"
#include "wire/link_messages.h"

namespace exa::wire {

// Each: errc::oversized or errc::malformed, naming the field.
Result<void> check(const Header& header);
Result<void> check(const Fact& fact);
Result<void> check(const PeerProfile& profile);
Result<void> check(const ReplicaRecord& replica);
Result<void> check(const RecordDelta& delta);
Result<void> check(const LoadReport& report);
Result<void> check(const LoadGroup& group);
Result<void> check(const DigestEntry& entry);
Result<void> check(const Pull& pull);
Result<void> check(const Keys& keys);
Result<void> check(const Packet& packet);
Result<void> check(const Sync& sync);
Result<void> check(const HeaderField& field);
Result<void> check(const std::vector<HeaderField>& headers);
Result<void> check(const Open& open);
Result<void> check_beside_headers(const Open& open);
Result<void> check(const Head& head);
Result<void> check(const End& end);

// Whether the two differ in nothing but slot and state: what a message says once for both.
bool same_profile(const ReplicaRecord& a, const ReplicaRecord& b);

}  // namespace exa::wire
