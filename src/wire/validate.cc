#include "wire/validate.h"

#include <algorithm>
#include <array>
#include <string>

#include "wire/errc.h"

namespace exa::wire {

namespace {

constexpr Duration age_max = std::chrono::hours{1};
// A profile, or a replica with a profile of its own, has at most six texts and 128 bytes beside them.
constexpr std::size_t part_bytes_max = 6 * (text_bytes_max + text_bytes_max / 4 + 10) + 128;
constexpr std::size_t parts_always_fit = 64;
static_assert((parts_always_fit + 2) * part_bytes_max <= record_bytes_max);

// Fields of one connection (RFC 9110, section 7.6.1), of a message's framing, and secrets: they end where they came in.
constexpr std::array<std::string_view, 16> fields_kept{
    "api-key",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
};

Result<void> check_text(std::string_view what, std::string_view text) {
    if (text.size() > text_bytes_max)
        return error(errc::oversized, std::string(what) + " of " + std::to_string(text.size()) + " bytes, at most " +
                                          std::to_string(text_bytes_max));
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(text, control))
        return error(errc::malformed, std::string(what) + " has control characters");
    return success();
}

Result<void> check_peer(PeerId id) {
    if (id == PeerId{}) return error(errc::malformed, "peer id 0");
    return success();
}

Result<void> check_counter(std::string_view what, std::uint64_t value) {
    if (value > counter_max) return error(errc::malformed, std::string(what) + " " + std::to_string(value));
    return success();
}

Result<void> check_generation(Generation generation) {
    // The upper half leaves room to count on whatever a peer starts from.
    if (generation.value >> 63 != 0) return error(errc::malformed, "generation " + std::to_string(generation.value));
    return success();
}

Result<void> check_profile(const ReplicaRecord& replica) {
    EXA_TRY(check_text("deployment", replica.deployment));
    EXA_TRY(check_text("model", replica.model));
    EXA_TRY(check_text("version", replica.version));
    EXA_TRY(check_text("tenant pool", replica.tenant_pool));
    EXA_TRY(check_text("role", replica.role));
    EXA_TRY(check_text("numerics", replica.numerics));
    // 64 ring points each: more weight would let one record cost every peer's memory.
    if (replica.weight > 1024) return error(errc::malformed, "weight " + std::to_string(replica.weight));
    return success();
}

Result<void> check_state(const ReplicaRecord& replica) {
    if (replica.state > ReplicaState::failed) return error(errc::malformed, "replica state");
    return success();
}

Result<void> check_replicas(const std::vector<ReplicaRecord>& replicas) {
    for (std::size_t i = 0; i < replicas.size(); ++i) {
        if (i == 0 || !same_profile(replicas[i], replicas[i - 1])) {
            EXA_TRY(check_profile(replicas[i]));
        }
        EXA_TRY(check_state(replicas[i]));
    }
    return success();
}

// RFC 9110, section 5.6.2, without capitals: how names compare.
bool is_lower_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

Result<void> check_wait(std::string_view what, Duration wait) {
    if (wait < Duration{0} || wait > wait_max) return error(errc::malformed, std::string(what));
    return success();
}

template <class T>
Result<void> check_all(const std::vector<T>& items) {
    for (const T& item : items) {
        EXA_TRY(check(item));
    }
    return success();
}

}  // namespace

Result<void> check(const Header& header) {
    EXA_TRY(check_peer(header.sender));
    EXA_TRY(check_generation(header.generation));
    EXA_TRY(check_counter("incarnation", header.incarnation.value));
    EXA_TRY(check_counter("record version", header.record_version));
    if (header.instance == 0) return error(errc::malformed, "instance 0");
    return success();
}

Result<void> check(const Fact& fact) {
    EXA_TRY(check_peer(fact.subject));
    EXA_TRY(check_generation(fact.generation));
    EXA_TRY(check_counter("incarnation", fact.incarnation.value));
    if (fact.state > MemberState::left) return error(errc::malformed, "state");
    return success();
}

Result<void> check(const PeerProfile& profile) {
    EXA_TRY(check_text("name", profile.name));
    EXA_TRY(check_text("region", profile.region));
    EXA_TRY(check_text("rack", profile.rack));
    if (profile.state > PeerState::leaving) return error(errc::malformed, "peer state");
    if (profile.name_claim > name_claim_max) return error(errc::malformed, "name claim");
    if (profile.keys.size() > keys_held_max) return error(errc::oversized, "keys of a peer");
    if (!profile.keys.empty() && profile.keys.front() == KeyId{}) return error(errc::malformed, "key id 0");
    if (std::ranges::adjacent_find(profile.keys, std::ranges::greater_equal{}) != profile.keys.end())
        return error(errc::malformed, "keys out of order");
    return success();
}

Result<void> check(const ReplicaRecord& replica) {
    EXA_TRY(check_profile(replica));
    return check_state(replica);
}

bool same_profile(const ReplicaRecord& a, const ReplicaRecord& b) {
    return a.id.deployment == b.id.deployment && a.deployment == b.deployment && a.model == b.model &&
           a.version == b.version && a.tenant_pool == b.tenant_pool && a.role == b.role && a.numerics == b.numerics &&
           a.weight == b.weight && a.in_flight_limit == b.in_flight_limit && a.context_tokens == b.context_tokens;
}

Result<void> check(const RecordDelta& delta) {
    EXA_TRY(check_peer(delta.peer));
    EXA_TRY(check_generation(delta.generation));
    EXA_TRY(check_counter("incarnation", delta.incarnation.value));
    EXA_TRY(check_counter("version", delta.version));
    if (delta.instance == 0) return error(errc::malformed, "instance 0");
    if (delta.base > delta.version) return error(errc::malformed, "base above version");
    if (delta.version == 0) return error(errc::malformed, "record version 0");
    const bool stub = delta.base == delta.version;
    if (stub && (!delta.replicas.empty() || !delta.removed.empty()))
        return error(errc::malformed, "a stub with replicas");
    if (delta.base == 0 && !delta.profile) return error(errc::malformed, "a whole record without its profile");
    if (delta.replicas.size() > replicas_max || delta.removed.size() > replicas_max)
        return error(errc::oversized, "replicas of a peer");
    if (delta.profile) {
        EXA_TRY(check(*delta.profile));
    }
    EXA_TRY(check_replicas(delta.replicas));
    // Most are too small by far to be measured.
    if (delta.replicas.size() + delta.removed.size() > parts_always_fit) {
        if (const std::size_t bytes = size_bound(delta); bytes > record_bytes_max)
            return error(errc::oversized, "record of about " + std::to_string(bytes) + " bytes, at most " +
                                              std::to_string(record_bytes_max));
    }
    const auto other = [&](const ReplicaId& id) { return id.peer != delta.peer; };
    if (std::ranges::any_of(delta.replicas, other, &ReplicaRecord::id) || std::ranges::any_of(delta.removed, other))
        return error(errc::malformed, "a replica of another peer");
    // Strictly rising: sorted and without twins.
    if (std::ranges::adjacent_find(delta.replicas, std::ranges::greater_equal{}, &ReplicaRecord::id) !=
            delta.replicas.end() ||
        std::ranges::adjacent_find(delta.removed, std::ranges::greater_equal{}) != delta.removed.end())
        return error(errc::malformed, "replicas out of order");
    return success();
}

Result<void> check(const LoadReport& report) {
    if (report.kv_used_permille > 1000) return error(errc::malformed, "KV use above 1000 permille");
    return success();
}

Result<void> check(const LoadGroup& group) {
    EXA_TRY(check_peer(group.peer));
    EXA_TRY(check_generation(group.generation));
    EXA_TRY(check_counter("load number", group.number));
    if (group.age < Duration{0} || group.age > age_max) return error(errc::malformed, "age of a load");
    if (group.reports.size() > load_group_max) return error(errc::oversized, "loads in a group");
    if (group.part >= replicas_max / load_group_max) return error(errc::malformed, "part of the loads");
    for (const LoadReport& report : group.reports) {
        if (report.replica.peer != group.peer) return error(errc::malformed, "a load of another peer");
        EXA_TRY(check(report));
    }
    return success();
}

Result<void> check(const DigestEntry& entry) {
    EXA_TRY(check_peer(entry.peer));
    EXA_TRY(check_generation(entry.generation));
    EXA_TRY(check_counter("incarnation", entry.incarnation.value));
    EXA_TRY(check_counter("version", entry.version));
    if (entry.state > MemberState::left) return error(errc::malformed, "state");
    return success();
}

Result<void> check(const Pull& pull) {
    EXA_TRY(check_peer(pull.peer));
    EXA_TRY(check_generation(pull.generation));
    return check_counter("version", pull.version);
}

Result<void> check(const Keys& keys) {
    std::size_t held = 0;
    for (const KeyEntry& entry : keys.entries) {
        if (entry.id == KeyId{}) return error(errc::malformed, "key id 0");
        EXA_TRY(check_counter("key stamp", entry.stamp));
        held += entry.secret.has_value() ? 1 : 0;
    }
    if (held > keys_held_max || keys.entries.size() - held > keys_removed_max) return error(errc::oversized, "keys");
    if (std::ranges::adjacent_find(keys.entries, std::ranges::greater_equal{}, &KeyEntry::id) != keys.entries.end())
        return error(errc::malformed, "keys out of order");
    return check_counter("key stamp", keys.primary_stamp);
}

Result<void> check(const Packet& packet) {
    EXA_TRY(check(packet.header));
    if (packet.kind > PacketKind::gossip) return error(errc::unknown_kind, "packet");
    EXA_TRY(check_all(packet.facts));
    EXA_TRY(check_all(packet.records));
    return check_all(packet.loads);
}

Result<void> check(const Sync& sync) {
    EXA_TRY(check(sync.header));
    if (sync.kind > SyncKind::summary) return error(errc::unknown_kind, "sync");
    if (sync.digest.size() > digest_entries_max) return error(errc::oversized, "digest");
    if (sync.pulls.size() > digest_entries_max) return error(errc::oversized, "pulls");
    EXA_TRY(check_all(sync.digest));
    if (std::ranges::adjacent_find(sync.digest, std::ranges::greater_equal{}, &DigestEntry::peer) != sync.digest.end())
        return error(errc::malformed, "digest out of order");
    if (!sync.digest.empty() && (sync.digest.front().peer < sync.first || sync.last < sync.digest.back().peer))
        return error(errc::malformed, "digest outside its range");
    if (sync.summary.size() != (sync.kind == SyncKind::summary ? summary_parts : 0))
        return error(errc::malformed, "parts of a summary");
    EXA_TRY(check_all(sync.facts));
    EXA_TRY(check_all(sync.records));
    EXA_TRY(check_all(sync.loads));
    EXA_TRY(check_all(sync.pulls));
    return check(sync.keys);
}

Result<void> check(const HeaderField& field) {
    if (field.name.empty() || field.name.size() > header_name_bytes_max || field.value.size() > header_value_bytes_max)
        return error(errc::oversized, "a header field");
    if (!std::ranges::all_of(field.name, is_lower_token)) return error(errc::malformed, "name of a header field");
    if (std::ranges::find(fields_kept, field.name) != fields_kept.end())
        return error(errc::malformed, field.name + " is not passed on");
    // What would end the field, or be trimmed, where it is written out again.
    const auto is_text = [](char c) { return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\t'; };
    const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
    if (!std::ranges::all_of(field.value, is_text)) return error(errc::malformed, "value of " + field.name);
    if (!field.value.empty() && (is_space(field.value.front()) || is_space(field.value.back())))
        return error(errc::malformed, "space around the value of " + field.name);
    return success();
}

Result<void> check(const std::vector<HeaderField>& headers) {
    if (headers.size() > headers_max) return error(errc::oversized, "header fields");
    std::size_t bytes = 0;
    for (const HeaderField& field : headers) {
        EXA_TRY(check(field));
        bytes += field.name.size() + field.value.size();
    }
    if (bytes > headers_bytes_max) return error(errc::oversized, "header fields");
    return success();
}

Result<void> check_beside_headers(const Open& open) {
    EXA_TRY(check_text("model", open.model));
    EXA_TRY(check_text("version", open.version));
    EXA_TRY(check_text("tenant", open.tenant));
    EXA_TRY(check_text("request id", open.x_request_id));
    EXA_TRY(check_text("response id", open.response_id));
    if (open.choices.empty() || open.choices.size() > choices_max) return error(errc::oversized, "choices");
    if (open.target.size() > target_bytes_max) return error(errc::oversized, "target");
    const auto is_visible = [](char c) { return c > ' ' && c < 0x7f; };
    if (!std::ranges::all_of(open.target, is_visible) || (!open.target.empty() && open.target.front() != '/'))
        return error(errc::malformed, "target");
    if (open.kind > RequestKind::unknown) return error(errc::malformed, "kind");
    if (open.priority > Priority::low) return error(errc::malformed, "priority");
    return check_wait("time in the queue", open.queue_wait);
}

Result<void> check(const Open& open) {
    EXA_TRY(check_beside_headers(open));
    return check(open.headers);
}

Result<void> check(const Head& head) {
    if (head.status < 200 || head.status > 599) return error(errc::malformed, "status " + std::to_string(head.status));
    if (head.load) {
        EXA_TRY(check(*head.load));
    }
    return check(head.headers);
}

Result<void> check(const End& end) {
    if (end.load) {
        EXA_TRY(check(*end.load));
    }
    return check_wait("retry hint", end.retry_after);
}

Result<void> check_record(const PeerRecord& record) {
    RecordDelta whole;
    whole.peer = record.id;
    whole.generation = record.generation;
    whole.instance = 1;
    whole.version = 1;
    whole.profile = profile_of(record);
    whole.replicas = record.replicas;
    return check(whole);
}

PeerProfile profile_of(const PeerRecord& record) {
    return {record.name, record.state, record.gossip,      record.link,   record.http,       record.region,
            record.rack, record.keys,  record.primary_key, record.kv_gib, record.name_claim, record.name_support};
}

}  // namespace exa::wire
