#include "app/resp/keyspace.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "app/resp/fetch.h"
#include "app/resp/value.h"
#include "base/check.h"
#include "kv/tenant.h"
#include "resp/session.h"

namespace exa::app {

namespace {

constexpr std::size_t scan_pages_max = 16;
constexpr std::uint64_t in_flight_bytes = 64ull << 20;

// Cursors are the first eight bytes of keys; those of one value, and of its twin, begin alike.
std::uint64_t cursor_of(const kv::SegmentKey& key) {
    std::uint64_t cursor = 0;
    for (std::size_t i = 0; i < 8; ++i) cursor = cursor << 8 | key.bytes[i];
    return cursor;
}

// Of a value, by how long its first part is; nothing when there may be others.
std::optional<std::int64_t> length_by_record(std::uint32_t bytes, std::string_view user_key) {
    const std::uint64_t before = kv::segment_header_size + resp_head_size(user_key.size());
    if (bytes < before || bytes - before >= resp_part_bytes_max) return std::nullopt;
    return static_cast<std::int64_t>(bytes - before);
}

// By its head; 0 of what is not live.
std::int64_t length_of(const std::optional<RespVersion>& version, std::int64_t now_ms) {
    if (!version || !version->is_live(now_ms)) return 0;
    const auto head = read_resp_head(kv::payload_of(version->parts[0]->view()));
    return head ? static_cast<std::int64_t>(head->bytes) : 0;
}

kv::SegmentKey key_with(std::uint64_t cursor, std::uint8_t rest) {
    kv::SegmentKey key;
    key.bytes.fill(rest);
    for (std::size_t i = 0; i < 8; ++i) key.bytes[i] = static_cast<std::uint8_t>(cursor >> (8 * (7 - i)));
    return key;
}

}  // namespace

struct RespKeyspace::Gathering {
    resp::Operation operation;
    Names names;
    Done done;
    std::mutex mutex;
    resp::Outcome outcome;
    std::size_t open = 0;  // values that are still to come

    // Of one value or none; whoever brings the last answers.
    void take(std::size_t place, std::optional<resp::Value> value) {
        {
            const std::lock_guard lock(mutex);
            outcome.values[place] = std::move(value);
            if (--open > 0) return;
        }
        finish();
    }
    void finish() { done(std::move(outcome)); }
};

RespKeyspace::RespKeyspace(const RespKeyspaceConfig& config, RespKeyspaceParts parts)
    : config_(config),
      parts_(std::move(parts)),
      disk_(parts_.disk),
      peers_(parts_.peers),
      allocated_(std::make_shared<std::atomic<std::uint64_t>>(0)),
      clock_(config.writer_tag),
      memory_(config.memory_bytes) {
    if (disk_ == nullptr) return;
    for (std::uint32_t i = 0; i < config_.threads; ++i) {
        workers_.emplace_back([this] { run_work(); });
        writers_.emplace_back([this] { write_behind(); });
    }
}

RespKeyspace::~RespKeyspace() {
    {
        const std::unique_lock lock(door_->mutex);
        door_->is_open = false;
    }
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
    const Digest salt = kv::tenant_salt(parts_.crypto, parts_.root_secret, name);
    return {salt, kv::tenant_tag(parts_.crypto, salt)};
}

RespKeyspace::Names RespKeyspace::names_of(const resp::Operation& operation) const {
    Names names{tenant_of(operation.tenant), {}};
    for (const std::string& key : operation.keys) names.keys.push_back(resp_key(parts_.crypto, names.tenant.salt, key));
    return names;
}

std::int64_t RespKeyspace::now_ms() const {
    return parts_.wall().unix_us / 1000;
}

std::optional<resp::Body> RespKeyspace::make_body(const std::string&, const resp::Request& so_far,
                                                  std::uint64_t bytes) {
    // "SET", the key, and now the value.
    if (so_far.arguments.size() != 3) return std::nullopt;
    const std::size_t before =
        kv::segment_header_size + (so_far.bodies.empty() ? resp_head_size(so_far.arguments[1].size()) : 0);
    const auto taken = static_cast<std::size_t>(std::min(bytes, resp_part_bytes_max));
    {
        const std::lock_guard lock(mutex_);
        if (!make_room(before + taken)) return std::nullopt;
    }
    const auto buffer = make_buffer(before + taken);
    return resp::Body{buffer, buffer->bytes().subspan(before)};
}

void RespKeyspace::run(resp::Operation operation, Done done) {
    switch (operation.verb) {
        case resp::Verb::get:
            return get(std::move(operation), std::move(done));
        case resp::Verb::length:
            return length(std::move(operation), done);
        case resp::Verb::set:
            return set(std::move(operation), std::move(done));
        case resp::Verb::exists:
            return exists(operation, std::move(done));
        case resp::Verb::remove:
            return remove(operation, std::move(done));
        case resp::Verb::scan:
            return scan(operation, done);
    }
}

void RespKeyspace::get(resp::Operation operation, Done done) {
    const auto gathering = std::make_shared<Gathering>();
    gathering->names = names_of(operation);
    gathering->operation = std::move(operation);
    gathering->done = std::move(done);
    gathering->outcome.values.resize(gathering->names.keys.size());
    search(gathering->names.keys, [this, gathering](const Verdicts& verdicts) { gather(gathering, verdicts); });
}

void RespKeyspace::gather(const std::shared_ptr<Gathering>& gathering, const Verdicts& verdicts) {
    const std::vector<kv::SegmentKey>& keys = gathering->names.keys;
    std::vector<std::size_t> on_disk, with_peers;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!verdicts[i].is_found()) {
                ++counts_.misses;
            } else if (!verdicts[i].is_local) {
                with_peers.push_back(i);
            } else if (const auto* entry = memory_.find(keys[i]);
                       entry != nullptr && entry->version.stamp >= verdicts[i].stamp) {
                // Live a moment ago, or written over by what is not.
                if (!entry->version.is_live(now_ms())) {
                    ++counts_.misses;
                    continue;
                }
                gathering->outcome.values[i] = resp_view(entry->version);
                counts_.got_bytes += gathering->outcome.values[i]->size();
                ++counts_.hits_memory;
                memory_.touch(keys[i]);
            } else {
                on_disk.push_back(i);
            }
        }
    }
    gathering->open = on_disk.size() + with_peers.size();
    if (gathering->open == 0) return gathering->finish();
    for (const std::size_t i : with_peers) fetch(gathering, i, verdicts[i]);
    if (on_disk.empty()) return;
    post([this, gathering, on_disk] {
        for (const std::size_t i : on_disk) {
            const kv::SegmentKey& key = gathering->names.keys[i];
            auto version = read(key, gathering->operation.keys[i]);
            std::optional<resp::Value> value;
            {
                const std::lock_guard lock(mutex_);
                ++(version ? counts_.hits_disk : counts_.misses);
                if (version) {
                    value = resp_view(*version);
                    counts_.got_bytes += value->size();
                    enter(key, std::move(*version));
                }
            }
            gathering->take(i, std::move(value));
        }
    });
}

void RespKeyspace::fetch(const std::shared_ptr<Gathering>& gathering, std::size_t place,
                         const kv::ValueVerdict& verdict) {
    RespFetch fetch{gathering->names.keys[place], gathering->operation.keys[place], verdict, {}};
    fetch.reserve = [this, door = door_](std::uint64_t bytes) -> std::shared_ptr<void> {
        const std::shared_lock open(door->mutex);
        if (!door->is_open) return nullptr;
        const std::lock_guard lock(mutex_);
        if (!make_room(bytes)) return nullptr;
        *allocated_ += bytes;
        return {allocated_.get(), [allocated = allocated_, bytes](auto*) { *allocated -= bytes; }};
    };
    fetch_resp_value(*peers_, parts_.crypto, std::move(fetch),
                     [this, door = door_, gathering, place](std::optional<RespVersion> version) {
                         const std::shared_lock open(door->mutex);
                         if (!door->is_open) return;
                         std::optional<resp::Value> value;
                         {
                             const std::lock_guard lock(mutex_);
                             if (version && !version->is_live(now_ms())) version.reset();
                             ++(version ? counts_.hits_peers : counts_.misses);
                             if (version) {
                                 value = resp_view(*version);
                                 counts_.got_bytes += value->size();
                                 enter(gathering->names.keys[place], std::move(*version));
                             }
                         }
                         gathering->take(place, std::move(value));
                     });
}

// No value moves for it: what is here has a head, and of what others have their answers tell the size.
void RespKeyspace::length(resp::Operation operation, const Done& done) {
    const kv::SegmentKey key = names_of(operation).keys[0];
    search({key}, [this, key, user_key = operation.keys[0], done](const Verdicts& verdicts) {
        const kv::ValueVerdict& verdict = verdicts[0];
        const auto tell = [done](std::int64_t bytes) {
            resp::Outcome outcome;
            outcome.number = bytes;
            done(std::move(outcome));
        };
        if (!verdict.is_found()) return tell(0);
        if (!verdict.is_local) {
            if (const auto length = length_by_record(verdict.bytes, user_key)) return tell(*length);
            return fetch_resp_value(*parts_.peers, parts_.crypto, {key, user_key, verdict, {}, true},
                                    [this, door = door_, tell](const std::optional<RespVersion>& version) {
                                        const std::shared_lock open(door->mutex);
                                        if (door->is_open) tell(length_of(version, now_ms()));
                                    });
        }
        std::optional<std::int64_t> in_memory;
        {
            const std::lock_guard lock(mutex_);
            const auto* entry = memory_.find(key);
            if (entry != nullptr && entry->version.stamp >= verdict.stamp)
                in_memory = length_of(entry->version, now_ms());
        }
        if (in_memory || disk_ == nullptr) return tell(in_memory.value_or(0));
        post([this, key, user_key, tell] {
            const kv::SealedSegment first = disk_->get(parts_.wall(), key);
            tell(length_of(first ? resp_version_of(parts_.crypto, key, user_key, first) : std::nullopt, now_ms()));
        });
    });
}

void RespKeyspace::set(resp::Operation operation, Done done) {
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
    const Names names = names_of(operation);
    if (!operation.only_if_absent && !operation.only_if_present)
        return write(std::move(operation), names, std::move(done));
    const std::vector<kv::SegmentKey> keys = names.keys;
    search(keys, [this, names, operation = std::make_shared<resp::Operation>(std::move(operation)),
                  done = std::move(done)](const Verdicts& verdicts) {
        if (verdicts[0].is_found() != operation->only_if_absent) return write(std::move(*operation), names, done);
        resp::Outcome outcome;
        outcome.done = false;
        {
            const std::lock_guard lock(mutex_);
            ++counts_.sets_unmet;
        }
        done(std::move(outcome));
    });
}

void RespKeyspace::write(resp::Operation operation, const Names& names, Done done) {
    const kv::SegmentKey& key = names.keys[0];
    RespVersion version;
    version.tag = names.tenant.tag;
    version.expires_ms = operation.expires_ms.value_or(0);
    version.sealing = std::make_shared<std::once_flag>();
    const std::string& user_key = operation.keys[0];
    if (operation.bodies.empty()) {
        const std::size_t before = kv::segment_header_size + resp_head_size(user_key.size());
        version.parts.push_back(make_buffer(before + operation.value.size()));
        std::ranges::copy(as_bytes(operation.value), version.parts[0]->bytes().subspan(before).begin());
        operation.body_bytes = operation.value.size();
    }
    for (resp::Body& body : operation.bodies)
        version.parts.push_back(std::static_pointer_cast<kv::SegmentBuffer>(std::move(body.owner)));
    RespValueHead head;
    head.key = user_key;
    head.parts = static_cast<std::uint32_t>(version.parts.size());
    head.bytes = operation.body_bytes;
    head.expires_ms = version.expires_ms;
    write_resp_head(head, version.parts[0]->bytes().subspan(kv::segment_header_size));
    for (const auto& part : version.parts) version.bytes += part->size();

    const auto stored = disk_ == nullptr ? std::nullopt : disk_->find(key);
    bool waits = false;
    {
        const std::lock_guard lock(mutex_);
        const auto* old = memory_.find(key);
        version.stamp =
            clock_.next(parts_.wall(), std::max(stored ? stored->stamp : 0, old != nullptr ? old->version.stamp : 0));
        for (std::uint32_t i = 0; i < version.parts.size(); ++i)
            version.keys.push_back(resp_part_key(parts_.crypto, key, version.stamp, i));
        ++counts_.sets;
        counts_.set_bytes += operation.body_bytes;
        if (old != nullptr && old->waits) ++counts_.overwritten;
        memory_.enter(key, version, disk_ != nullptr, disk_ == nullptr || peers_ != nullptr);
        waits = memory_.queued_bytes() > config_.queue_bytes_max;
        if (waits) waiting_sets_.push_back(std::move(done));
    }
    if (disk_ == nullptr)
        spread(version);
    else
        queue_filled_.notify_one();
    if (!waits) done({});
}

void RespKeyspace::exists(const resp::Operation& operation, Done done) {
    const Names names = names_of(operation);
    search(names.keys, [this, keys = names.keys, done = std::move(done)](const Verdicts& verdicts) {
        resp::Outcome outcome;
        const WallTime now = parts_.wall();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!verdicts[i].is_found()) continue;
            ++outcome.number;
            // The lease holds it for the get that follows; with owners the search took one.
            if (verdicts[i].is_local && disk_ != nullptr) disk_->has(now, keys[i]);
        }
        {
            const std::lock_guard lock(mutex_);
            for (const kv::SegmentKey& key : keys) memory_.touch(key);
            const auto there = static_cast<std::uint64_t>(outcome.number);
            counts_.existing += there;
            counts_.not_existing += keys.size() - there;
        }
        done(std::move(outcome));
    });
}

void RespKeyspace::remove(const resp::Operation& operation, Done done) {
    const Names names = names_of(operation);
    search(names.keys, [this, names, done = std::move(done)](const Verdicts& verdicts) {
        resp::Outcome outcome;
        std::vector<RespVersion> removals;
        std::set<kv::SegmentKey> seen;
        {
            const std::lock_guard lock(mutex_);
            for (std::size_t i = 0; i < names.keys.size(); ++i) {
                const kv::SegmentKey& key = names.keys[i];
                if (!seen.insert(key).second) continue;
                const bool is_found = verdicts[i].is_found();
                outcome.number += is_found ? 1 : 0;
                ++(is_found ? counts_.removed : counts_.not_removed);
                // Whoever did not answer may have what is to be gone.
                if (!is_found && (peers_ == nullptr || verdicts[i].is_sure)) continue;
                if (disk_ == nullptr && peers_ == nullptr) {
                    memory_.forget(key);
                    continue;
                }
                const auto* old = memory_.find(key);
                const std::uint64_t after = std::max(verdicts[i].stamp, old != nullptr ? old->version.stamp : 0);
                RespVersion removal = resp_removal(key, clock_.next(parts_.wall(), after), names.tenant.tag);
                memory_.enter(key, removal, disk_ != nullptr, peers_ != nullptr);
                removals.push_back(std::move(removal));
            }
        }
        if (disk_ == nullptr)
            for (const RespVersion& removal : removals) spread(removal);
        else
            queue_filled_.notify_all();
        done(std::move(outcome));
    });
}

void RespKeyspace::scan(const resp::Operation& operation, const Done& done) {
    {
        const std::lock_guard lock(mutex_);
        ++counts_.scans;
    }
    if (operation.none) return done({});
    const auto work = [this, operation, done] {
        const std::uint64_t tag = tenant_of(operation.tenant).tag;
        std::set<kv::SegmentKey> found;
        kv::SegmentKey from = key_with(operation.cursor, 0);
        // The cursor's own keys are listed, too: "after" the key before them.
        std::optional<kv::SegmentKey> after;
        if (operation.cursor != 0) after = key_with(operation.cursor - 1, 0xff);
        std::uint64_t cursor = 0;
        for (std::size_t page = 0;; ++page) {
            const auto infos = disk_ == nullptr ? std::vector<io::StoredInfo>() : disk_->list(after, operation.count);
            const bool is_last = infos.size() < operation.count;
            const kv::SegmentKey to = is_last ? key_with(~0ull, 0xff) : infos.back().key;
            for (const io::StoredInfo& info : infos)
                if (info.tenant == tag && info.kind == kv::SegmentKind::value) found.insert(info.key);
            {
                const std::lock_guard lock(mutex_);
                for (const RespVersion* own : memory_.list_own(from, to))
                    if (own->tag == tag) found.insert(own->keys[0]);
            }
            if (is_last) break;
            after = from = to;
            // What begins as the last key may go on in the next page: it is left to the next call, which begins there.
            const bool is_enough = found.size() > operation.count || page + 1 >= scan_pages_max;
            if (is_enough && cursor_of(to) != operation.cursor) {
                cursor = cursor_of(to);
                found.erase(found.lower_bound(key_with(cursor, 0)), found.end());
                break;
            }
        }
        resp::Outcome outcome;
        outcome.cursor = cursor;
        for (const kv::SegmentKey& key : found) {
            auto user_key = listed_key(key, tag);
            if (user_key && (operation.pattern.empty() || resp::matches(operation.pattern, *user_key)))
                outcome.keys.push_back(std::move(*user_key));
        }
        done(std::move(outcome));
    };
    if (disk_ == nullptr) return work();
    post(work);
}

// Of the version that is here, if it is the first part of a live value.
std::optional<std::string> RespKeyspace::listed_key(const kv::SegmentKey& key, std::uint64_t tag) {
    const kv::KnownValue here = known(key);
    if (here.item.bytes == 0) return std::nullopt;
    std::shared_ptr<const kv::SegmentBuffer> first;
    {
        const std::lock_guard lock(mutex_);
        const auto* entry = memory_.find(key);
        if (entry != nullptr && entry->version.stamp == here.item.stamp) first = entry->version.parts[0];
    }
    if (!first) {
        if (disk_ == nullptr) return std::nullopt;
        first = disk_->get(parts_.wall(), key);
        const auto segment = first ? kv::parse_segment(first->view()) : Result<kv::SegmentHead>(kv::SegmentHead{});
        if (!first || !segment || segment.value().tenant != tag) return std::nullopt;
    }
    const auto head = read_resp_head(kv::payload_of(first->view()));
    if (!head || (head->expires_ms != 0 && head->expires_ms <= now_ms())) return std::nullopt;
    return std::string(head->key);
}

kv::KnownValue RespKeyspace::known(const kv::SegmentKey& key) {
    kv::KnownValue on_disk{{key, 0, 0}};
    if (const auto stored = disk_ == nullptr ? std::nullopt : disk_->find(key))
        on_disk = {{key, stored->stamp, stored->kind == kv::SegmentKind::value ? stored->bytes : 0}, true};
    const std::lock_guard lock(mutex_);
    const auto* entry = memory_.find(key);
    if (entry == nullptr) return on_disk;
    const auto known = kv::known_value(on_disk, entry->version.told(now_ms()), entry->is_unsettled);
    if (entry->version.stamp < known.item.stamp) memory_.forget(key);
    return known;
}

void RespKeyspace::search(const std::vector<kv::SegmentKey>& keys, std::function<void(const Verdicts&)> then) {
    std::vector<kv::KnownValue> values;
    values.reserve(keys.size());
    for (const kv::SegmentKey& key : keys) values.push_back(known(key));
    if (peers_ == nullptr || !peers_->has_others()) {
        Verdicts verdicts(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            verdicts[i].stamp = values[i].item.stamp;
            verdicts[i].is_local = values[i].item.stamp != 0;
            verdicts[i].is_removal = values[i].item.bytes == 0;
        }
        return then(verdicts);
    }
    {
        const std::lock_guard lock(mutex_);
        ++counts_.searches;
    }
    peers_->find(std::move(values), [this, door = door_, keys, then = std::move(then)](const Verdicts& verdicts) {
        const std::shared_lock open(door->mutex);
        if (!door->is_open) return;
        for (std::size_t i = 0; i < keys.size(); ++i) forget_older(keys[i], verdicts[i]);
        {
            const std::lock_guard lock(mutex_);
            const auto is_sure = [](const kv::ValueVerdict& verdict) { return verdict.is_sure; };
            counts_.unsure += std::ranges::all_of(verdicts, is_sure) ? 0 : 1;
        }
        then(verdicts);
    });
}

void RespKeyspace::forget_older(const kv::SegmentKey& key, const kv::ValueVerdict& verdict) {
    const std::lock_guard lock(mutex_);
    clock_.observe(parts_.wall(), verdict.stamp);
    const auto* entry = memory_.find(key);
    if (entry == nullptr || verdict.is_local) return;
    // Of the same stamp it is only not vouched for, and may be the next time.
    if (entry->version.stamp < verdict.stamp || verdict.is_sure) memory_.forget(key);
}

// Whoever wrote meanwhile is newer.
void RespKeyspace::enter(const kv::SegmentKey& key, RespVersion version) {
    const auto* entry = memory_.find(key);
    if (entry != nullptr && (entry->waits || entry->version.stamp >= version.stamp)) return;
    memory_.enter(key, std::move(version), false, false);
}

bool RespKeyspace::make_room(std::uint64_t bytes) {
    const std::uint64_t most = config_.memory_bytes + config_.queue_bytes_max + in_flight_bytes;
    while (*allocated_ + bytes > most && memory_.forget_oldest()) {
    }
    if (*allocated_ + bytes <= most) return true;
    ++counts_.refused;
    return false;
}

std::shared_ptr<kv::SegmentBuffer> RespKeyspace::make_buffer(std::size_t bytes) {
    *allocated_ += bytes;
    return {new kv::SegmentBuffer(bytes), [allocated = allocated_, bytes](kv::SegmentBuffer* buffer) {
                delete buffer;
                *allocated -= bytes;
            }};
}

std::optional<RespVersion> RespKeyspace::read(const kv::SegmentKey& key, std::string_view user_key) {
    const WallTime now = parts_.wall();
    const kv::SealedSegment first = disk_->get(now, key);
    auto version = first ? resp_version_of(parts_.crypto, key, user_key, first) : std::nullopt;
    if (!version || !version->is_live(now.unix_us / 1000)) return std::nullopt;
    for (std::size_t i = 1; i < version->keys.size(); ++i) {
        const kv::SealedSegment part = disk_->get(now, version->keys[i]);
        if (!part || !add_resp_part(*version, part)) return std::nullopt;
    }
    return is_resp_whole(*version) ? std::move(version) : std::nullopt;
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
        queue_filled_.wait(lock, [&] { return stopping_ || memory_.has_writes(); });
        const auto write = memory_.next_write();
        if (!write) return;
        bool is_kept = false;
        if (const auto version = memory_.version_of(*write)) {
            lock.unlock();
            is_kept = store(*version);
            lock.lock();
        }
        memory_.stored(*write, is_kept);
        std::vector<Done> answered;
        while (!waiting_sets_.empty() && (memory_.queued_bytes() <= config_.queue_bytes_max || !memory_.has_writes())) {
            answered.push_back(std::move(waiting_sets_.front()));
            waiting_sets_.pop_front();
            if (memory_.queued_bytes() > config_.queue_bytes_max / 2) break;
        }
        lock.unlock();
        for (const Done& done : answered) done({});
        lock.lock();
    }
}

bool RespKeyspace::store(const RespVersion& version) {
    seal_resp(version, parts_.sealer);
    // The first part last: without it the others are nothing.
    const std::vector<kv::SealedSegment> sealed(version.parts.rbegin(), version.parts.rend());
    const auto outcomes = disk_->put(parts_.wall(), sealed);
    const bool is_kept = std::ranges::all_of(outcomes, [](io::PutOutcome outcome) {
        return outcome == io::PutOutcome::stored || outcome == io::PutOutcome::present;
    });
    // An older version must not come back in its place.
    if (!is_kept) disk_->erase(std::span(&version.keys[0], 1));
    {
        const std::lock_guard lock(mutex_);
        ++(is_kept ? counts_.stored : counts_.refused);
    }
    // Also what the disk refused: its owners' may take it, from memory.
    if (outcomes.back() != io::PutOutcome::present) spread(version);
    return is_kept;
}

void RespKeyspace::spread(const RespVersion& version) {
    if (peers_ == nullptr) return;
    seal_resp(version, parts_.sealer);
    for (std::size_t i = version.parts.size(); i-- > 0;) {
        kv::SegmentHead head;
        head.key = version.keys[i];
        head.stamp = version.stamp;
        peers_->handle_stored(head, version.parts[i]);
    }
}

std::optional<kv::Item> RespKeyspace::find(const kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto* entry = memory_.find(key);
    if (entry != nullptr) return entry->version.told(now_ms());
    std::size_t part = 0;
    const RespVersion* version = memory_.find_part(key, part);
    if (version == nullptr) return std::nullopt;
    return kv::Item{key, version->stamp, static_cast<std::uint32_t>(version->parts[part]->size())};
}

kv::SealedSegment RespKeyspace::get(const kv::SegmentKey& key) {
    std::optional<RespVersion> version;
    std::size_t part = 0;
    {
        const std::lock_guard lock(mutex_);
        if (const RespVersion* found = memory_.find_part(key, part)) version = *found;
    }
    if (!version) return nullptr;
    seal_resp(*version, parts_.sealer);
    return version->parts[part];
}

void RespKeyspace::handle_settled(const kv::Item& item) {
    const std::lock_guard lock(mutex_);
    memory_.settle(item.key, item.stamp);
}

void RespKeyspace::observe(std::uint64_t stamp) {
    const std::lock_guard lock(mutex_);
    clock_.observe(parts_.wall(), stamp);
}

KvValuesStats RespKeyspace::stats() const {
    const std::lock_guard lock(mutex_);
    KvValuesStats stats = counts_;
    stats.memory_values = memory_.count();
    stats.memory_bytes = memory_.recent_bytes() + memory_.queued_bytes();
    stats.queued_values = memory_.waiting();
    stats.queued_bytes = memory_.queued_bytes();
    return stats;
}

}  // namespace exa::app
