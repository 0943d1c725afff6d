#include "app/door/serving.h"

#include <optional>
#include <utility>

namespace exa::app {

namespace {

// Why this peer cannot take the request at all; the entry then looks elsewhere.
std::optional<wire::EndCode> refusal(const wire::Open& open, const LocalReplica* replica) {
    if (replica == nullptr) return wire::EndCode::not_found;
    const wire::ReplicaRecord& record = replica->record;
    if (record.model != open.model || (!open.version.empty() && record.version != open.version) ||
        (!record.tenant_pool.empty() && record.tenant_pool != open.tenant))
        return wire::EndCode::wrong_version;
    switch (replica->state.load()) {
        case wire::ReplicaState::ready:
        case wire::ReplicaState::degraded:
        case wire::ReplicaState::warming:  // only this peer's own warm-up knows of it
            return std::nullopt;
        case wire::ReplicaState::draining:
        case wire::ReplicaState::stopped:
            return wire::EndCode::draining;
        case wire::ReplicaState::created:
        case wire::ReplicaState::loading:
        case wire::ReplicaState::failed:
            return wire::EndCode::not_found;
    }
    return wire::EndCode::not_found;
}

}  // namespace

std::shared_ptr<ReplyReader> Serving::open(const wire::Open& open) {
    ++context_.stats->requests;
    const std::shared_ptr<LocalReplica> replica = replicas_->find(open.replica);
    if (const auto code = refusal(open, replica.get())) {
        ++context_.stats->refused_other;
        return reply_of({wire::End{*code}});
    }
    return replica->backend->open(open, context_);
}

std::optional<ReplicaId> Serving::find_ready(std::string_view model, std::string_view tenant) const {
    wire::Open open;
    open.model = model;
    open.tenant = tenant;
    const auto list = replicas_->all();
    for (const auto& replica : *list)
        if (replica->state.load() == wire::ReplicaState::ready && !refusal(open, replica.get()))
            return replica->record.id;
    return std::nullopt;
}

std::shared_ptr<ReplyReader> Serving::answer_kv(const wire::Open& open, io::LinkStream& stream) {
    if (kv_ == nullptr) return reply_of({wire::End{wire::EndCode::not_supported}});
    stream.give_way();  // KV has links of its own
    return kv_->answer(open, stream.peer(), context_.executor);
}

void Serving::serve(wire::Open open, std::shared_ptr<io::LinkStream> stream) {
    const bool is_kv = open.kind == wire::RequestKind::kv;
    std::shared_ptr<ReplyReader> reply = is_kv ? answer_kv(open, *stream) : this->open(open);
    const auto delivery = std::make_shared<Delivery>(std::move(stream), std::move(reply), turn_,
                                                     is_kv ? kv_answers_now_ : replicas_->serving_now());
    deliveries_.insert(delivery);
    delivery->start([this](const std::shared_ptr<Delivery>& ended) { deliveries_.erase(ended); });
}

}  // namespace exa::app
