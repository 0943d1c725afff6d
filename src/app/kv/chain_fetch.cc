#include "app/kv/chain_fetch.h"

#include <deque>
#include <mutex>
#include <utility>

namespace exa::app::kv {

// A load that peers take part in.
struct KvChainFetch::Assembly {
    std::vector<exa::kv::SegmentKey> keys;
    std::vector<bool> held;  // on the disk
    KvSink sink;

    std::mutex mutex;
    std::deque<KvPeers::Arrival> arrivals;
    bool over = false;     // no more come from peers
    bool at_work = false;  // a thread runs assemble()
    bool ended = false;    // the sink hears no more
    std::size_t next = 0;  // of the thread at work

    struct Next {
        bool is_pending = false;         // it may come yet
        exa::kv::SealedSegment segment;  // null: it does not come
    };
    // What peers have brought for the next place; if that is pending, nobody is at work any more.
    Next take_next() {
        const std::lock_guard lock(mutex);
        if (arrivals.empty() && !over) {
            at_work = false;
            return {true, nullptr};
        }
        if (arrivals.empty() || arrivals.front().place != next) return {};
        Next taken{false, std::move(arrivals.front().segment)};
        arrivals.pop_front();
        return taken;
    }
    void end() {
        const std::lock_guard lock(mutex);
        ended = true;
    }
};

void KvChainFetch::load(std::vector<exa::kv::SegmentKey> keys, KvSink sink, const exa::kv::FetchTerms& terms) {
    ++counters_.loads;
    if (writer_.is_closed()) {
        sink(nullptr);
        return;
    }
    std::vector<exa::kv::SealedSegment> found = memory_.find_run(keys);
    counters_.hits_memory += found.size();
    for (exa::kv::SealedSegment& segment : found)
        if (!sink(std::move(segment))) return;
    if (found.size() == keys.size()) {
        sink(nullptr);
        return;
    }
    keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(found.size()));
    // Most prompts are new, and need no other thread to know it. What left the queue meanwhile is in memory.
    const bool may_be_here = writer_.is_queued(keys.front()) || memory_.contains(keys.front()) ||
                             (disk_ && disk_->has(wall_(), keys.front()));
    if (!may_be_here && peers_ == nullptr) {
        ++counters_.misses;
        sink(nullptr);
        return;
    }
    if (!workers_.post([this, keys = std::move(keys), sink, terms](const std::stop_token& stopping) {
            load_from_disk(keys, sink, terms, stopping);
        }))
        sink(nullptr);
}

void KvChainFetch::load_from_disk(std::vector<exa::kv::SegmentKey> keys, const KvSink& sink,
                                  const exa::kv::FetchTerms& terms, const std::stop_token& stopping) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        exa::kv::SealedSegment segment = stopping.stop_requested() ? nullptr : lookup_.find(keys[i], stopping);
        if (segment) {
            if (!sink(std::move(segment))) return;
            continue;
        }
        if (peers_ != nullptr && !stopping.stop_requested()) {
            keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i));
            load_with_peers(std::move(keys), sink, terms);
            return;
        }
        ++counters_.misses;
        break;
    }
    sink(nullptr);
}

void KvChainFetch::load_with_peers(std::vector<exa::kv::SegmentKey> keys, KvSink sink,
                                   const exa::kv::FetchTerms& terms) {
    const auto assembly = std::make_shared<Assembly>();
    for (const exa::kv::SegmentKey& key : keys) assembly->held.push_back(disk_ && disk_->has(wall_(), key));
    assembly->keys = std::move(keys);
    assembly->sink = std::move(sink);
    peers_->load(assembly->keys, assembly->held, terms,
                 [this, assembly](KvPeers::Arrival arrival) { return accept(assembly, std::move(arrival)); });
}

bool KvChainFetch::accept(const std::shared_ptr<Assembly>& assembly, KvPeers::Arrival arrival) {
    if (arrival.segment) {
        keep(arrival.segment);
        ++(arrival.is_cold ? counters_.hits_cold : counters_.hits_peers);
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
    if (workers_.post([this, assembly](const std::stop_token& stopping) { assemble(assembly, stopping); })) return true;
    assembly->end();
    assembly->sink(nullptr);
    return false;
}

void KvChainFetch::assemble(const std::shared_ptr<Assembly>& assembly, const std::stop_token& stopping) {
    for (; assembly->next < assembly->keys.size() && !stopping.stop_requested(); ++assembly->next) {
        exa::kv::SealedSegment segment;
        if (assembly->held[assembly->next]) {
            segment = lookup_.find(assembly->keys[assembly->next], stopping);
        } else {
            Assembly::Next next = assembly->take_next();
            if (next.is_pending) return;
            segment = std::move(next.segment);
        }
        if (!segment) {
            ++counters_.misses;
            break;
        }
        if (assembly->sink(std::move(segment))) continue;
        assembly->end();
        return;
    }
    assembly->end();
    assembly->sink(nullptr);
}

void KvChainFetch::keep(const exa::kv::SealedSegment& segment) {
    const auto head = exa::kv::parse_segment(segment->view());
    if (!head) return;
    // A value may be written over, and what is in memory is not looked for on the disk.
    if (head.value().kind == exa::kv::SegmentKind::segment) memory_.put(head.value().key, segment);
    writer_.keep(head.value(), segment);
}

}  // namespace exa::app::kv
