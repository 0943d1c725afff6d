#include "sim/world/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace exa::sim {

namespace {

constexpr std::size_t arity = 4;

}  // namespace

const char* to_string(EventKind kind) {
    switch (kind) {
        case EventKind::told:
            return "told";
        case EventKind::datagram:
            return "datagram";
        case EventKind::sync:
            return "sync";
        case EventKind::link_broken:
            return "link_broken";
        case EventKind::link_silent:
            return "link_silent";
        case EventKind::timer:
            return "timer";
        case EventKind::work:
            return "work";
        case EventKind::boot:
            return "boot";
        case EventKind::serve:
            return "serve";
        case EventKind::replica_ready:
            return "replica_ready";
        case EventKind::measure:
            return "measure";
        case EventKind::lookup:
            return "lookup";
        case EventKind::fault:
            return "fault";
        case EventKind::heal:
            return "heal";
        case EventKind::arrival:
            return "arrival";
        case EventKind::client:
            return "client";
        case EventKind::step:
            return "step";
        case EventKind::receiver:
            return "receiver";
        case EventKind::kv:
            return "kv";
        case EventKind::values:
            return "values";
        case EventKind::sweep:
            return "sweep";
    }
    return "?";
}

void EventQueue::push(const Event& event) {
    if (free_.empty()) {
        EXA_CHECK(events_.size() >> place_bits == 0);
        free_.push_back(static_cast<std::uint32_t>(events_.size()));
        events_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    events_[place] = event;
    const Key key{event.at, pushed_++ << place_bits | place};
    std::size_t at = heap_.size();
    heap_.push_back(key);
    while (at > 0) {
        const std::size_t parent = (at - 1) / arity;
        if (!(key < heap_[parent])) break;
        heap_[at] = heap_[parent];
        at = parent;
    }
    heap_[at] = key;
}

Event EventQueue::pop() {
    EXA_CHECK(!heap_.empty());
    const std::size_t place = heap_.front().place();
    free_.push_back(static_cast<std::uint32_t>(place));
    const Key last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return events_[place];
    std::size_t at = 0;
    while (true) {
        const std::size_t child = at * arity + 1;
        if (child >= heap_.size()) break;
        std::size_t least = child;
        const std::size_t end = std::min(child + arity, heap_.size());
        for (std::size_t i = child + 1; i < end; ++i)
            if (heap_[i] < heap_[least]) least = i;
        if (!(heap_[least] < last)) break;
        heap_[at] = heap_[least];
        at = least;
    }
    heap_[at] = last;
    return events_[place];
}

}  // namespace exa::sim
