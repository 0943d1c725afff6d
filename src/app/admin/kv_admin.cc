#include "app/admin/kv_admin.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/outcome/try.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "app/resp/value.h"
#include "base/base64.h"
#include "kv/tenant.h"
#include "openai/json.h"

namespace exa::app::admin {

namespace {

namespace json = boost::json;

// What one command verifies: some tenths of a second of a disk.
constexpr std::size_t verify_count = 256;

std::string_view kind_text(exa::kv::SegmentKind kind) {
    switch (kind) {
        case exa::kv::SegmentKind::segment:
            return "segment";
        case exa::kv::SegmentKind::value:
            return "value";
        case exa::kv::SegmentKind::tombstone:
            return "tombstone";
    }
    return "unknown";
}

std::string_view outcome_text(io::store::PutOutcome outcome) {
    switch (outcome) {
        case io::store::PutOutcome::stored:
            return "stored";
        case io::store::PutOutcome::present:
            return "present";
        case io::store::PutOutcome::refused_full:
            return "refused: full";
        case io::store::PutOutcome::refused_quota:
            return "refused: quota";
        case io::store::PutOutcome::refused_broken:
            return "refused: broken";
    }
    return "unknown";
}

std::string tag_text(std::uint64_t tenant) {
    std::string text;
    append_hex(text, tenant);
    return text;
}

json::value place_json(const exa::kv::SegmentKey& key, const kv::KvLookup::Place& place) {
    json::value disk;
    if (place.disk)
        disk = {{"bytes", place.disk->bytes},
                {"tenant", tag_text(place.disk->tenant)},
                {"kind", kind_text(place.disk->kind)}};
    return json::object{{"key", exa::kv::to_string(key)}, {"memory", place.memory}, {"disk", std::move(disk)}};
}

openai::ApiError not_here(const exa::kv::SegmentKey& key) {
    openai::ApiError error;
    error.status = 404;
    error.type = "invalid_request_error";
    error.code = "segment_not_found";
    error.message = "no segment " + exa::kv::to_string(key) + " at this peer";
    return error;
}

openai::ApiError refused(std::string_view why) {
    openai::ApiError error;
    error.status = 409;
    error.type = "invalid_request_error";
    error.code = "kv_command_refused";
    error.message = why;
    return error;
}

openai::ApiError no_disk() {
    return refused("this peer keeps no KV on disk: kv.capacity_gib is 0");
}

json::value key_or_null(const std::optional<exa::kv::SegmentKey>& key) {
    return key ? json::value(exa::kv::to_string(*key)) : json::value();
}

}  // namespace

std::optional<kv::KvStats> KvAdmin::stats() const {
    return service_ ? std::optional(service_->stats()) : std::nullopt;
}

void KvAdmin::run(KvCommand command, Done done) const {
    if (!service_) {
        done(refused("this peer keeps no KV outside its replicas: kv.enabled is false"));
        return;
    }
    const auto shared = std::make_shared<const Done>(std::move(done));
    const auto work = [this, command = std::move(command), shared] {
        std::visit(
            [&](const auto& given) {
                if constexpr (requires { handle(given, *shared); })
                    handle(given, *shared);
                else
                    (*shared)(handle(given));
            },
            command);
    };
    if (!service_->post(work)) (*shared)(refused("this peer ends"));
}

json::object KvAdmin::places(std::span<const exa::kv::SegmentKey> keys) const {
    json::array segments;
    for (const exa::kv::SegmentKey& key : keys) segments.push_back(place_json(key, service_->locate(key)));
    return json::object{{"segments", std::move(segments)}};
}

KvAdmin::Answer KvAdmin::handle(const LocateKey& command) const {
    return place_json(command.key, service_->locate(command.key));
}

KvAdmin::Answer KvAdmin::handle(const LocateKeys& command) const {
    return places(command.keys);
}

KvAdmin::Answer KvAdmin::handle(const LocateRequest& command) const {
    BOOST_OUTCOME_TRY(const auto request, openai::parse_object(command.body, kv_command_bytes_max));
    const openai::Fields fields(request.get_object(), "request");
    BOOST_OUTCOME_TRY(const auto model, fields.text("model"));
    wire::Open open;
    open.kind = fields.find("messages") != nullptr ? wire::RequestKind::chat
                : fields.find("input") != nullptr  ? wire::RequestKind::response
                                                   : wire::RequestKind::completion;
    open.tenant = command.tenant;
    open.body = command.body;
    const auto list = replicas_->all();
    for (const auto& replica : *list) {
        if (model && *model != replica->record.model) continue;
        if (const auto keys = replica->backend->kv_keys(open)) return places(*keys);
    }
    return refused("no replica of this peer can take the request");
}

KvAdmin::Answer KvAdmin::handle(const LocateSession& command) const {
    return places(service_->sessions().of_session(command.position));
}

KvAdmin::Answer KvAdmin::handle(const LocateReplica& command) const {
    const kv::KvSessions::Page page =
        service_->sessions().of_replica(command.replica, command.from, kv_command_keys_max);
    json::object answer = places(page.keys);
    answer["next"] = page.next ? json::value(to_text(*page.next)) : json::value();
    return answer;
}

KvAdmin::Answer KvAdmin::handle(const LocateValue& command) const {
    const Digest salt = exa::kv::tenant_salt(crypto_, root_secret_, command.tenant);
    return handle(LocateKey{resp::resp_key(crypto_, salt, command.user_key)});
}

KvAdmin::Answer KvAdmin::handle(const GetSegment& command) const {
    const exa::kv::SealedSegment segment = service_->get(command.key);
    if (!segment) return not_here(command.key);
    const auto head = exa::kv::parse_segment(segment->view());
    if (!head) return not_here(command.key);
    return json::object{
        {"key", exa::kv::to_string(command.key)},  {"parent", exa::kv::to_string(head.value().parent)},
        {"tenant", tag_text(head.value().tenant)}, {"tokens", head.value().tokens},
        {"kind", kind_text(head.value().kind)},    {"payload", to_base64(exa::kv::payload_of(segment->view()))}};
}

KvAdmin::Answer KvAdmin::handle(const PutValue& command) const {
    exa::kv::SegmentHead head;
    head.key = command.key;
    head.kind = exa::kv::SegmentKind::value;
    head.stamp = 1;
    head.tenant = tag_of("");
    auto buffer = std::make_shared<exa::kv::SegmentBuffer>(exa::kv::segment_header_size + command.payload.size());
    std::ranges::copy(command.payload, buffer->bytes().subspan(exa::kv::segment_header_size).begin());
    return json::object{{"key", exa::kv::to_string(command.key)},
                        {"outcome", outcome_text(service_->put(head, std::move(buffer)))}};
}

KvAdmin::Answer KvAdmin::handle(const DeleteSegment& command) const {
    return json::object{{"key", exa::kv::to_string(command.key)}, {"deleted", service_->erase(command.key)}};
}

KvAdmin::Answer KvAdmin::handle(const VerifyDisk& command) const {
    const io::store::ScrubReport report = service_->scrub(command.after, verify_count);
    return json::object{{"checked", report.checked}, {"dropped", report.dropped}, {"next", key_or_null(report.next)}};
}

KvAdmin::Answer KvAdmin::handle(const ShowQuota& command) const {
    const io::store::SegmentStore* disk = service_->disk();
    if (disk == nullptr) return no_disk();
    const std::lock_guard lock(quotas_mutex_);
    return quota_json(*disk, command.tenant);
}

KvAdmin::Answer KvAdmin::handle(const SetQuota& command) const {
    io::store::SegmentStore* disk = service_->disk();
    if (disk == nullptr) return no_disk();
    const std::lock_guard lock(quotas_mutex_);
    disk->set_quota(tag_of(command.tenant), std::uint64_t{command.gib} << 30);
    if (command.gib == 0)
        quotas_.erase(command.tenant);
    else
        quotas_[command.tenant] = command.gib;
    return quota_json(*disk, command.tenant);
}

KvAdmin::Answer KvAdmin::handle(const ListQuotas&) const {
    const io::store::SegmentStore* disk = service_->disk();
    if (disk == nullptr) return no_disk();
    const std::lock_guard lock(quotas_mutex_);
    json::array tenants;
    for (const auto& [tenant, gib] : quotas_) tenants.push_back(quota_json(*disk, tenant));
    return json::object{{"gib", quota_gib_}, {"tenants", std::move(tenants)}};
}

void KvAdmin::handle(const MigrateSegments& command, const Done& done) const {
    kv::KvPeers* const peers = service_->peers();
    if (peers == nullptr) return done(refused("this peer keeps no KV for others"));
    peers->move(command.to, command.keys, [to = command.to, done](auto queued) {
        if (queued) return done(json::object{{"queued", *queued}});
        done(refused("peer " + to_string(to) + " is out of reach, keeps no KV on disk, or is the one that was asked"));
    });
}

// With quotas_mutex_ held.
json::value KvAdmin::quota_json(const io::store::SegmentStore& disk, const std::string& tenant) const {
    const auto set = quotas_.find(tenant);
    return json::object{{"tenant", tenant},
                        {"bytes", disk.tenant_bytes(tag_of(tenant))},
                        {"gib", set == quotas_.end() ? quota_gib_ : set->second},
                        {"set", set != quotas_.end()}};
}

std::uint64_t KvAdmin::tag_of(const std::string& tenant) const {
    return exa::kv::tenant_tag(crypto_, exa::kv::tenant_salt(crypto_, root_secret_, tenant));
}

}  // namespace exa::app::admin
