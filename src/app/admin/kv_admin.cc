#include "app/admin/kv_admin.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include "app/resp/value.h"
#include "base/base64.h"
#include "kv/tenant.h"
#include "openai/json.h"

namespace exa::app {

namespace {

namespace json = boost::json;

// Of an order; a payload is a third smaller.
constexpr std::size_t order_bytes_max = 16 * 1024 * 1024;
// What one order verifies: some tenths of a second of a disk.
constexpr std::size_t verify_count = 256;
constexpr std::uint32_t quota_gib_max = 1'048'576;
// Of one order; a queue to a peer takes as many.
constexpr std::size_t keys_max = 4096;

std::string_view kind_text(kv::SegmentKind kind) {
    switch (kind) {
        case kv::SegmentKind::segment:
            return "segment";
        case kv::SegmentKind::value:
            return "value";
        case kv::SegmentKind::tombstone:
            return "tombstone";
    }
    return "unknown";
}

std::string_view outcome_text(io::PutOutcome outcome) {
    switch (outcome) {
        case io::PutOutcome::stored:
            return "stored";
        case io::PutOutcome::present:
            return "present";
        case io::PutOutcome::refused_full:
            return "refused: full";
        case io::PutOutcome::refused_quota:
            return "refused: quota";
        case io::PutOutcome::refused_broken:
            return "refused: broken";
    }
    return "unknown";
}

std::string tag_text(std::uint64_t tenant) {
    std::string text;
    append_hex(text, tenant);
    return text;
}

json::value place_json(const kv::SegmentKey& key, const KvService::Place& place) {
    json::value disk;
    if (place.disk)
        disk = {{"bytes", place.disk->bytes},
                {"tenant", tag_text(place.disk->tenant)},
                {"kind", kind_text(place.disk->kind)}};
    return json::object{{"key", kv::to_string(key)}, {"memory", place.memory}, {"disk", std::move(disk)}};
}

openai::ApiError not_here(const kv::SegmentKey& key) {
    openai::ApiError error;
    error.status = 404;
    error.type = "invalid_request_error";
    error.code = "segment_not_found";
    error.message = "no segment " + kv::to_string(key) + " at this peer";
    return error;
}

openai::ApiResult<kv::SegmentKey> parse_key(const std::string& text) {
    const auto key = kv::parse_segment_key(text);
    if (!key) return openai::out_of_range("key", text, "64 hexadecimal digits");
    return *key;
}

// A place in a replica's sessions: the session's position, and which of its keys.
std::string place_text(const KvSessions::Place& place) {
    std::string text;
    append_hex(text, place.session);
    return text + "-" + std::to_string(place.key);
}

openai::ApiResult<KvSessions::Place> parse_place(const std::string& text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto session = parse_hex(std::string_view(text).substr(0, dash));
    const char* const end = text.data() + text.size();
    KvSessions::Place place;
    const auto [stop, failed] = std::from_chars(std::min(text.data() + dash + 1, end), end, place.key);
    if (!session || failed != std::errc{} || stop != end)
        return openai::out_of_range("after", text, "the \"next\" of an answer");
    place.session = *session;
    return place;
}

openai::ApiResult<std::vector<kv::SegmentKey>> parse_keys(const json::value& list) {
    if (!list.is_array()) return openai::wrong_type("keys", "an array", openai::kind_name(list));
    const json::array& texts = list.get_array();
    if (texts.size() > keys_max)
        return openai::out_of_range("keys", std::to_string(texts.size()) + " keys", "at most 4096 of them");
    std::vector<kv::SegmentKey> keys;
    for (const json::value& each : texts) {
        BOOST_OUTCOME_TRY(const auto text, openai::as_text(each, "keys"));
        BOOST_OUTCOME_TRY(const auto key, parse_key(text));
        keys.push_back(key);
    }
    return keys;
}

openai::ApiError refused(std::string_view why) {
    openai::ApiError error;
    error.status = 409;
    error.type = "invalid_request_error";
    error.code = "kv_order_refused";
    error.message = why;
    return error;
}

}  // namespace

openai::ApiResult<KvOrder> parse_kv_order(std::string_view body) {
    BOOST_OUTCOME_TRY(const auto value, openai::parse_object(body, order_bytes_max));
    const openai::Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(const auto action, fields.text("action"));
    if (!action) return openai::missing("action");
    constexpr std::array<std::string_view, 7> names = {"locate", "get", "put", "delete", "verify", "quota", "migrate"};
    const auto name = std::ranges::find(names, *action);
    if (name == names.end())
        return openai::out_of_range("action", *action, "locate, get, put, delete, verify, quota or migrate");
    KvOrder order;
    order.action = static_cast<KvAction>(name - names.begin());
    if (order.action == KvAction::verify) {
        BOOST_OUTCOME_TRY(const auto after, fields.text("after"));
        if (!after) return order;
        BOOST_OUTCOME_TRY(order.after, parse_key(*after));
        return order;
    }
    if (order.action == KvAction::quota) {
        BOOST_OUTCOME_TRY(const auto all, fields.boolean("all"));
        order.all = all.value_or(false);
        if (order.all) return order;
        BOOST_OUTCOME_TRY(auto tenant, fields.text("tenant"));
        order.tenant = std::move(tenant).value_or("");
        if (const json::value* gib = fields.find("gib")) {
            json::error_code failed;
            const auto number = gib->to_number<std::uint32_t>(failed);
            if (failed || number > quota_gib_max)
                return openai::out_of_range("gib", openai::show(*gib), "a whole number from 0 to 1048576");
            order.gib = number;
        }
        return order;
    }
    if (const json::value* request = fields.find("request"); request != nullptr && order.action == KvAction::locate) {
        if (!request->is_object()) return openai::wrong_type("request", "an object", openai::kind_name(*request));
        order.request = json::serialize(*request);
        BOOST_OUTCOME_TRY(auto tenant, fields.text("tenant"));
        order.tenant = std::move(tenant).value_or("");
        return order;
    }
    if (order.action == KvAction::locate) {
        BOOST_OUTCOME_TRY(const auto session, fields.text("session"));
        BOOST_OUTCOME_TRY(const auto replica, fields.text("replica"));
        if (session) {
            order.session = parse_hex(*session);
            if (!order.session) return openai::out_of_range("session", *session, "a position: 16 hexadecimal digits");
            return order;
        }
        if (replica) {
            order.replica = parse_replica_id(*replica);
            if (!order.replica) return openai::out_of_range("replica", *replica, "the id of a replica");
            BOOST_OUTCOME_TRY(const auto after, fields.text("after"));
            if (!after) return order;
            BOOST_OUTCOME_TRY(order.from, parse_place(*after));
            return order;
        }
        BOOST_OUTCOME_TRY(order.value, fields.text("value"));
        if (order.value) {
            BOOST_OUTCOME_TRY(auto tenant, fields.text("tenant"));
            order.tenant = std::move(tenant).value_or("");
            return order;
        }
    }
    const json::value* keys = fields.find("keys");
    if (order.action == KvAction::migrate) {
        if (keys == nullptr) return openai::missing("keys");
        BOOST_OUTCOME_TRY(const auto to, fields.text("to"));
        if (!to) return openai::missing("to");
        const auto peer = parse_peer_id(*to);
        if (!peer) return openai::out_of_range("to", *to, "the id of a peer: 16 hexadecimal digits");
        order.to = *peer;
    }
    if (order.action == KvAction::migrate || (keys != nullptr && order.action == KvAction::locate)) {
        BOOST_OUTCOME_TRY(order.keys, parse_keys(*keys));
        if (order.keys.empty()) return openai::out_of_range("keys", "[]", "at least one key");
        return order;
    }
    BOOST_OUTCOME_TRY(const auto key, fields.text("key"));
    if (!key) return openai::missing("key");
    BOOST_OUTCOME_TRY(order.key, parse_key(*key));
    if (order.action != KvAction::put) return order;
    BOOST_OUTCOME_TRY(const auto payload, fields.text("payload"));
    if (!payload) return openai::missing("payload");
    auto bytes = from_base64(*payload);
    if (!bytes) return openai::out_of_range("payload", "(hidden)", "base64");
    order.payload = std::move(*bytes);
    return order;
}

std::optional<KvStats> KvAdmin::stats() const {
    return service_ ? std::optional(service_->stats()) : std::nullopt;
}

void KvAdmin::run(KvOrder order, Done done) const {
    if (!service_) {
        done(refused("this peer keeps no KV outside its replicas: kv.enabled is false"));
        return;
    }
    if (order.action == KvAction::migrate) return migrate(std::move(order), std::move(done));
    const auto shared = std::make_shared<const Done>(std::move(done));
    const auto work = [this, order = std::move(order), shared] { (*shared)(execute(order)); };
    if (!service_->post(work)) (*shared)(refused("this peer ends"));
}

openai::ApiResult<json::value> KvAdmin::execute(const KvOrder& order) const {
    switch (order.action) {
        case KvAction::locate:
            return locate(order);
        case KvAction::get:
            return get(order.key);
        case KvAction::put:
            return put(order);
        case KvAction::erase:
            return json::object{{"key", kv::to_string(order.key)}, {"deleted", service_->erase(order.key)}};
        case KvAction::verify: {
            const io::ScrubReport report = service_->scrub(order.after, verify_count);
            return json::object{{"checked", report.checked},
                                {"dropped", report.dropped},
                                {"next", report.next ? json::value(kv::to_string(*report.next)) : json::value()}};
        }
        case KvAction::quota:
            return quota(order);
        case KvAction::migrate:
            break;  // answered by who does it
    }
    return openai::internal("an order without an answer");
}

void KvAdmin::migrate(KvOrder order, Done done) const {
    KvPeers* const peers = service_->peers();
    if (peers == nullptr) return done(refused("this peer keeps no KV for others"));
    peers->move(order.to, std::move(order.keys), [to = order.to, done = std::move(done)](auto queued) {
        if (queued) return done(json::object{{"queued", *queued}});
        done(refused("peer " + to_string(to) + " is out of reach, keeps no KV on disk, or is the one that was asked"));
    });
}

json::object KvAdmin::places(std::span<const kv::SegmentKey> keys) const {
    json::array segments;
    for (const kv::SegmentKey& key : keys) segments.push_back(place_json(key, service_->locate(key)));
    return json::object{{"segments", std::move(segments)}};
}

openai::ApiResult<json::value> KvAdmin::locate(const KvOrder& order) const {
    if (!order.keys.empty()) return places(order.keys);
    if (order.session) return places(service_->sessions().of_session(*order.session));
    if (order.replica) {
        const KvSessions::Page page = service_->sessions().of_replica(*order.replica, order.from, keys_max);
        json::object told = places(page.keys);
        told["next"] = page.next ? json::value(place_text(*page.next)) : json::value();
        return told;
    }
    if (order.value) {
        const kv::SegmentKey key =
            resp_key(crypto_, kv::tenant_salt(crypto_, root_secret_, order.tenant), *order.value);
        return place_json(key, service_->locate(key));
    }
    if (order.request.empty()) return place_json(order.key, service_->locate(order.key));
    BOOST_OUTCOME_TRY(const auto request, openai::parse_object(order.request, order_bytes_max));
    const openai::Fields fields(request.get_object(), "request");
    BOOST_OUTCOME_TRY(const auto model, fields.text("model"));
    wire::Open open;
    open.kind = fields.find("messages") != nullptr ? wire::RequestKind::chat
                : fields.find("input") != nullptr  ? wire::RequestKind::response
                                                   : wire::RequestKind::completion;
    open.tenant = order.tenant;
    open.body = order.request;
    const auto list = replicas_->all();
    for (const auto& replica : *list) {
        if (model && *model != replica->record.model) continue;
        if (const auto keys = replica->backend->kv_keys(open)) return places(*keys);
    }
    return refused("no replica of this peer can take the request");
}

openai::ApiResult<json::value> KvAdmin::get(const kv::SegmentKey& key) const {
    const kv::SealedSegment segment = service_->get(key);
    if (!segment) return not_here(key);
    const auto head = kv::parse_segment(segment->view());
    if (!head) return not_here(key);
    return json::object{{"key", kv::to_string(key)},
                        {"parent", kv::to_string(head.value().parent)},
                        {"tenant", tag_text(head.value().tenant)},
                        {"tokens", head.value().tokens},
                        {"kind", kind_text(head.value().kind)},
                        {"payload", to_base64(kv::payload_of(segment->view()))}};
}

json::value KvAdmin::put(const KvOrder& order) const {
    kv::SegmentHead head;
    head.key = order.key;
    head.kind = kv::SegmentKind::value;
    head.stamp = 1;
    head.tenant = kv::tenant_tag(crypto_, kv::tenant_salt(crypto_, root_secret_, ""));
    auto buffer = std::make_shared<kv::SegmentBuffer>(kv::segment_header_size + order.payload.size());
    std::ranges::copy(order.payload, buffer->bytes().subspan(kv::segment_header_size).begin());
    return json::object{{"key", kv::to_string(order.key)},
                        {"outcome", outcome_text(service_->put(head, std::move(buffer)))}};
}

openai::ApiResult<json::value> KvAdmin::quota(const KvOrder& order) const {
    io::SegmentStore* disk = service_->disk();
    if (disk == nullptr) return refused("this peer keeps no KV on disk: kv.capacity_gib is 0");
    const std::lock_guard lock(quotas_mutex_);
    if (order.all) {
        json::array tenants;
        for (const auto& [tenant, gib] : quotas_) tenants.push_back(quota_json(*disk, tenant));
        return json::object{{"gib", quota_gib_}, {"tenants", std::move(tenants)}};
    }
    if (order.gib) {
        disk->set_quota(tag_of(order.tenant), std::uint64_t{*order.gib} << 30);
        if (*order.gib == 0)
            quotas_.erase(order.tenant);
        else
            quotas_[order.tenant] = *order.gib;
    }
    return quota_json(*disk, order.tenant);
}

// With quotas_mutex_ held.
json::value KvAdmin::quota_json(const io::SegmentStore& disk, const std::string& tenant) const {
    const auto set = quotas_.find(tenant);
    return json::object{{"tenant", tenant},
                        {"bytes", disk.tenant_bytes(tag_of(tenant))},
                        {"gib", set == quotas_.end() ? quota_gib_ : set->second},
                        {"set", set != quotas_.end()}};
}

std::uint64_t KvAdmin::tag_of(const std::string& tenant) const {
    return kv::tenant_tag(crypto_, kv::tenant_salt(crypto_, root_secret_, tenant));
}

}  // namespace exa::app
