#include "io/cold/cold_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "kv/cold_gc.h"

namespace exa::io::cold {

namespace {

// Segments that are asked for at once of what ages.
constexpr std::size_t batch_max = 8;
constexpr std::uint64_t unbounded = 1ull << 62;

kv::ColdGcConfig gc_config(const ColdConfig& config) {
    kv::ColdGcConfig gc;
    gc.capacity_bytes = config.capacity_bytes == 0 ? unbounded : config.capacity_bytes;
    return gc;
}

}  // namespace

// Shared with every thread, which may hang in `files` and outlive the store: what does not belong to the state is
// touched only under `life`, before `ended`. Many members, by the thread or lock that guards them.
struct ColdStore::State {
    State(const ColdConfig& given, PeerId self, std::unique_ptr<ColdFiles> at, const kv::SegmentSealer& with,
          ColdClock times, Log& to)
        : config(given),
          files(std::move(at)),
          clock(std::move(times)),
          gc(self, gc_config(given)),
          sealer(with),
          log(to),
          cost(given.readers) {}

    struct Lookup {
        std::vector<kv::SegmentKey> keys;
        kv::FetchTerms terms;
        Sizes done;
    };
    struct Read {
        std::vector<Done> waiting;
        bool is_running = false;
    };

    // A call to the file system by one thread; how long it takes is watched from outside.
    template <class Work>
    ColdResult call(Work work) {
        std::multiset<TimePoint>::iterator began;
        {
            const std::lock_guard lock(mutex);
            began = running.insert(clock.now());
        }
        const ColdResult result = work();
        bool changed = false;
        {
            const std::lock_guard lock(mutex);
            running.erase(began);
            const TimePoint now = clock.now();
            const bool was_open = breaker.is_open();
            if (result.outcome == ColdOutcome::failed) {
                ++stats.errors;
                stats.trouble = std::generic_category().message(result.code);
                breaker.fail(now, config.breaker);
            } else {
                if (result.outcome == ColdOutcome::full) {
                    changed = !std::exchange(full_until, now + config.full_wait);
                    stats.trouble = std::generic_category().message(result.code);
                }
                breaker.succeed();
            }
            changed = changed || breaker.is_open() != was_open;
        }
        if (changed) tell();
        return result;
    }

    // Says in the log what has changed.
    void tell() {
        const std::shared_lock alive(life);
        if (ended) return;
        const std::lock_guard lock(mutex);
        const bool is_off = breaker.is_open() || is_stalled();
        if (std::exchange(told.off, is_off) != is_off) {
            if (is_off)
                log.warn("cold", "the shared directory fails: it is closed off until it answers",
                         {{"reason", stats.trouble}});
            else
                log.info("cold", "the shared directory answers again");
        }
        if (std::exchange(told.full, full_until.has_value()) || !full_until) return;
        log.warn("cold", "the shared directory takes no more: nothing is written there for a while",
                 {{"reason", stats.trouble}});
    }

    // With `mutex` held.
    bool is_stalled() const { return !running.empty() && clock.now() - *running.begin() > config.stall; }

    // With `mutex` held. Whether the file system may be asked now.
    bool allows() {
        if (is_stopping) return false;
        if (is_stalled()) {
            stats.trouble = "a call does not return";
            return false;
        }
        const TimePoint now = clock.now();
        if (!breaker.allows(now)) return false;
        // Whoever asks need not call in the end.
        breaker.start(now + breaker.open_for());
        return true;
    }

    // Whoever waits behind a call that hangs.
    void give_up_waiting() {
        std::vector<Done> reads_given_up;
        std::vector<std::pair<Sizes, std::size_t>> looks_given_up;
        {
            const std::lock_guard lock(mutex);
            if (!is_stalled()) return;
            for (Lookup& look : lookups) looks_given_up.emplace_back(std::move(look.done), look.keys.size());
            lookups.clear();
            queue.clear();
            for (auto at = reads.begin(); at != reads.end();) {
                std::ranges::move(at->second.waiting, std::back_inserter(reads_given_up));
                at->second.waiting.clear();
                at = at->second.is_running ? std::next(at) : reads.erase(at);
            }
        }
        for (const Done& done : reads_given_up) done(nullptr);
        for (const auto& [done, count] : looks_given_up) done(std::vector<std::uint32_t>(count));
        tell();
    }

    bool run_reader() {
        kv::SegmentKey key;
        {
            std::unique_lock lock(mutex);
            signals.queue_filled.wait(lock, [this] { return is_stopping || !queue.empty(); });
            if (is_stopping) return false;
            key = queue.front();
            queue.pop_front();
            reads[key].is_running = true;
        }
        std::shared_ptr<kv::SegmentBuffer> segment;
        const TimePoint began = clock.now();
        ColdResult result = call([&] { return files->read(key, segment); });
        if (!finish_read(key, result, std::move(segment), clock.now() - began)) return false;
        if (result.outcome == ColdOutcome::bad) call([&] { return files->remove(key); });
        return true;
    }

    // False when the store has ended meanwhile.
    bool finish_read(const kv::SegmentKey& key, ColdResult& result, kv::SealedSegment segment, Duration took) {
        const std::shared_lock alive(life);
        if (ended) return false;
        if (result.outcome == ColdOutcome::ok) {
            const auto head = sealer.verify(key, segment->view());
            if (!head || head.value().kind != kv::SegmentKind::segment) result.outcome = ColdOutcome::bad;
        }
        if (result.outcome != ColdOutcome::ok) segment = nullptr;
        std::vector<Done> waiting;
        {
            const std::lock_guard lock(mutex);
            stats.missing += result.outcome == ColdOutcome::missing ? 1 : 0;
            stats.corrupt += result.outcome == ColdOutcome::bad ? 1 : 0;
            if (segment) {
                ++stats.reads;
                stats.read_bytes += segment->size();
                cost.handle_read(segment->size(), took);
            }
            waiting = std::move(reads.extract(key).mapped().waiting);
        }
        if (result.outcome == ColdOutcome::bad)
            log.warn("cold", "a file did not verify and is removed", {{"file", kv::to_string(key).substr(0, 16)}});
        for (const Done& done : waiting) done(segment);
        return true;
    }

    bool run_looker() {
        Lookup look;
        {
            std::unique_lock lock(mutex);
            signals.lookups_filled.wait(lock, [this] { return is_stopping || !lookups.empty(); });
            if (is_stopping) return false;
            look = std::move(lookups.front());
            lookups.pop_front();
        }
        std::vector<std::uint32_t> sizes(look.keys.size());
        std::size_t found = 0;
        for (; found < sizes.size(); ++found) {
            std::uint64_t bytes = 0;
            if (call([&] { return files->size(look.keys[found], bytes); }).outcome != ColdOutcome::ok) break;
            sizes[found] = static_cast<std::uint32_t>(bytes);
        }
        const std::shared_lock alive(life);
        if (ended) return false;
        {
            const std::lock_guard lock(mutex);
            const std::uint64_t before = queue.size() * sizes.front();
            const std::size_t worth = cost.worth(clock.now(), look.terms, found, sizes.front(), before);
            std::ranges::fill(std::span(sizes).subspan(worth), 0u);
            stats.lookups += look.keys.size();
            stats.found += found;
            stats.declined += found - worth;
        }
        look.done(std::move(sizes));
        return true;
    }

    bool run_writer() {
        {
            std::unique_lock lock(mutex);
            if (writer_pauses) signals.stop_called.wait_for(lock, config.write_pause, [this] { return is_stopping; });
            if (is_stopping) return false;
            writer_pauses = true;
            if (full_until && clock.now() < *full_until) return true;
        }
        std::vector<kv::SegmentKey> keys;
        with_source([&](AgingSegments& source) { keys = source.next_to_go(batch_max); });
        for (const kv::SegmentKey& key : keys) {
            {
                const std::lock_guard lock(mutex);
                if (!allows()) return !is_stopping;
            }
            kv::SealedSegment segment;
            with_source([&](AgingSegments& source) { segment = source.peek(key); });
            ColdResult result;
            if (segment) result = call([&] { return files->publish(key, segment->view(), config.durably); });
            if (result.outcome == ColdOutcome::full || result.outcome == ColdOutcome::failed) return true;
            with_source([&](AgingSegments& source) { source.mark_persisted(key); });
            if (!segment) continue;
            const std::lock_guard lock(mutex);
            full_until.reset();
            if (result.outcome == ColdOutcome::present) {
                ++stats.present;
                continue;
            }
            ++stats.written;
            stats.written_bytes += segment->size();
            written_since += segment->size();
        }
        writer_pauses = keys.size() < batch_max;
        return true;
    }

    template <class Work>
    void with_source(Work work) {
        const std::lock_guard lock(source_mutex);
        if (source != nullptr) work(*source);
    }

    // Said at the start, and not only when something ages weeks later.
    void check() {
        const ColdResult result = call([this] { return files->check(); });
        const std::shared_lock alive(life);
        if (ended || result.outcome == ColdOutcome::ok) return;
        log.warn("cold", "the shared directory cannot be used: nothing is written or found there until it can",
                 {{"reason", std::generic_category().message(result.code)}});
    }

    bool run_gc() {
        if (!std::exchange(is_checked, true)) check();
        std::optional<std::vector<PeerId>> peers;
        {
            std::unique_lock lock(mutex);
            const auto due = [&] { return is_stopping || new_peers.has_value(); };
            if (gc.next_timeout() == time_never)
                signals.gc_due.wait(lock, due);
            else
                signals.gc_due.wait_for(lock, gc.next_timeout() - clock.now(), due);
            if (is_stopping) return false;
            peers = std::exchange(new_peers, std::nullopt);
            gc.handle_written(std::exchange(written_since, 0));
        }
        if (peers) gc.handle_peers(clock.now(), *peers);
        if (const auto folder = gc.next(clock.now())) look_after(*folder);
        const std::lock_guard lock(mutex);
        stats.files = gc.files();
        stats.bytes = gc.bytes();
        stats.share_bytes = config.capacity_bytes == 0 ? 0 : gc.share_bytes();
        return true;
    }

    void look_after(std::uint32_t folder) {
        {
            const std::lock_guard lock(mutex);
            if (!allows()) return;
        }
        std::vector<kv::ColdFile> listed;
        const ColdResult result = call([&] { return files->list(folder, listed); });
        if (result.outcome != ColdOutcome::ok && result.outcome != ColdOutcome::missing) return;
        for (const std::string& name : gc.handle_listing(clock.wall(), folder, std::move(listed))) {
            if (call([&] { return files->remove(folder, name); }).outcome == ColdOutcome::failed) return;
            const std::lock_guard lock(mutex);
            ++stats.evicted;
            if (is_stopping) return;
        }
    }

    const ColdConfig config;
    const std::unique_ptr<ColdFiles> files;
    const ColdClock clock;
    kv::ColdGc gc;              // of its thread
    bool is_checked = false;    // of that thread, too
    bool writer_pauses = true;  // of the writer

    std::shared_mutex life;  // of the store
    bool ended = false;
    const kv::SegmentSealer& sealer;
    Log& log;
    std::mutex source_mutex;
    AgingSegments* source = nullptr;

    mutable std::mutex mutex;  // all below
    bool is_stopping = false;
    std::size_t threads = 0;  // that have not ended
    // Signals between the threads.
    struct {
        std::condition_variable thread_ended;
        std::condition_variable stop_called;
        std::condition_variable queue_filled;
        std::condition_variable lookups_filled;
        std::condition_variable gc_due;
    } signals;
    std::deque<kv::SegmentKey> queue;  // to be read; each has an entry in `reads`
    std::map<kv::SegmentKey, Read> reads;
    std::deque<Lookup> lookups;
    std::multiset<TimePoint> running;  // when each call under way began
    Breaker breaker;
    kv::FetchCost cost;
    std::optional<std::vector<PeerId>> new_peers;
    std::optional<TimePoint> full_until;
    std::uint64_t written_since = 0;  // that `gc` has not heard of
    struct {
        bool off = false;
        bool full = false;
    } told;  // what the log says
    ColdStats stats;
};

ColdStore::ColdStore(const ColdConfig& config, PeerId self, std::unique_ptr<ColdFiles> files,
                     const kv::SegmentSealer& sealer, ColdClock clock, Log& log)
    : state_(std::make_shared<State>(config, self, std::move(files), sealer, std::move(clock), log)) {
    const auto start = [this](bool (State::*run)()) {
        ++state_->threads;
        threads_.emplace_back([state = state_, run] {
            while ((state.get()->*run)()) {
            }
            const std::lock_guard lock(state->mutex);
            --state->threads;
            state->signals.thread_ended.notify_all();
        });
    };
    const std::lock_guard lock(state_->mutex);
    for (std::uint32_t i = 0; i < config.readers; ++i) start(&State::run_reader);
    start(&State::run_looker);
    start(&State::run_writer);
    start(&State::run_gc);
}

ColdStore::~ColdStore() {
    stop();
}

void ColdStore::stop() {
    bool all_ended = false;
    {
        std::unique_lock lock(state_->mutex);
        if (std::exchange(state_->is_stopping, true)) return;
        for (std::condition_variable* one : {&state_->signals.stop_called, &state_->signals.queue_filled,
                                             &state_->signals.lookups_filled, &state_->signals.gc_due})
            one->notify_all();
        all_ended = state_->signals.thread_ended.wait_for(lock, state_->config.stop_timeout,
                                                          [this] { return state_->threads == 0; });
    }
    {
        const std::unique_lock life(state_->life);
        state_->ended = true;
    }
    {
        const std::lock_guard lock(state_->source_mutex);
        state_->source = nullptr;
    }
    for (std::thread& thread : threads_) {
        if (all_ended)
            thread.join();
        else
            thread.detach();
    }
}

void ColdStore::begin_writing(AgingSegments& from) {
    const std::lock_guard lock(state_->source_mutex);
    state_->source = &from;
}

void ColdStore::set_peers(std::vector<PeerId> peers) {
    const std::lock_guard lock(state_->mutex);
    state_->new_peers = std::move(peers);
    state_->signals.gc_due.notify_all();
}

void ColdStore::look(std::vector<kv::SegmentKey> keys, const kv::FetchTerms& terms, Sizes done) {
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->lookups.size() < state_->config.waiting_max && state_->allows()) {
            state_->lookups.push_back({std::move(keys), terms, std::move(done)});
            state_->signals.lookups_filled.notify_one();
            return;
        }
        state_->stats.refused += keys.size();
    }
    done(std::vector<std::uint32_t>(keys.size()));
    state_->give_up_waiting();
}

void ColdStore::read(const kv::SegmentKey& key, Done done) {
    {
        const std::lock_guard lock(state_->mutex);
        const auto under_way = state_->reads.find(key);
        if (under_way != state_->reads.end() && !state_->is_stalled()) {
            under_way->second.waiting.push_back(std::move(done));
            return;
        }
        if (state_->queue.size() < state_->config.waiting_max && state_->allows()) {
            state_->reads[key].waiting.push_back(std::move(done));
            state_->queue.push_back(key);
            state_->signals.queue_filled.notify_one();
            return;
        }
        ++state_->stats.refused;
    }
    done(nullptr);
    state_->give_up_waiting();
}

ColdStats ColdStore::stats() const {
    const std::lock_guard lock(state_->mutex);
    ColdStats stats = state_->stats;
    stats.is_closed_off = state_->breaker.is_open() || state_->is_stalled();
    stats.is_full = state_->full_until.has_value();
    stats.bytes_per_s = static_cast<std::uint64_t>(state_->cost.bytes_per_second().value_or(0));
    return stats;
}

}  // namespace exa::io::cold
