#include "app/gateway/receiver.h"

#include <optional>
#include <utility>

#include "gateway/receiver.h"

namespace exa::app::gateway {

namespace {

std::optional<wire::EndCode> check(const wire::Open& open, const replica::LocalReplica* replica) {
    if (replica == nullptr) return exa::gateway::check(open, nullptr, {});
    return exa::gateway::check(open, &replica->record, replica->state.load());
}

}  // namespace

std::shared_ptr<replica::ReplyReader> Receiver::open(const wire::Open& open) {
    ++context_.stats->requests;
    const std::shared_ptr<replica::LocalReplica> replica = replicas_->find(open.replica);
    if (const auto code = check(open, replica.get())) {
        ++context_.stats->refused_other;
        return replica::reply_of({wire::End{*code}});
    }
    return replica->backend->open(open, context_);
}

std::optional<ReplicaId> Receiver::find_ready(std::string_view model, std::string_view tenant) const {
    wire::Open open;
    open.model = model;
    open.tenant = tenant;
    const auto list = replicas_->all();
    for (const auto& replica : *list)
        if (replica->state.load() == wire::ReplicaState::ready && !check(open, replica.get()))
            return replica->record.id;
    return std::nullopt;
}

std::shared_ptr<replica::ReplyReader> Receiver::answer_kv(const wire::Open& open, io::link::InboundStream& stream) {
    if (kv_ == nullptr) return replica::reply_of({wire::End{wire::EndCode::not_supported}});
    stream.set_background_priority();  // KV has links of its own
    return kv_->answer(open, stream.peer(), context_.executor);
}

void Receiver::serve(wire::Open open, std::shared_ptr<io::link::InboundStream> stream) {
    const bool is_kv = open.kind == wire::RequestKind::kv;
    std::shared_ptr<replica::ReplyReader> reply = is_kv ? answer_kv(open, *stream) : this->open(open);
    const auto writer = std::make_shared<ReplyWriter>(std::move(stream), std::move(reply), ready_,
                                                      is_kv ? kv_answers_now_ : replicas_->serving_now());
    writers_.insert(writer);
    writer->start([this](const std::shared_ptr<ReplyWriter>& ended) { writers_.erase(ended); });
}

}  // namespace exa::app::gateway
