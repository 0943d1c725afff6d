#include "app/kv/service.h"

#include <utility>

#include "io/random.h"

namespace exa::app::kv {

KvService::KvService(const KvServiceConfig& config, const exa::kv::SegmentSealer& sealer,
                     std::unique_ptr<io::store::SegmentStore> disk, WallClock wall,
                     std::unique_ptr<io::cold::ColdStore> cold)
    : sealer_(sealer),
      disk_(std::move(disk)),
      wall_(std::move(wall)),
      cold_(std::move(cold)),
      memory_(config.memory_bytes),
      writer_(config.queue_bytes_max, sealer, memory_, disk_.get(), wall_, counters_),
      workers_(config.loaders),
      lookup_(memory_, writer_, disk_.get(), values_, wall_, counters_),
      chains_(memory_, writer_, lookup_, disk_.get(), workers_, wall_, counters_) {
    if (cold_ && disk_) cold_->begin_writing(aging_);
}

KvService::~KvService() {
    stop();
}

void KvService::stop() {
    writer_.close();
    if (cold_) cold_->stop();
    workers_.stop();
    writer_.stop();
}

void KvService::set_peers(KvPeers& peers) {
    peers_ = &peers;
    writer_.set_peers(peers);
    chains_.set_peers(peers);
}

bool KvService::has(const exa::kv::SegmentKey& key) {
    // In this order: what leaves the queue is in memory.
    const bool is_queued = writer_.is_closed() || writer_.is_queued(key);
    const bool in_memory = memory_.find(key) != nullptr;
    if (is_queued) return true;
    // What is in memory only because the disk had no room is offered again: it may have now.
    return disk_ ? disk_->has(wall_(), key) : in_memory;
}

std::optional<exa::kv::Item> KvService::find_stored(const exa::kv::SegmentKey& key) const {
    const auto found = disk_ ? disk_->find(key) : std::nullopt;
    return found ? std::optional(exa::kv::Item{found->key, found->stamp, found->bytes}) : std::nullopt;
}

std::vector<exa::kv::Item> KvService::list_stored(const std::optional<exa::kv::SegmentKey>& after,
                                                  std::size_t limit) const {
    std::vector<exa::kv::Item> items;
    if (!disk_) return items;
    for (const io::store::StoredInfo& found : disk_->list(after, limit))
        items.push_back({found.key, found.stamp, found.bytes});
    return items;
}

void KvService::fetch(const exa::kv::SegmentKey& key, std::function<void(exa::kv::SealedSegment)> done) {
    const auto work = [this, key, done](const std::stop_token& stopping) {
        exa::kv::SealedSegment segment = lookup_.find_value(key);
        const bool was_here = disk_ && disk_->find(key);
        if (!segment) segment = lookup_.find(key, stopping);
        if (!segment && was_here && peers_ != nullptr) peers_->recover(key);
        if (segment || !cold_) return done(std::move(segment));
        cold_->read(key, [this, done](exa::kv::SealedSegment read) {
            if (read) chains_.keep(read);
            done(std::move(read));
        });
    };
    if (!workers_.post(work)) done(nullptr);
}

KvStats KvService::stats() const {
    KvStats stats;
    stats.finished = counters_.finished;
    stats.dropped = counters_.dropped;
    stats.refused = counters_.refused;
    stats.loads = counters_.loads;
    stats.hits_memory = counters_.hits_memory;
    stats.hits_disk = counters_.hits_disk;
    stats.hits_peers = counters_.hits_peers;
    stats.hits_cold = counters_.hits_cold;
    stats.misses = counters_.misses;
    stats.scrubbed = counters_.scrubbed;
    stats.scrub_dropped = counters_.scrub_dropped;
    stats.scrub_rounds = counters_.scrub_rounds;
    const KvMemory::Usage memory = memory_.usage();
    stats.memory_segments = memory.segments;
    stats.memory_bytes = memory.bytes;
    const KvWriteBehind::Usage queued = writer_.usage();
    stats.queued_segments = queued.segments;
    stats.queued_bytes = queued.bytes;
    if (disk_) stats.disk = disk_->stats();
    if (cold_) stats.cold = cold_->stats();
    values_.with([&](const KvValues& values) { stats.values = values.stats(); });
    if (peers_ == nullptr) return stats;
    // After what waits here, which they are told of before it waits no more.
    stats.peers = peers_->status();
    stats.peers->await(stats.queued_segments + (stats.values ? stats.values->queued_values : 0));
    return stats;
}

void KvService::drop_surplus(const exa::kv::Item& item) {
    values_.with([&](KvValues& values) { values.handle_acked(item); });
    if (disk_) post([this, item] { disk_->erase_version(item.key, item.stamp); });
}

void KvService::observe(std::uint64_t stamp) {
    values_.with([&](KvValues& values) { values.observe(stamp); });
}

bool KvService::post(std::function<void()> work) {
    return workers_.post([work = std::move(work)](const std::stop_token&) { work(); });
}

exa::kv::SealedSegment KvService::get(const exa::kv::SegmentKey& key) {
    if (auto value = lookup_.find_value(key)) return value;
    return lookup_.find(key, {});
}

io::store::PutOutcome KvService::put(const exa::kv::SegmentHead& head, std::shared_ptr<exa::kv::SegmentBuffer> buffer) {
    exa::kv::SegmentHead fresh = head;
    fresh.nonce = io::random_nonce();
    sealer_.seal(fresh, *buffer);
    const exa::kv::SealedSegment sealed = std::move(buffer);
    const io::store::PutOutcome outcome =
        disk_ ? disk_->put(wall_(), {&sealed, 1}).front() : io::store::PutOutcome::stored;
    if (outcome == io::store::PutOutcome::stored && head.kind == exa::kv::SegmentKind::segment)
        memory_.put(head.key, sealed);
    return outcome;
}

io::store::PutOutcome KvService::take(const exa::kv::SealedSegment& segment) {
    return disk_ ? disk_->put(wall_(), {&segment, 1}).front() : io::store::PutOutcome::refused_full;
}

bool KvService::erase(const exa::kv::SegmentKey& key) {
    const bool was_in_memory = memory_.erase(key);
    const std::size_t erased = disk_ ? disk_->erase({&key, 1}) : 0;
    return was_in_memory || erased > 0;
}

io::store::ScrubReport KvService::scrub(const std::optional<exa::kv::SegmentKey>& after, std::size_t count) {
    if (!disk_) return {};
    io::store::ScrubReport report = disk_->scrub(after, count);
    counters_.scrubbed += report.checked;
    counters_.scrub_dropped += report.dropped;
    counters_.scrub_rounds += report.next ? 0 : 1;
    if (peers_ != nullptr)
        for (const exa::kv::SegmentKey& key : report.lost) peers_->recover(key);
    return report;
}

}  // namespace exa::app::kv
