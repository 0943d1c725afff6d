#include "app/resp/keyspace.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "app/resp/value.h"
#include "kv/tenant.h"

namespace exa::app::resp {

namespace {

// Of answers on their way and values that are being received.
constexpr std::uint64_t in_flight_bytes = 64ull << 20;
constexpr std::uint32_t clear_page = 500;

}  // namespace

RespKeyspace::RespKeyspace(const RespKeyspaceConfig& config, RespDeps deps)
    : deps_(std::move(deps)),
      cache_({config.memory_bytes, config.memory_bytes + config.queue_bytes_max + in_flight_bytes, config.writer_tag},
             deps_, counters_),
      versions_(deps_, cache_, guard_, counters_),
      writer_({config.queue_bytes_max, config.threads}, deps_, cache_, counters_),
      workers_(deps_.disk == nullptr ? 0 : config.threads),
      reader_(deps_, cache_, versions_, workers_, guard_, counters_),
      scan_(deps_, cache_, versions_),
      updater_(deps_, cache_, reader_, writer_, counters_) {}

RespKeyspace::~RespKeyspace() {
    guard_.close();
    writer_.stop();
    workers_.stop();
}

RespKeyspace::Tenant RespKeyspace::tenant_of(const std::string& name) const {
    const Digest salt = exa::kv::tenant_salt(deps_.crypto, deps_.root_secret, name);
    return {salt, exa::kv::tenant_tag(deps_.crypto, salt)};
}

std::vector<exa::kv::SegmentKey> RespKeyspace::keys_of(const Tenant& tenant,
                                                       const exa::resp::Operation& operation) const {
    std::vector<exa::kv::SegmentKey> keys;
    keys.reserve(operation.keys.size());
    for (const std::string& key : operation.keys) keys.push_back(resp_key(deps_.crypto, tenant.salt, key));
    return keys;
}

std::optional<exa::resp::Body> RespKeyspace::make_body(const std::string&, const exa::resp::Request& so_far,
                                                       std::uint64_t bytes) {
    const std::size_t before =
        exa::kv::segment_header_size + (so_far.bodies.empty() ? resp_head_size(so_far.arguments[1].size()) : 0);
    const auto buffer = cache_.try_make_buffer(before + static_cast<std::size_t>(std::min(bytes, resp_part_bytes_max)));
    if (!buffer) return std::nullopt;
    return exa::resp::Body{buffer, buffer->bytes().subspan(before)};
}

void RespKeyspace::run(exa::resp::Operation operation, Done done) {
    switch (operation.verb) {
        case exa::resp::Verb::get:
            return get(std::move(operation), std::move(done));
        case exa::resp::Verb::length:
            return length(std::move(operation), std::move(done));
        case exa::resp::Verb::set:
            return set(std::move(operation), std::move(done));
        case exa::resp::Verb::exists:
            return exists(operation, std::move(done));
        case exa::resp::Verb::remove:
            return remove(operation, std::move(done));
        case exa::resp::Verb::scan:
            return scan(std::move(operation), std::move(done));
        case exa::resp::Verb::set_many:
            return set_many(std::move(operation), std::move(done));
        case exa::resp::Verb::take:
            return take(std::move(operation), std::move(done));
        case exa::resp::Verb::expiry:
            return expiry(std::move(operation), std::move(done));
        case exa::resp::Verb::expire:
            return expire(std::move(operation), std::move(done));
        case exa::resp::Verb::list:
            return list(std::move(operation), std::move(done));
        case exa::resp::Verb::count:
            return count_values(operation, std::move(done));
        case exa::resp::Verb::clear:
            return clear(std::move(operation), std::move(done));
    }
}

void RespKeyspace::get(exa::resp::Operation operation, Done done) {
    auto keys = keys_of(tenant_of(operation.tenant), operation);
    reader_.get({std::move(keys), std::move(operation.keys)}, std::move(done));
}

void RespKeyspace::length(exa::resp::Operation operation, Done done) {
    auto keys = keys_of(tenant_of(operation.tenant), operation);
    reader_.length({std::move(keys), std::move(operation.keys)}, std::move(done));
}

void RespKeyspace::set(exa::resp::Operation operation, Done done) {
    if (operation.wants_old) {
        // The old value first, then the set as if without: another set between is as good as one before.
        exa::resp::Operation old;
        old.tenant = operation.tenant;
        old.keys = operation.keys;
        operation.wants_old = false;
        return get(std::move(old), [this, operation = std::make_shared<exa::resp::Operation>(std::move(operation)),
                                    done = std::move(done)](exa::resp::Outcome before) {
            set(std::move(*operation), [done, before = std::move(before)](exa::resp::Outcome after) mutable {
                after.values = std::move(before.values);
                done(std::move(after));
            });
        });
    }
    if (operation.keeps_expiry) {
        // Its expiry first, likewise.
        exa::resp::Operation old;
        old.tenant = operation.tenant;
        old.keys = operation.keys;
        operation.keeps_expiry = false;
        return expiry(std::move(old), [this, operation = std::make_shared<exa::resp::Operation>(std::move(operation)),
                                       done = std::move(done)](const exa::resp::Outcome& before) {
            if (before.done && before.number != 0) operation->expires_ms = before.number;
            set(std::move(*operation), done);
        });
    }
    const Tenant tenant = tenant_of(operation.tenant);
    const exa::kv::SegmentKey key = resp_key(deps_.crypto, tenant.salt, operation.keys[0]);
    if (!operation.only_if_absent && !operation.only_if_present)
        return write(std::move(operation), tenant, key, std::move(done));
    versions_.search({key},
                     [this, tenant, key, operation = std::make_shared<exa::resp::Operation>(std::move(operation)),
                      done = std::move(done)](const Verdicts& verdicts) {
                         if (verdicts[0].is_found() != operation->only_if_absent)
                             return write(std::move(*operation), tenant, key, done);
                         count(counters_.sets_unmet);
                         exa::resp::Outcome outcome;
                         outcome.done = false;
                         done(std::move(outcome));
                     });
}

void RespKeyspace::write(exa::resp::Operation operation, const Tenant& tenant, const exa::kv::SegmentKey& key,
                         Done done) {
    RespVersion made = make_version(operation, tenant.tag);
    count(counters_.sets);
    count(counters_.set_bytes, operation.body_bytes);
    const auto stored = deps_.disk == nullptr ? std::nullopt : deps_.disk->find(key);
    writer_.add(cache_.write(key, std::move(made), stored ? stored->stamp : 0), std::move(done));
}

RespVersion RespKeyspace::make_version(exa::resp::Operation& operation, std::uint64_t tag) {
    RespVersion version;
    version.tag = tag;
    version.expires_ms = operation.expires_ms.value_or(0);
    version.sealing = std::make_shared<std::once_flag>();
    const std::string& user_key = operation.keys[0];
    if (operation.bodies.empty()) {
        const std::size_t before = exa::kv::segment_header_size + resp_head_size(user_key.size());
        version.parts.push_back(cache_.make_buffer(before + operation.value.size()));
        std::ranges::copy(as_bytes(operation.value), version.parts[0]->bytes().subspan(before).begin());
        operation.body_bytes = operation.value.size();
    }
    for (exa::resp::Body& body : operation.bodies)
        version.parts.push_back(std::static_pointer_cast<exa::kv::SegmentBuffer>(std::move(body.owner)));
    RespValueHead head;
    head.key = user_key;
    head.parts = static_cast<std::uint32_t>(version.parts.size());
    head.bytes = operation.body_bytes;
    head.expires_ms = version.expires_ms;
    write_resp_head(head, version.parts[0]->bytes().subspan(exa::kv::segment_header_size));
    for (const auto& part : version.parts) version.bytes += part->size();
    return version;
}

void RespKeyspace::exists(const exa::resp::Operation& operation, Done done) {
    auto keys = keys_of(tenant_of(operation.tenant), operation);
    versions_.search(keys, [this, keys, done = std::move(done)](const Verdicts& verdicts) {
        exa::resp::Outcome outcome;
        const WallTime now = deps_.wall();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!verdicts[i].is_found()) continue;
            ++outcome.number;
            // The lease holds it for the get that follows; with owners the search took one.
            if (verdicts[i].is_local && deps_.disk != nullptr) deps_.disk->has(now, keys[i]);
        }
        cache_.touch(keys);
        const auto there = static_cast<std::uint64_t>(outcome.number);
        count(counters_.existing, there);
        count(counters_.not_existing, keys.size() - there);
        done(std::move(outcome));
    });
}

void RespKeyspace::remove(const exa::resp::Operation& operation, Done done) {
    const Tenant tenant = tenant_of(operation.tenant);
    auto keys = keys_of(tenant, operation);
    versions_.search(keys, [this, tag = tenant.tag, keys, done = std::move(done)](const Verdicts& verdicts) {
        exa::resp::Outcome outcome;
        std::set<exa::kv::SegmentKey> seen;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!seen.insert(keys[i]).second) continue;
            const bool is_found = verdicts[i].is_found();
            outcome.number += is_found ? 1 : 0;
            count(is_found ? counters_.removed : counters_.not_removed);
            // An owner that did not answer may have what is to be removed.
            if (!is_found && (deps_.peers == nullptr || verdicts[i].is_sure)) continue;
            if (deps_.disk == nullptr && deps_.peers == nullptr)
                cache_.forget(keys[i]);
            else
                writer_.add(cache_.remove(keys[i], tag, verdicts[i].stamp), nullptr);
        }
        done(std::move(outcome));
    });
}

// In the order of the keys, each as a set of its own: others may see some of them before the rest.
void RespKeyspace::set_many(exa::resp::Operation operation, Done done) {
    const Tenant tenant = tenant_of(operation.tenant);
    for (std::size_t i = 0; i < operation.keys.size(); ++i) {
        exa::resp::Operation one;
        one.keys.push_back(std::move(operation.keys[i]));
        one.value = std::move(operation.values[i]);
        const exa::kv::SegmentKey key = resp_key(deps_.crypto, tenant.salt, one.keys[0]);
        // The queue of writes is bounded, so the last one waits for room for all of them.
        write(std::move(one), tenant, key, i + 1 == operation.keys.size() ? std::move(done) : Done());
    }
}

void RespKeyspace::expiry(exa::resp::Operation operation, Done done) {
    auto keys = keys_of(tenant_of(operation.tenant), operation);
    reader_.expiry({std::move(keys), std::move(operation.keys)}, std::move(done));
}

void RespKeyspace::take(exa::resp::Operation operation, Done done) {
    const Tenant tenant = tenant_of(operation.tenant);
    auto keys = keys_of(tenant, operation);
    updater_.take({std::move(keys), std::move(operation.keys)}, tenant.tag, std::move(done));
}

void RespKeyspace::expire(exa::resp::Operation operation, Done done) {
    const Tenant tenant = tenant_of(operation.tenant);
    auto keys = keys_of(tenant, operation);
    const RespUpdater::Expiry expiry{operation.expires_ms, operation.expiry_rule, operation.wants_old};
    updater_.expire({std::move(keys), std::move(operation.keys)}, tenant.tag, expiry, std::move(done));
}

void RespKeyspace::run_blocking(std::function<void()> work) {
    if (deps_.disk == nullptr) return work();
    workers_.post([work = std::move(work)](const std::stop_token&) { work(); });
}

void RespKeyspace::list(exa::resp::Operation operation, Done done) {
    count(counters_.scans);
    const std::uint64_t tag = tenant_of(operation.tenant).tag;
    run_blocking(
        [this, operation = std::move(operation), tag, done = std::move(done)] { done(scan_.list(operation, tag)); });
}

void RespKeyspace::count_values(const exa::resp::Operation& operation, Done done) {
    const std::uint64_t tag = tenant_of(operation.tenant).tag;
    run_blocking([this, tag, done = std::move(done)] { done(scan_.count(tag)); });
}

// Page by page, from operation.cursor on.
void RespKeyspace::clear(exa::resp::Operation operation, Done done) {
    const std::uint64_t tag = tenant_of(operation.tenant).tag;
    operation.count = clear_page;
    run_blocking([this, operation = std::move(operation), tag, done = std::move(done)] {
        exa::resp::Outcome page = scan_.scan(operation, tag);
        exa::resp::Operation removal;
        removal.tenant = operation.tenant;
        removal.keys = std::move(page.keys);
        exa::resp::Operation rest = operation;
        rest.cursor = page.cursor;
        remove(removal, [this, rest = std::move(rest), done](const exa::resp::Outcome&) {
            if (rest.cursor == 0) return done({});
            clear(rest, done);
        });
    });
}

void RespKeyspace::scan(exa::resp::Operation operation, Done done) {
    count(counters_.scans);
    if (operation.none) return done({});
    const std::uint64_t tag = tenant_of(operation.tenant).tag;
    run_blocking(
        [this, operation = std::move(operation), tag, done = std::move(done)] { done(scan_.scan(operation, tag)); });
}

exa::kv::SealedSegment RespKeyspace::get(const exa::kv::SegmentKey& key) {
    const auto found = cache_.find_part(key);
    if (!found) return nullptr;
    seal_resp(found->version, deps_.sealer);
    return found->version.parts[found->index];
}

kv::KvValuesStats RespKeyspace::stats() const {
    kv::KvValuesStats stats = counters_.read();
    const RespValueCache::Usage usage = cache_.usage();
    stats.memory_values = usage.values;
    stats.queued_values = usage.waiting_values;
    stats.queued_bytes = writer_.queued_bytes();
    stats.memory_bytes = usage.recent_bytes + stats.queued_bytes;
    return stats;
}

}  // namespace exa::app::resp
