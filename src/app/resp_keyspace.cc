#include "app/resp_keyspace.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/resp_value.h"
#include "base/check.h"
#include "io/random.h"
#include "kv/tenant.h"
#include "resp/session.h"

namespace exa::app {

namespace {

constexpr std::size_t scan_pages_max = 16;
constexpr std::uint64_t in_flight_bytes = 64ull << 20;

std::int64_t to_ms(WallTime now) {
    return now.unix_us / 1000;
}

bool is_expired(std::int64_t expires_ms, WallTime now) {
    return expires_ms != 0 && expires_ms <= to_ms(now);
}

std::uint64_t cursor_of(const kv::SegmentKey& key) {
    std::uint64_t cursor = 0;
    for (std::size_t i = 0; i < 8; ++i) cursor = cursor << 8 | key.bytes[i];
    return cursor;
}

// The last key that has this cursor.
kv::SegmentKey key_at(std::uint64_t cursor) {
    kv::SegmentKey key;
    key.bytes.fill(0xff);
    for (std::size_t i = 0; i < 8; ++i) key.bytes[i] = static_cast<std::uint8_t>(cursor >> (8 * (7 - i)));
    return key;
}

std::shared_ptr<kv::SegmentBuffer> counted_buffer(const std::shared_ptr<std::atomic<std::uint64_t>>& allocated,
                                                  std::size_t bytes) {
    *allocated += bytes;
    return {new kv::SegmentBuffer(bytes), [allocated, bytes](kv::SegmentBuffer* buffer) {
                delete buffer;
                *allocated -= bytes;
            }};
}

}  // namespace

RespKeyspace::RespKeyspace(const RespKeyspaceConfig& config, const Crypto& crypto, ByteView root_secret,
                           const kv::SegmentSealer& sealer, KvDisk* disk, std::function<WallTime()> wall)
    : config_(config),
      crypto_(crypto),
      root_secret_(root_secret.begin(), root_secret.end()),
      sealer_(sealer),
      disk_(disk),
      wall_(std::move(wall)),
      allocated_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
    if (disk_ == nullptr) return;
    for (std::uint32_t i = 0; i < config_.threads; ++i) {
        workers_.emplace_back([this] { run_work(); });
        writers_.emplace_back([this] { write_behind(); });
    }
}

RespKeyspace::~RespKeyspace() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    queue_filled_.notify_all();
    work_filled_.notify_all();
    writers_.clear();
    workers_.clear();
}

RespKeyspace::Tenant RespKeyspace::tenant_of(const std::string& name) const {
    const Digest salt = kv::tenant_salt(crypto_, root_secret_, name);
    return {salt, kv::tenant_tag(crypto_, salt)};
}

RespKeyspace::Names RespKeyspace::names_of(const resp::Operation& operation) const {
    Names names{tenant_of(operation.tenant), {}};
    for (const std::string& key : operation.keys) names.keys.push_back(resp_key(crypto_, names.tenant.salt, key));
    return names;
}

std::optional<resp::Body> RespKeyspace::make_body(const std::string&, const resp::Request& so_far,
                                                  std::uint64_t bytes) {
    // "SET", the key, and now the value.
    if (so_far.arguments.size() != 3) return std::nullopt;
    const std::size_t before =
        kv::segment_header_size + (so_far.bodies.empty() ? resp_head_size(so_far.arguments[1].size()) : 0);
    const auto taken = static_cast<std::size_t>(std::min(bytes, resp_part_bytes_max));
    const std::uint64_t most = config_.memory_bytes + config_.queue_bytes_max + in_flight_bytes;
    if (*allocated_ + before + taken > most) {
        const std::lock_guard lock(mutex_);
        while (*allocated_ + before + taken > most && !recent_.empty()) forget(entries_.find(recent_.back()));
        if (*allocated_ + before + taken > most) {
            ++counts_.refused;
            return std::nullopt;
        }
    }
    const auto buffer = counted_buffer(allocated_, before + taken);
    return resp::Body{buffer, buffer->bytes().subspan(before)};
}

void RespKeyspace::run(resp::Operation operation, Done done) {
    switch (operation.verb) {
        case resp::Verb::get:
        case resp::Verb::length:
            return get(std::move(operation), done);
        case resp::Verb::set:
            return set(std::move(operation), std::move(done));
        case resp::Verb::exists:
            return exists(operation, done);
        case resp::Verb::remove:
            return remove(operation, done);
        case resp::Verb::scan:
            return scan(operation, done);
    }
}

void RespKeyspace::get(resp::Operation operation, const Done& done) {
    const Names names = names_of(operation);
    const WallTime now = wall_();
    resp::Outcome outcome;
    outcome.values.resize(names.keys.size());
    std::vector<std::size_t> elsewhere;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < names.keys.size(); ++i) {
            const auto found = entries_.find(names.keys[i]);
            if (found == entries_.end()) {
                elsewhere.push_back(i);
            } else if (live(names.keys[i], now) != nullptr) {
                touch(found->second);
                outcome.values[i] = view_of(found->second.value);
                ++counts_.hits_memory;
            } else {
                ++counts_.misses;
            }
        }
    }
    std::erase_if(elsewhere, [&](std::size_t i) { return !on_disk(names.keys[i]); });
    const auto finish = [verb = operation.verb](resp::Outcome& all) {
        if (verb != resp::Verb::length) return;
        all.number = all.values[0] ? static_cast<std::int64_t>(all.values[0]->size()) : 0;
    };
    if (elsewhere.empty()) {
        finish(outcome);
        return done(std::move(outcome));
    }
    post([this, names, elsewhere, finish, done, operation = std::move(operation),
          outcome = std::make_shared<resp::Outcome>(std::move(outcome))] {
        for (const std::size_t i : elsewhere) {
            auto value = read(names.keys[i], operation.keys[i]);
            const std::lock_guard lock(mutex_);
            ++(value ? counts_.hits_disk : counts_.misses);
            if (!value) continue;
            outcome->values[i] = view_of(*value);
            // Whoever wrote meanwhile is newer.
            if (!entries_.contains(names.keys[i])) enter(names.keys[i], std::move(*value), false);
        }
        finish(*outcome);
        done(std::move(*outcome));
    });
}

void RespKeyspace::set(resp::Operation operation, Done done) {
    const Names names = names_of(operation);
    const kv::SegmentKey& key = names.keys[0];
    const WallTime now = wall_();
    if (operation.wants_old) {
        // The old value first, then the set as if without: another set between is as good as one before.
        resp::Operation old;
        old.tenant = operation.tenant;
        old.keys = operation.keys;
        operation.wants_old = false;
        return get(std::move(old), [this, operation = std::make_shared<resp::Operation>(std::move(operation)),
                                    done = std::move(done)](resp::Outcome before) {
            set(std::move(*operation), [done, before = std::move(before)](resp::Outcome after) mutable {
                after.values = std::move(before.values);
                done(std::move(after));
            });
        });
    }
    if (operation.only_if_absent || operation.only_if_present) {
        if (find_stamp(key, now).has_value() == operation.only_if_absent) {
            resp::Outcome outcome;
            outcome.done = false;
            return done(std::move(outcome));
        }
    }

    Stored value;
    value.tag = names.tenant.tag;
    value.expires_ms = operation.expires_ms.value_or(0);
    const std::string& user_key = operation.keys[0];
    if (operation.bodies.empty()) {
        const std::size_t before = kv::segment_header_size + resp_head_size(user_key.size());
        value.parts.push_back(counted_buffer(allocated_, before + operation.value.size()));
        std::ranges::copy(as_bytes(operation.value), value.parts[0]->bytes().subspan(before).begin());
        operation.body_bytes = operation.value.size();
    }
    for (resp::Body& body : operation.bodies)
        value.parts.push_back(std::static_pointer_cast<kv::SegmentBuffer>(std::move(body.owner)));
    RespValueHead head;
    head.key = user_key;
    head.parts = static_cast<std::uint32_t>(value.parts.size());
    head.bytes = operation.body_bytes;
    head.expires_ms = value.expires_ms;
    write_resp_head(head, value.parts[0]->bytes().subspan(kv::segment_header_size));
    for (const Buffer& part : value.parts) value.bytes += part->size();

    const auto stored = disk_ == nullptr ? std::nullopt : disk_->find(key);
    {
        const std::lock_guard lock(mutex_);
        value.stamp = std::max(clock_.next(now), stored ? stored->stamp + 1 : 0);
        ++counts_.sets;
        enter(key, std::move(value), disk_ != nullptr);
        if (queued_bytes_ > config_.queue_bytes_max) {
            waiting_sets_.push_back(std::move(done));
            return;
        }
    }
    done({});
}

void RespKeyspace::exists(const resp::Operation& operation, const Done& done) {
    const Names names = names_of(operation);
    const WallTime now = wall_();
    resp::Outcome outcome;
    for (const kv::SegmentKey& key : names.keys) outcome.number += find_stamp(key, now).has_value();
    done(std::move(outcome));
}

void RespKeyspace::remove(const resp::Operation& operation, const Done& done) {
    const Names names = names_of(operation);
    const WallTime now = wall_();
    resp::Outcome outcome;
    for (const kv::SegmentKey& key : names.keys) {
        const auto stamp = find_stamp(key, now);
        if (!stamp) continue;
        ++outcome.number;
        const std::lock_guard lock(mutex_);
        Stored tombstone;
        tombstone.tag = names.tenant.tag;
        tombstone.stamp = std::max(clock_.next(now), *stamp + 1);
        if (disk_ != nullptr)
            enter(key, std::move(tombstone), true);
        else if (const auto found = entries_.find(key); found != entries_.end())
            forget(found);
    }
    done(std::move(outcome));
}

// What waits for the disk is not listed yet.
void RespKeyspace::scan(const resp::Operation& operation, const Done& done) {
    if (disk_ == nullptr) return done({});
    post([this, operation, done] {
        const std::uint64_t tag = tenant_of(operation.tenant).tag;
        resp::Outcome outcome;
        std::optional<kv::SegmentKey> after;
        if (operation.cursor != 0) after = key_at(operation.cursor);
        for (std::size_t page = 0; page < scan_pages_max && outcome.keys.size() < operation.count; ++page) {
            const auto infos = disk_->list(after, operation.count);
            for (const io::StoredInfo& info : infos) {
                // A cursor names all keys that begin as it does.
                after = key_at(cursor_of(info.key));
                if (info.tenant != tag || info.kind != kv::SegmentKind::value) continue;
                const kv::SealedSegment segment = disk_->get(wall_(), info.key);
                const auto head = segment ? read_resp_head(kv::payload_of(segment->view())) : std::nullopt;
                if (!head || is_expired(head->expires_ms, wall_())) continue;
                if (operation.pattern.empty() || resp::matches(operation.pattern, head->key))
                    outcome.keys.emplace_back(head->key);
            }
            outcome.cursor = after ? cursor_of(*after) : 0;
            if (infos.size() < operation.count) {
                outcome.cursor = 0;
                break;
            }
        }
        done(std::move(outcome));
    });
}

const RespKeyspace::Entry* RespKeyspace::live(const kv::SegmentKey& key, WallTime now) const {
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.value.parts.empty()) return nullptr;
    return is_expired(found->second.value.expires_ms, now) ? nullptr : &found->second;
}

void RespKeyspace::touch(Entry& entry) {
    if (!entry.waiting) recent_.splice(recent_.begin(), recent_, entry.recent);
}

void RespKeyspace::enter(const kv::SegmentKey& key, Stored value, bool waiting) {
    if (const auto old = entries_.find(key); old != entries_.end()) {
        if (old->second.waiting) ++counts_.overwritten;
        forget(old);
    }
    Entry& entry = entries_[key];
    entry.value = std::move(value);
    entry.waiting = waiting;
    if (waiting) {
        queued_bytes_ += entry.value.bytes;
        queue_.push_back({key, entry.value.stamp, entry.value.bytes});
        queue_filled_.notify_one();
        return;
    }
    recent_.push_front(key);
    entry.recent = recent_.begin();
    recent_bytes_ += entry.value.bytes;
    shrink();
}

void RespKeyspace::forget(std::map<kv::SegmentKey, Entry>::iterator entry) {
    if (!entry->second.waiting) {
        recent_bytes_ -= entry->second.value.bytes;
        recent_.erase(entry->second.recent);
    }
    entries_.erase(entry);
}

void RespKeyspace::shrink() {
    while (recent_bytes_ > config_.memory_bytes) forget(entries_.find(recent_.back()));
}

bool RespKeyspace::on_disk(const kv::SegmentKey& key) const {
    if (disk_ == nullptr) return false;
    const auto info = disk_->find(key);
    return info && info->kind == kv::SegmentKind::value;
}

std::optional<std::uint64_t> RespKeyspace::find_stamp(const kv::SegmentKey& key, WallTime now) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(key);
        if (found != entries_.end()) {
            touch(found->second);
            if (live(key, now) == nullptr) return std::nullopt;
            return found->second.value.stamp;
        }
    }
    if (disk_ == nullptr) return std::nullopt;
    const auto info = disk_->find(key);
    // The lease holds it for the get that follows.
    if (!info || info->kind != kv::SegmentKind::value || !disk_->has(now, key)) return std::nullopt;
    return info->stamp;
}

std::optional<RespKeyspace::Stored> RespKeyspace::read(const kv::SegmentKey& key, std::string_view user_key) {
    const WallTime now = wall_();
    Stored value;
    const auto take = [&](const kv::SegmentKey& part) -> std::optional<kv::SegmentHead> {
        const kv::SealedSegment segment = disk_->get(now, part);
        const auto head = segment ? kv::parse_segment(segment->view()) : Result<kv::SegmentHead>(kv::SegmentHead{});
        if (!segment || head.has_error() || head.value().kind != kv::SegmentKind::value) return std::nullopt;
        // Nobody writes to what has come from the store.
        value.parts.push_back(std::const_pointer_cast<kv::SegmentBuffer>(segment));
        value.bytes += segment->size();
        return head.value();
    };
    const auto first = take(key);
    if (!first) return std::nullopt;
    const auto head = read_resp_head(kv::payload_of(value.parts[0]->view()));
    if (!head || head->key != user_key || is_expired(head->expires_ms, now)) return std::nullopt;
    value.stamp = first->stamp;
    value.tag = first->tenant;
    value.expires_ms = head->expires_ms;
    std::uint64_t bytes = head->data.size();
    for (std::uint32_t i = 1; i < head->parts; ++i) {
        const auto part = take(resp_part_key(crypto_, key, first->stamp, i));
        if (!part || part->stamp != first->stamp) return std::nullopt;
        bytes += part->payload_size;
    }
    if (bytes != head->bytes) return std::nullopt;
    return value;
}

resp::Value RespKeyspace::view_of(const Stored& value) {
    resp::Value view;
    for (std::size_t i = 0; i < value.parts.size(); ++i) {
        ByteView bytes = kv::payload_of(std::as_const(*value.parts[i]).view());
        if (i == 0) bytes = read_resp_head(bytes)->data;
        view.pieces.push_back({value.parts[i], bytes});
    }
    return view;
}

void RespKeyspace::post(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        work_.push_back(std::move(work));
    }
    work_filled_.notify_one();
}

void RespKeyspace::run_work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_filled_.wait(lock, [&] { return stopping_ || !work_.empty(); });
        if (work_.empty()) return;
        const auto work = std::move(work_.front());
        work_.pop_front();
        lock.unlock();
        work();
        lock.lock();
    }
}

void RespKeyspace::write_behind() {
    std::unique_lock lock(mutex_);
    for (;;) {
        queue_filled_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const Write write = queue_.front();
        queue_.pop_front();
        const auto found = entries_.find(write.key);
        if (found != entries_.end() && found->second.value.stamp == write.stamp) {
            const Stored value = found->second.value;
            lock.unlock();
            store(write.key, value);
            lock.lock();
            const auto still = entries_.find(write.key);
            if (still != entries_.end() && still->second.value.stamp == write.stamp) {
                still->second.waiting = false;
                recent_.push_front(write.key);
                still->second.recent = recent_.begin();
                recent_bytes_ += still->second.value.bytes;
                if (still->second.value.parts.empty()) forget(still);
                shrink();
            }
        }
        queued_bytes_ -= write.bytes;
        std::vector<Done> answered;
        while (!waiting_sets_.empty() && (queued_bytes_ <= config_.queue_bytes_max || queue_.empty())) {
            answered.push_back(std::move(waiting_sets_.front()));
            waiting_sets_.pop_front();
            if (queued_bytes_ > config_.queue_bytes_max / 2) break;
        }
        lock.unlock();
        for (const Done& done : answered) done({});
        lock.lock();
    }
}

void RespKeyspace::store(const kv::SegmentKey& key, const Stored& value) {
    kv::SegmentHead head;
    head.stamp = value.stamp;
    head.tenant = value.tag;
    head.kind = value.parts.empty() ? kv::SegmentKind::tombstone : kv::SegmentKind::value;
    // Up, so that the index never drops what is still good.
    head.expires_s = static_cast<std::uint64_t>((std::max<std::int64_t>(value.expires_ms, 0) + 999) / 1000);
    std::vector<kv::SealedSegment> sealed;
    std::vector<Buffer> parts = value.parts;
    if (parts.empty()) parts.push_back(std::make_shared<kv::SegmentBuffer>(kv::segment_header_size));
    // The first part last: without it the others are nothing.
    for (std::size_t i = parts.size(); i-- > 0;) {
        head.key = i == 0 ? key : resp_part_key(crypto_, key, value.stamp, static_cast<std::uint32_t>(i));
        head.nonce = io::random_nonce();
        sealer_.seal(head, *parts[i]);
        sealed.push_back(parts[i]);
    }
    const auto outcomes = disk_->put(wall_(), sealed);
    const bool kept = std::ranges::all_of(outcomes, [](io::PutOutcome outcome) {
        return outcome == io::PutOutcome::stored || outcome == io::PutOutcome::present;
    });
    // An older version must not come back in its place.
    if (!kept) disk_->erase(std::span(&key, 1));
    const std::lock_guard lock(mutex_);
    ++(kept ? counts_.stored : counts_.refused);
}

RespKeyspaceStats RespKeyspace::stats() const {
    const std::lock_guard lock(mutex_);
    RespKeyspaceStats stats = counts_;
    stats.memory_values = entries_.size();
    stats.memory_bytes = recent_bytes_ + queued_bytes_;
    stats.queued_bytes = queued_bytes_;
    return stats;
}

}  // namespace exa::app
