#include "app/kv/service.h"

#include <algorithm>
#include <utility>

#include "io/random.h"

namespace exa::app {

namespace {

// What the disk is asked to write at once.
constexpr std::size_t batch_max = 8;
constexpr std::chrono::seconds maintain_interval{1};

}  // namespace

KvService::KvService(const KvServiceConfig& config, const kv::SegmentSealer& sealer,
                     std::unique_ptr<io::SegmentStore> disk, WallClock wall, std::unique_ptr<io::ColdStore> cold)
    : config_(config),
      sealer_(sealer),
      disk_(std::move(disk)),
      wall_(std::move(wall)),
      cold_(std::move(cold)),
      memory_(config.memory_bytes),
      writer_([this](const std::stop_token& stopping) { write_behind(stopping); }) {
    for (std::uint32_t i = 0; i < config.loaders; ++i)
        loaders_.emplace_back([this](const std::stop_token& stopping) { run_loader(stopping); });
    if (cold_ && disk_) cold_->begin_writing(aging_);
}

KvService::~KvService() {
    stop();
}

void KvService::stop() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(stopped_, true)) return;
    }
    if (cold_) cold_->stop();
    for (std::jthread& loader : loaders_) loader.request_stop();
    for (std::jthread& loader : loaders_) loader.join();
    // Last: what loaders had from peers is stored too.
    writer_.request_stop();
    writer_.join();
}

void KvService::set_values(KvValues* values) {
    const std::unique_lock lock(values_mutex_);
    values_ = values;
}

bool KvService::has(const kv::SegmentKey& key) {
    {
        const std::lock_guard lock(mutex_);
        const bool in_memory = memory_.find(key) != nullptr;
        if (stopped_ || queued_.contains(key)) return true;
        if (!disk_) return in_memory;
    }
    // What is in memory only because the disk had no room is offered again: it may have now.
    return disk_->has(wall_(), key);
}

bool KvService::has_room(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (counts_.queued_bytes + bytes <= config_.queue_bytes_max) return true;
    ++counts_.dropped;
    return false;
}

void KvService::offer(const kv::SegmentHead& head, std::shared_ptr<kv::SegmentBuffer> buffer) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_ || !queued_.insert(head.key).second) return;
        ++counts_.finished;
        ++counts_.queued_segments;
        counts_.queued_bytes += buffer->size();
        queue_.push_back({head, std::move(buffer), nullptr});
    }
    queue_filled_.notify_one();
}

kv::SealedSegment KvService::find_in_memory(const kv::SegmentKey& key) {
    const std::lock_guard lock(mutex_);
    return memory_.find(key);
}

std::vector<kv::Item> KvService::look(std::span<const kv::SegmentKey> keys) {
    std::vector<kv::Item> items;
    if (disk_) items = disk_->lookup(wall_(), keys);
    for (std::size_t i = items.size(); i < keys.size(); ++i) items.push_back({keys[i]});
    {
        const std::lock_guard lock(mutex_);
        for (kv::Item& item : items) {
            if (item.bytes > 0) continue;
            if (const auto segment = memory_.find(item.key)) item.bytes = static_cast<std::uint32_t>(segment->size());
        }
    }
    const std::shared_lock lock(values_mutex_);
    if (values_ == nullptr) return items;
    for (kv::Item& item : items) {
        const auto value = values_->find(item.key);
        if (value && value->stamp > item.stamp) item = *value;
    }
    return items;
}

std::optional<kv::Item> KvService::find_stored(const kv::SegmentKey& key) const {
    const auto found = disk_ ? disk_->find(key) : std::nullopt;
    return found ? std::optional(kv::Item{found->key, found->stamp, found->bytes}) : std::nullopt;
}

std::vector<kv::Item> KvService::list_stored(const std::optional<kv::SegmentKey>& after, std::size_t limit) const {
    std::vector<kv::Item> items;
    if (!disk_) return items;
    for (const io::StoredInfo& found : disk_->list(after, limit))
        items.push_back({found.key, found.stamp, found.bytes});
    return items;
}

void KvService::load(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms) {
    std::vector<kv::SealedSegment> found;
    bool stopped = false;
    bool queued = false;
    {
        const std::lock_guard lock(mutex_);
        ++counts_.loads;
        stopped = stopped_;
        while (!stopped && found.size() < keys.size()) {
            auto segment = memory_.find(keys[found.size()]);
            if (!segment) break;
            found.push_back(std::move(segment));
        }
        counts_.hits_memory += found.size();
        for (std::size_t i = found.size(); i > 0; --i) memory_.find(keys[i - 1]);
        queued = found.size() < keys.size() && queued_.contains(keys[found.size()]);
    }
    for (kv::SealedSegment& segment : found)
        if (!sink(std::move(segment))) return;
    if (stopped || found.size() == keys.size()) {
        sink(nullptr);
        return;
    }
    keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(found.size()));
    // Most prompts are new, and need no other thread to know it.
    if (!queued && peers_ == nullptr && !(disk_ && disk_->has(wall_(), keys.front()))) {
        count_miss();
        sink(nullptr);
        return;
    }
    if (!add_work([this, keys = std::move(keys), sink, terms](const std::stop_token& stopping) {
            load_slowly(keys, sink, terms, stopping);
        }))
        sink(nullptr);
}

void KvService::fetch(const kv::SegmentKey& key, std::function<void(kv::SealedSegment)> done) {
    const auto work = [this, key, done](const std::stop_token& stopping) {
        kv::SealedSegment segment = find_value(key);
        const bool was_here = disk_ && disk_->find(key);
        if (!segment) segment = find(key, stopping);
        if (!segment && was_here && peers_ != nullptr) peers_->recover(key);
        if (segment || !cold_) return done(std::move(segment));
        cold_->read(key, [this, done](kv::SealedSegment read) {
            if (read) keep(read);
            done(std::move(read));
        });
    };
    if (!add_work(work)) done(nullptr);
}

bool KvService::add_work(Work work) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        work_.push_back(std::move(work));
    }
    work_filled_.notify_one();
    return true;
}

KvStats KvService::stats() const {
    KvStats stats;
    {
        const std::lock_guard lock(mutex_);
        stats = counts_;
        stats.memory_segments = memory_.count();
        stats.memory_bytes = memory_.bytes();
    }
    if (disk_) stats.disk = disk_->stats();
    if (cold_) stats.cold = cold_->stats();
    {
        const std::shared_lock lock(values_mutex_);
        if (values_ != nullptr) stats.values = values_->stats();
    }
    if (peers_ == nullptr) return stats;
    // After what waits here, which they are told of before it waits no more.
    stats.peers = peers_->status();
    stats.peers->await(stats.queued_segments + (stats.values ? stats.values->queued_values : 0));
    return stats;
}

void KvService::settle(const kv::Item& item) {
    {
        const std::shared_lock lock(values_mutex_);
        if (values_ != nullptr) values_->handle_settled(item);
    }
    if (disk_) post([this, item] { disk_->erase_version(item.key, item.stamp); });
}

void KvService::observe(std::uint64_t stamp) {
    const std::shared_lock lock(values_mutex_);
    if (values_ != nullptr) values_->observe(stamp);
}

bool KvService::post(std::function<void()> work) {
    return add_work([work = std::move(work)](const std::stop_token&) { work(); });
}

KvService::Place KvService::locate(const kv::SegmentKey& key) const {
    Place place;
    if (disk_) place.disk = disk_->find(key);
    {
        const std::lock_guard lock(mutex_);
        place.memory = memory_.contains(key);
    }
    const std::shared_lock lock(values_mutex_);
    place.memory = place.memory || (values_ != nullptr && values_->find(key));
    return place;
}

kv::SealedSegment KvService::get(const kv::SegmentKey& key) {
    if (auto value = find_value(key)) return value;
    return find(key, {});
}

// What is in memory of a value, unless the disk has a later version.
kv::SealedSegment KvService::find_value(const kv::SegmentKey& key) {
    const std::shared_lock lock(values_mutex_);
    kv::SealedSegment segment = values_ != nullptr ? values_->get(key) : nullptr;
    if (!segment || !disk_) return segment;
    const auto stored = disk_->find(key);
    const auto head = kv::parse_segment(segment->view());
    return stored && head && stored->stamp > head.value().stamp ? nullptr : segment;
}

io::PutOutcome KvService::put(const kv::SegmentHead& head, std::shared_ptr<kv::SegmentBuffer> buffer) {
    kv::SegmentHead fresh = head;
    fresh.nonce = io::random_nonce();
    sealer_.seal(fresh, *buffer);
    const kv::SealedSegment sealed = std::move(buffer);
    const io::PutOutcome outcome = disk_ ? disk_->put(wall_(), {&sealed, 1}).front() : io::PutOutcome::stored;
    if (outcome == io::PutOutcome::stored && head.kind == kv::SegmentKind::segment) {
        const std::lock_guard lock(mutex_);
        memory_.put(head.key, sealed);
    }
    return outcome;
}

io::PutOutcome KvService::take(const kv::SealedSegment& segment) {
    return disk_ ? disk_->put(wall_(), {&segment, 1}).front() : io::PutOutcome::refused_full;
}

bool KvService::erase(const kv::SegmentKey& key) {
    bool was_here = false;
    {
        const std::lock_guard lock(mutex_);
        was_here = memory_.erase(key);
    }
    const std::size_t erased = disk_ ? disk_->erase({&key, 1}) : 0;
    return was_here || erased > 0;
}

void KvService::write_behind(const std::stop_token& stopping) {
    const auto filled = [this] { return !queue_.empty(); };
    auto maintained = std::chrono::steady_clock::now();
    while (true) {
        std::vector<Finished> batch;
        {
            std::unique_lock lock(mutex_);
            if (disk_)
                queue_filled_.wait_for(lock, stopping, maintain_interval, filled);
            else
                queue_filled_.wait(lock, stopping, filled);
            if (queue_.empty() && stopping.stop_requested()) return;
            for (; !queue_.empty() && batch.size() < batch_max; queue_.pop_front())
                batch.push_back(std::move(queue_.front()));
        }
        if (!batch.empty()) store(std::move(batch));
        if (!disk_ || std::chrono::steady_clock::now() - maintained < maintain_interval) continue;
        disk_->maintain(wall_());
        maintained = std::chrono::steady_clock::now();
    }
}

// From then on it is in memory.
void KvService::seal(Finished& finished) {
    if (!finished.sealed) {
        finished.head.nonce = io::random_nonce();
        sealer_.seal(finished.head, *finished.buffer);
        finished.sealed = finished.buffer;
    }
    {
        const std::lock_guard lock(mutex_);
        memory_.put(finished.head.key, finished.sealed);
        queued_.erase(finished.head.key);
    }
    arrived_.notify_all();
}

// The disk may be slow with what is before it.
void KvService::seal_queued(const kv::SegmentKey& key) {
    std::optional<Finished> finished;
    {
        const std::lock_guard lock(mutex_);
        const auto at = std::ranges::find(queue_, key, [](const Finished& one) { return one.head.key; });
        if (at == queue_.end() || !queued_.contains(key)) return;
        finished = std::move(*at);
        queue_.erase(at);
    }
    seal(*finished);
    {
        const std::lock_guard lock(mutex_);
        queue_.push_front(std::move(*finished));
    }
    queue_filled_.notify_one();
}

void KvService::store(std::vector<Finished> batch) {
    std::uint64_t bytes = 0;
    std::vector<kv::SealedSegment> sealed;
    for (Finished& finished : batch) {
        seal(finished);
        bytes += finished.sealed->size();
        sealed.push_back(finished.sealed);
    }
    std::size_t refused = 0;
    if (disk_) {
        const auto outcomes = disk_->put(wall_(), sealed);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const bool kept = outcomes[i] == io::PutOutcome::stored || outcomes[i] == io::PutOutcome::present;
            refused += kept ? 0 : 1;
            if (kept && peers_ != nullptr && batch[i].buffer) peers_->handle_stored(batch[i].head, sealed[i]);
        }
    }
    const std::lock_guard lock(mutex_);
    counts_.queued_segments -= batch.size();
    counts_.queued_bytes -= bytes;
    counts_.refused += refused;
}

void KvService::run_loader(const std::stop_token& stopping) {
    while (true) {
        Work work;
        {
            std::unique_lock lock(mutex_);
            work_filled_.wait(lock, stopping, [this] { return !work_.empty(); });
            if (work_.empty()) return;
            work = std::move(work_.front());
            work_.pop_front();
        }
        work(stopping);
    }
}

void KvService::load_slowly(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms,
                            const std::stop_token& stopping) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        kv::SealedSegment segment = stopping.stop_requested() ? nullptr : find(keys[i], stopping);
        if (segment) {
            if (!sink(std::move(segment))) return;
            continue;
        }
        if (peers_ != nullptr && !stopping.stop_requested()) {
            keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i));
            load_with_peers(std::move(keys), std::move(sink), terms);
            return;
        }
        count_miss();
        break;
    }
    sink(nullptr);
}

void KvService::load_with_peers(std::vector<kv::SegmentKey> keys, KvSink sink, const kv::FetchTerms& terms) {
    const auto assembly = std::make_shared<Assembly>();
    for (const kv::SegmentKey& key : keys) assembly->held.push_back(disk_ && disk_->has(wall_(), key));
    assembly->keys = std::move(keys);
    assembly->sink = std::move(sink);
    peers_->load(assembly->keys, assembly->held, terms,
                 [this, assembly](KvPeers::Arrival arrival) { return take_from_peers(assembly, std::move(arrival)); });
}

bool KvService::take_from_peers(const std::shared_ptr<Assembly>& assembly, KvPeers::Arrival arrival) {
    if (arrival.segment) {
        keep(arrival.segment);
        const std::lock_guard lock(mutex_);
        ++(arrival.is_cold ? counts_.hits_cold : counts_.hits_peers);
    }
    {
        const std::lock_guard lock(assembly->mutex);
        if (assembly->ended) return false;
        if (arrival.segment)
            assembly->arrivals.push_back(std::move(arrival));
        else
            assembly->over = true;
        if (std::exchange(assembly->at_work, true)) return true;
    }
    if (add_work([this, assembly](const std::stop_token& stopping) { assemble(assembly, stopping); })) return true;
    {
        const std::lock_guard lock(assembly->mutex);
        assembly->ended = true;
    }
    assembly->sink(nullptr);
    return false;
}

void KvService::assemble(const std::shared_ptr<Assembly>& assembly, const std::stop_token& stopping) {
    for (; assembly->next < assembly->keys.size() && !stopping.stop_requested(); ++assembly->next) {
        kv::SealedSegment segment;
        if (assembly->held[assembly->next]) {
            segment = find(assembly->keys[assembly->next], stopping);
        } else {
            const std::lock_guard lock(assembly->mutex);
            if (assembly->arrivals.empty() && !assembly->over) {
                assembly->at_work = false;
                return;
            }
            if (!assembly->arrivals.empty() && assembly->arrivals.front().place == assembly->next) {
                segment = std::move(assembly->arrivals.front().segment);
                assembly->arrivals.pop_front();
            }
        }
        if (!segment) {
            count_miss();
            break;
        }
        if (assembly->sink(std::move(segment))) continue;
        const std::lock_guard lock(assembly->mutex);
        assembly->ended = true;
        return;
    }
    {
        const std::lock_guard lock(assembly->mutex);
        assembly->ended = true;
    }
    assembly->sink(nullptr);
}

// Under the lock. A value may be written over, and what is in memory is not looked for on the disk.
void KvService::remember(const kv::SegmentHead& head, const kv::SealedSegment& segment) {
    if (head.kind == kv::SegmentKind::segment) memory_.put(head.key, segment);
}

// What came from a peer or the cold tier is kept like what was made here, but for telling peers of it.
void KvService::keep(const kv::SealedSegment& segment) {
    const auto head = kv::parse_segment(segment->view());
    if (!head) return;
    {
        const std::lock_guard lock(mutex_);
        remember(head.value(), segment);
        const bool has_room = counts_.queued_bytes + segment->size() <= config_.queue_bytes_max;
        if (stopped_ || !disk_ || !has_room || !queued_.insert(head.value().key).second) return;
        ++counts_.queued_segments;
        counts_.queued_bytes += segment->size();
        queue_.push_back({head.value(), nullptr, segment});
    }
    queue_filled_.notify_one();
}

// It was on the disk, and is bad there.
io::ScrubReport KvService::scrub(const std::optional<kv::SegmentKey>& after, std::size_t count) {
    if (!disk_) return {};
    io::ScrubReport report = disk_->scrub(after, count);
    {
        const std::lock_guard lock(mutex_);
        counts_.scrubbed += report.checked;
        counts_.scrub_dropped += report.dropped;
        counts_.scrub_rounds += report.next ? 0 : 1;
    }
    if (peers_ != nullptr)
        for (const kv::SegmentKey& key : report.lost) peers_->recover(key);
    return report;
}

void KvService::count_miss() {
    const std::lock_guard lock(mutex_);
    ++counts_.misses;
}

kv::SealedSegment KvService::find(const kv::SegmentKey& key, const std::stop_token& stopping) {
    seal_queued(key);
    {
        std::unique_lock lock(mutex_);
        const auto at_rest = [&] { return !queued_.contains(key) && !reading_.contains(key); };
        if (!arrived_.wait(lock, stopping, at_rest)) return nullptr;
        if (auto segment = memory_.find(key)) {
            ++counts_.hits_memory;
            return segment;
        }
        if (!disk_) return nullptr;
        reading_.insert(key);
    }
    kv::SealedSegment segment = disk_->get(wall_(), key);
    {
        const std::lock_guard lock(mutex_);
        reading_.erase(key);
        if (segment) {
            ++counts_.hits_disk;
            if (const auto head = kv::parse_segment(segment->view())) remember(head.value(), segment);
        }
    }
    arrived_.notify_all();
    return segment;
}

}  // namespace exa::app
