#include "app/builtin/kv_restore.h"

#include <algorithm>
#include <vector>

namespace exa::app::builtin {

KvRestore::KvRestore(ReplicaId replica, engine::KvPort& port, std::shared_ptr<kv::KvService> service,
                     std::function<void()> wake)
    : replica_(replica), port_(port), service_(std::move(service)) {
    inbox_->wake = std::move(wake);
}

bool KvRestore::Inbox::push(engine::RestoreId id, exa::kv::SealedSegment segment) {
    const std::lock_guard lock(mutex);
    if (!wake || !waits.contains(id)) return false;
    const bool more = segment != nullptr;
    arrivals.emplace_back(id, std::move(segment));
    wake();
    return more;
}

bool KvRestore::Inbox::take(std::pair<engine::RestoreId, exa::kv::SealedSegment>& arrival) {
    const std::lock_guard lock(mutex);
    if (arrivals.empty()) return false;
    arrival = std::move(arrivals.front());
    arrivals.pop_front();
    return true;
}

void KvRestore::before_step(TimePoint now) {
    while (auto want = port_.poll_want(now)) {
        {
            const std::lock_guard lock(inbox_->mutex);
            inbox_->waits.insert(want->id);
        }
        service_->load(std::move(want->keys),
                       [inbox = inbox_, id = want->id](exa::kv::SealedSegment segment) {
                           return inbox->push(id, std::move(segment));
                       },
                       {.deadline = want->deadline, .compute = want->compute});
    }
    std::pair<engine::RestoreId, exa::kv::SealedSegment> arrival;
    for (int gives = 0; gives < deliveries_max && inbox_->take(arrival); ++gives) {
        const auto& [id, segment] = arrival;
        if (segment && is_segment(*segment) && port_.give(now, id, exa::kv::payload_of(segment->view()))) continue;
        port_.end_restore(now, id);
        const std::lock_guard lock(inbox_->mutex);
        inbox_->waits.erase(id);
    }
    const std::lock_guard lock(inbox_->mutex);
    if (!inbox_->arrivals.empty()) inbox_->wake();
}

// The Redis port's values live under other keys, but whoever holds the root secret could write one under any.
bool KvRestore::is_segment(const exa::kv::SegmentBuffer& sealed) const {
    const auto head = exa::kv::parse_segment(sealed.view());
    return head && head.value().kind == exa::kv::SegmentKind::segment && head.value().tokens == port_.segment_tokens();
}

void KvRestore::after_step(Duration took) {
    port_.note_step(took);
    const std::size_t size = exa::kv::segment_header_size + port_.segment_bytes();
    std::vector<engine::FinishedSegment> lacking;
    while (auto finished = port_.poll_finished()) {
        if (finished->session != 0)
            service_->sessions().note(replica_, finished->session, finished->key, finished->parent);
        lacking.push_back(std::move(*finished));
    }
    std::ranges::reverse(lacking);
    std::erase_if(lacking, [this](const auto& finished) { return service_->has(finished.key); });
    std::ranges::reverse(lacking);
    for (const engine::FinishedSegment& finished : lacking) {
        if (!service_->has_room(size)) continue;
        auto buffer = std::make_shared<exa::kv::SegmentBuffer>(size);
        port_.copy_out(finished, buffer->bytes().subspan(exa::kv::segment_header_size));
        exa::kv::SegmentHead head;
        head.key = finished.key;
        head.parent = finished.parent;
        head.tenant = finished.tenant;
        head.tokens = port_.segment_tokens();
        service_->offer(head, std::move(buffer));
    }
}

void KvRestore::close() {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->wake = nullptr;
    inbox_->waits.clear();
    inbox_->arrivals.clear();
}

}  // namespace exa::app::builtin
