#include "io/store/segment_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "io/errc.h"
#include "io/store/index_db.h"
#include "io/store/lock_file.h"
#include "io/store/volumes.h"
#include "kv/store_index.h"

namespace exa::io::store {

namespace {

using kv::StoreEntry;
using store::Place;

constexpr std::uint64_t capacity_min = 64ull << 20;
constexpr std::uint64_t volume_min = 4ull << 20;
constexpr std::uint64_t volume_max = 256ull << 20;
// What the index may grow by between two measurements: its log, its buffers on their way to the disk.
constexpr std::uint64_t index_reserve = 8ull << 20;
constexpr std::size_t entries_at_once = 256;
// How far ahead of its going an entry is next to go: what an eviction takes, and time to write it elsewhere.
constexpr std::uint64_t lead_bytes_max = 4ull << 30;
constexpr std::uint32_t lead_s_max = 600;
constexpr std::int64_t flush_period_us = 30'000'000;

std::uint64_t volume_size(std::uint64_t capacity) {
    return std::clamp(capacity / 64, volume_min, volume_max) / kv::segment_block * kv::segment_block;
}

std::uint32_t to_seconds(std::uint64_t seconds) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(seconds, std::numeric_limits<std::uint32_t>::max()));
}

std::uint64_t disk_bytes(const std::filesystem::path& directory) {
    std::uint64_t bytes = 0;
    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(directory, failed)) {
        struct stat status{};
        if (::stat(file.path().c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

StoredInfo info_of(const StoreEntry& entry) {
    return {entry.key, entry.tenant, entry.stamp, entry.bytes, entry.kind};
}

PutOutcome outcome_of(kv::Admission admission) {
    switch (admission) {
        case kv::Admission::admitted:
            return PutOutcome::stored;
        case kv::Admission::present:
            return PutOutcome::present;
        case kv::Admission::no_room:
            return PutOutcome::refused_full;
        case kv::Admission::over_quota:
            return PutOutcome::refused_quota;
    }
    return PutOutcome::refused_full;
}

class DiskStore final : public SegmentStore {
  public:
    DiskStore(const StoreConfig& config, const kv::StoreLimits& limits, const kv::SegmentSealer& sealer, Log& log,
              store::LockFile lock, std::unique_ptr<store::IndexDb> db, std::unique_ptr<store::Volumes> volumes)
        : config_(config),
          sealer_(&sealer),
          log_(&log),
          lock_(std::move(lock)),
          db_(std::move(db)),
          volumes_(std::move(volumes)),
          index_(limits) {}
    ~DiskStore() override { close(); }
    DiskStore(const DiskStore&) = delete;
    DiskStore& operator=(const DiskStore&) = delete;

    // Once, before anything else.
    void restore(WallTime now);

    std::vector<PutOutcome> put(WallTime now, std::span<const kv::SealedSegment> segments) override;
    kv::SealedSegment get(WallTime now, const kv::SegmentKey& key) override;
    std::vector<kv::Item> lookup(WallTime now, std::span<const kv::SegmentKey> keys) override;
    std::optional<StoredInfo> find(const kv::SegmentKey& key) const override;
    std::size_t erase(std::span<const kv::SegmentKey> keys) override;
    bool erase_version(const kv::SegmentKey& key, std::uint64_t stamp) override;
    std::vector<StoredInfo> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override;
    std::vector<kv::SegmentKey> next_to_go(WallTime now, std::size_t limit) const override;
    kv::SealedSegment peek(const kv::SegmentKey& key) override;
    void mark_persisted(const kv::SegmentKey& key) override;
    void set_quota(std::uint64_t tenant, std::uint64_t bytes) override;
    std::uint64_t tenant_bytes(std::uint64_t tenant) const override;
    void maintain(WallTime now) override;
    ScrubReport scrub(const std::optional<kv::SegmentKey>& after, std::size_t count) override;
    StoreStats stats() const override;

  private:
    // One segment on its way to the disk.
    struct Work {
        std::size_t at;  // in the caller's list
        StoreEntry entry;
        bool written = false;
    };

    void close();
    kv::Admission admit(WallTime now, const StoreEntry& entry);
    void write_payloads(WallTime now, std::span<const kv::SealedSegment> segments, std::vector<Work>& works);
    void remove(const std::vector<StoreEntry>& removed);
    kv::SealedSegment read(const StoreEntry& entry);
    void drop_bad(const StoreEntry& entry);
    void measure();
    void report_full(std::string_view what);

    const StoreConfig config_;
    const kv::SegmentSealer* sealer_;
    Log* log_;
    store::LockFile lock_;
    std::unique_ptr<store::IndexDb> db_;
    std::unique_ptr<store::Volumes> volumes_;

    // Deletions and renewals of records; never taken with mutex_ held. A renewal must not follow a deletion.
    std::mutex records_mutex_;
    mutable std::mutex mutex_;  // all below
    kv::StoreIndex index_;
    StoreStats counted_;
    std::int64_t flushed_us_ = 0;
    bool is_full_ = false;  // as last said in the log
    WallTime last_now_;
};

void DiskStore::restore(WallTime now) {
    std::vector<StoreEntry> unwanted;
    for (const StoreEntry& entry : db_->load()) {
        // The record of an older version whose deletion was lost.
        const auto other = index_.find(WallTime{}, entry.key);
        if (other && other->stamp >= entry.stamp) {
            unwanted.push_back(entry);
            continue;
        }
        if (!volumes_->keep(Place{entry.place}, entry.physical())) {
            unwanted.push_back(entry);
            continue;
        }
        if (other) {
            unwanted.push_back(*other);
            volumes_->release(Place{other->place}, other->physical());
        }
        index_.restore(entry);
    }
    index_.order_by_use();
    volumes_->finish_keeping();
    if (!unwanted.empty()) db_->erase(unwanted);
    last_now_ = now;
    maintain(now);
    log_->info("store", "opened",
               {{"directory", config_.directory.string()},
                {"entries", std::to_string(index_.size())},
                {"bytes", std::to_string(index_.sealed_bytes())},
                {"dropped_records", std::to_string(unwanted.size())},
                {"direct_io", volumes_->direct_io() ? "yes" : "no"}});
    if (db_->rebuilt())
        log_->warn("store", "the index was damaged and has been put aside: the store begins empty",
                   {{"directory", config_.directory.string()}});
}

void DiskStore::close() {
    for (;;) {
        const std::vector<StoreEntry> touched = index_.take_touched(entries_at_once);
        if (touched.empty()) break;
        db_->refresh(touched);
    }
    db_->flush();
}

// With mutex_ held for the index alone: what is evicted is removed before anything is written in its room.
kv::Admission DiskStore::admit(WallTime now, const StoreEntry& entry) {
    std::vector<StoreEntry> removed;
    kv::Admission admission;
    {
        const std::lock_guard lock(mutex_);
        admission = index_.admit(now, entry, removed);
        counted_.evicted += removed.size();
        last_now_ = now;
    }
    remove(removed);
    return admission;
}

void DiskStore::write_payloads(WallTime now, std::span<const kv::SealedSegment> segments, std::vector<Work>& works) {
    std::set<std::uint32_t> volumes;
    for (Work& work : works) {
        const ByteView blocks = segments[work.at]->blocks();
        auto place = volumes_->append(blocks);
        if (place.has_error()) {
            // The file system may be fuller than was thought: measure, make room and try once more.
            maintain(now);
            place = volumes_->append(blocks);
        }
        if (place.has_error()) {
            report_full(place.error().message());
            const std::lock_guard lock(mutex_);
            ++counted_.disk_errors;
            continue;
        }
        work.entry.place = place.value().value;
        work.written = true;
        volumes.insert(place.value().volume());
    }
    if (config_.durability != Durability::sync || volumes.empty() || volumes_->sync(volumes)) return;
    const std::lock_guard lock(mutex_);
    ++counted_.disk_errors;
    for (Work& work : works) {
        if (work.written) volumes_->release(Place{work.entry.place}, work.entry.physical());
        work.written = false;
    }
}

std::vector<PutOutcome> DiskStore::put(WallTime now, std::span<const kv::SealedSegment> segments) {
    std::vector<PutOutcome> outcomes(segments.size(), PutOutcome::refused_broken);
    std::vector<Work> works;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const auto head = segments[i] ? kv::parse_segment(segments[i]->view()) : error(errc::malformed);
        if (head.has_error()) continue;
        StoreEntry entry;
        entry.key = head.value().key;
        entry.tenant = head.value().tenant;
        entry.stamp = head.value().stamp;
        entry.kind = head.value().kind;
        entry.bytes = static_cast<std::uint32_t>(segments[i]->size());
        entry.last_use_s = to_seconds(static_cast<std::uint64_t>(std::max<std::int64_t>(now.unix_seconds(), 0)));
        entry.expires_s = to_seconds(head.value().expires_s);
        const kv::Admission admission = admit(now, entry);
        outcomes[i] = outcome_of(admission);
        if (admission == kv::Admission::admitted) works.push_back({i, entry});
    }
    if (!works.empty()) write_payloads(now, segments, works);

    std::vector<StoreEntry> records;
    for (const Work& work : works)
        if (work.written) records.push_back(work.entry);
    const bool recorded = records.empty() || db_->put(records);
    if (!recorded) report_full("the index refused a record");

    std::vector<StoreEntry> removed;
    {
        const std::lock_guard lock(mutex_);
        if (!recorded) ++counted_.disk_errors;
        for (const Work& work : works) {
            if (!work.written || !recorded) {
                index_.abort(work.entry);
                outcomes[work.at] = PutOutcome::refused_full;
                if (work.written) removed.push_back(work.entry);
                continue;
            }
            const auto replaced = index_.commit(work.entry);
            if (replaced) removed.push_back(*replaced);
            if (replaced && replaced->place == work.entry.place) outcomes[work.at] = PutOutcome::present;
        }
        for (const PutOutcome outcome : outcomes) {
            if (outcome == PutOutcome::stored) ++counted_.stored;
            if (outcome >= PutOutcome::refused_full) ++counted_.refused;
        }
    }
    remove(removed);
    return outcomes;
}

// Records go before bytes: a crash between leaves bytes that nobody names, which the next start gives back.
void DiskStore::remove(const std::vector<StoreEntry>& removed) {
    if (removed.empty()) return;
    {
        const std::lock_guard lock(records_mutex_);
        db_->erase(removed);
    }
    for (const StoreEntry& entry : removed) volumes_->release(Place{entry.place}, entry.physical());
}

kv::SealedSegment DiskStore::read(const StoreEntry& entry) {
    const auto buffer = std::make_shared<kv::SegmentBuffer>(entry.bytes);
    if (!volumes_->read(Place{entry.place}, buffer->blocks())) {
        const std::lock_guard lock(mutex_);
        ++counted_.disk_errors;
        return nullptr;
    }
    const auto head = sealer_->verify(entry.key, buffer->view());
    // Its own record says the same, or another version stands here.
    if (head.has_error() || head.value().stamp != entry.stamp || head.value().kind != entry.kind) return nullptr;
    return buffer;
}

void DiskStore::drop_bad(const StoreEntry& entry) {
    {
        const std::lock_guard lock(mutex_);
        // Gone meanwhile: then its bytes were not bad but given back.
        if (!index_.stands(entry.key, entry.place)) return;
        index_.erase(entry.key);
        ++counted_.corrupt;
    }
    remove({entry});
    log_->warn("store", "an entry did not verify and was dropped", {{"key", kv::to_string(entry.key).substr(0, 16)}});
}

kv::SealedSegment DiskStore::get(WallTime now, const kv::SegmentKey& key) {
    // A second attempt for a value that was replaced while it was read.
    for (int attempt = 0; attempt < 2; ++attempt) {
        std::optional<StoreEntry> entry;
        {
            const std::lock_guard lock(mutex_);
            entry = index_.use(now, key);
            if (!entry) break;
        }
        if (kv::SealedSegment segment = read(*entry)) {
            const std::lock_guard lock(mutex_);
            ++counted_.hits;
            return segment;
        }
        drop_bad(*entry);
    }
    const std::lock_guard lock(mutex_);
    ++counted_.misses;
    return nullptr;
}

std::vector<kv::Item> DiskStore::lookup(WallTime now, std::span<const kv::SegmentKey> keys) {
    std::vector<kv::Item> items;
    items.reserve(keys.size());
    const std::lock_guard lock(mutex_);
    last_now_ = now;
    for (const kv::SegmentKey& key : keys) {
        const auto entry = index_.find(now, key);
        const bool is_tombstone = entry && entry->kind == kv::SegmentKind::tombstone;
        items.push_back({key, entry ? entry->stamp : 0, entry && !is_tombstone ? entry->bytes : 0});
        if (entry && !is_tombstone) index_.lease(now, key);
    }
    return items;
}

std::optional<StoredInfo> DiskStore::find(const kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto entry = index_.find(last_now_, key);
    if (!entry) return std::nullopt;
    return info_of(*entry);
}

std::size_t DiskStore::erase(std::span<const kv::SegmentKey> keys) {
    std::vector<StoreEntry> removed;
    {
        const std::lock_guard lock(mutex_);
        for (const kv::SegmentKey& key : keys)
            if (const auto entry = index_.erase(key)) removed.push_back(*entry);
    }
    remove(removed);
    return removed.size();
}

bool DiskStore::erase_version(const kv::SegmentKey& key, std::uint64_t stamp) {
    std::optional<StoreEntry> removed;
    {
        const std::lock_guard lock(mutex_);
        const auto entry = index_.find(last_now_, key);
        if (!entry || entry->stamp != stamp) return false;
        removed = index_.erase(key);
    }
    remove({*removed});
    return true;
}

std::vector<StoredInfo> DiskStore::list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const {
    std::vector<StoredInfo> infos;
    std::optional<kv::SegmentKey> last = after;
    while (infos.size() < limit) {
        const std::vector<StoreEntry> page = db_->page(last, limit - infos.size());
        if (page.empty()) break;
        last = page.back().key;
        const std::lock_guard lock(mutex_);
        for (const StoreEntry& entry : page) {
            const auto stands = index_.find(last_now_, entry.key);
            if (stands && stands->place == entry.place) infos.push_back(info_of(entry));
        }
    }
    return infos;
}

std::vector<kv::SegmentKey> DiskStore::next_to_go(WallTime now, std::size_t limit) const {
    const std::uint64_t lead_bytes = std::min(config_.capacity_bytes / 16, lead_bytes_max);
    const auto ttl_s = std::chrono::duration_cast<std::chrono::seconds>(config_.ttl).count();
    const std::uint32_t lead_s = std::min(to_seconds(static_cast<std::uint64_t>(ttl_s)) / 8, lead_s_max);
    std::vector<kv::SegmentKey> keys;
    const std::lock_guard lock(mutex_);
    for (const StoreEntry& entry : index_.next_to_go(now, lead_bytes, lead_s, limit)) keys.push_back(entry.key);
    return keys;
}

kv::SealedSegment DiskStore::peek(const kv::SegmentKey& key) {
    std::optional<StoreEntry> entry;
    {
        const std::lock_guard lock(mutex_);
        entry = index_.find(last_now_, key);
    }
    if (!entry) return nullptr;
    kv::SealedSegment segment = read(*entry);
    if (!segment) drop_bad(*entry);
    return segment;
}

void DiskStore::mark_persisted(const kv::SegmentKey& key) {
    const std::lock_guard lock(mutex_);
    index_.mark_persisted(key);
}

void DiskStore::set_quota(std::uint64_t tenant, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    index_.set_quota(tenant, bytes);
}

std::uint64_t DiskStore::tenant_bytes(std::uint64_t tenant) const {
    const std::lock_guard lock(mutex_);
    return index_.tenant_bytes(tenant);
}

void DiskStore::measure() {
    const std::uint64_t index_bytes = disk_bytes(config_.directory / "index");
    const std::uint64_t ours = index_bytes + volumes_->measure();
    std::uint64_t capacity = config_.capacity_bytes;
    struct statvfs file_system{};
    if (::statvfs(config_.directory.c_str(), &file_system) == 0) {
        const std::uint64_t reachable = ours + static_cast<std::uint64_t>(file_system.f_bavail) * file_system.f_frsize;
        capacity = std::min(capacity, reachable);
    }
    const std::lock_guard lock(mutex_);
    index_.set_capacity(capacity);
    index_.set_overhead(index_bytes + index_reserve + volumes_->overhead_bytes());
    if (capacity == config_.capacity_bytes) is_full_ = false;
}

void DiskStore::maintain(WallTime now) {
    measure();
    for (;;) {
        std::vector<StoreEntry> removed;
        {
            const std::lock_guard lock(mutex_);
            last_now_ = now;
            index_.make_room(now, entries_at_once, removed);
            const auto expired =
                std::ranges::count_if(removed, [&](const StoreEntry& entry) { return index_.expired(now, entry); });
            counted_.expired += static_cast<std::uint64_t>(expired);
            counted_.evicted += removed.size() - static_cast<std::uint64_t>(expired);
        }
        if (removed.empty()) break;
        remove(removed);
    }
    {
        const std::lock_guard records(records_mutex_);
        std::vector<StoreEntry> touched;
        {
            const std::lock_guard lock(mutex_);
            touched = index_.take_touched(entries_at_once);
        }
        if (!touched.empty()) db_->refresh(touched);
    }
    bool flush_now = false;
    {
        const std::lock_guard lock(mutex_);
        flush_now = now.unix_us - flushed_us_ >= flush_period_us || now.unix_us < flushed_us_;
        if (flush_now) flushed_us_ = now.unix_us;
    }
    if (flush_now && !db_->flush()) db_->resume();
}

void DiskStore::report_full(std::string_view what) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_full_, true)) return;
    }
    log_->warn("store", "the disk takes no more: segments are refused until there is room",
               {{"reason", std::string(what)}});
}

ScrubReport DiskStore::scrub(const std::optional<kv::SegmentKey>& after, std::size_t count) {
    ScrubReport report;
    const std::vector<StoreEntry> page = db_->page(after, count);
    for (const StoreEntry& named : page) {
        std::optional<StoreEntry> entry;
        {
            const std::lock_guard lock(mutex_);
            if (index_.stands(named.key, named.place)) entry = named;
        }
        if (!entry) continue;
        ++report.checked;
        report.bytes += entry->bytes;
        if (read(*entry)) continue;
        ++report.dropped;
        report.lost.push_back(entry->key);
        drop_bad(*entry);
    }
    if (page.size() == count) report.next = page.back().key;
    return report;
}

StoreStats DiskStore::stats() const {
    const std::lock_guard lock(mutex_);
    StoreStats stats = counted_;
    stats.entries = index_.size();
    stats.bytes = index_.sealed_bytes();
    stats.physical_bytes = index_.physical_bytes();
    stats.capacity_bytes = config_.capacity_bytes;
    stats.leases = index_.leases();
    stats.unpersisted = index_.evicted_unpersisted();
    return stats;
}

}  // namespace

Result<std::unique_ptr<SegmentStore>> SegmentStore::open(const StoreConfig& config, const kv::SegmentSealer& sealer,
                                                         WallTime now, Log& log) {
    if (config.capacity_bytes < capacity_min)
        return error(errc::store_config,
                     fmt::format("capacity_bytes {}: {} or more are needed", config.capacity_bytes, capacity_min));
    std::error_code failed;
    std::filesystem::create_directories(config.directory, failed);
    if (failed)
        return error(errc::store_unusable,
                     fmt::format("cannot make {}: {}", config.directory.string(), failed.message()));
    EXA_TRY(store::LockFile lock, store::LockFile::take(config.directory / "lock"));
    EXA_TRY(auto volumes,
            store::Volumes::open(config.directory / "volumes", volume_size(config.capacity_bytes), config.direct_io));
    EXA_TRY(auto db, store::IndexDb::open(config.directory / "index", config.durability, volumes->direct_io()));

    kv::StoreLimits limits;
    limits.capacity_bytes = config.capacity_bytes;
    limits.tenant_quota_bytes = config.tenant_quota_bytes;
    limits.ttl_s =
        to_seconds(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(config.ttl).count()));
    limits.lease = config.lease;
    limits.leases_per_tenant_max = config.leases_per_tenant_max;
    auto opened =
        std::make_unique<DiskStore>(config, limits, sealer, log, std::move(lock), std::move(db), std::move(volumes));
    opened->restore(now);
    return opened;
}

}  // namespace exa::io::store
