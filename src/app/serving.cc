#include "app/serving.h"

#include <atomic>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace exa::app {

namespace {

namespace asio = boost::asio;

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

// Counts a coroutine for as long as it runs.
class ServingCount {
  public:
    explicit ServingCount(std::atomic<std::uint32_t>& now) : now_(now) { now_.fetch_add(1); }
    ServingCount(const ServingCount&) = delete;
    ServingCount& operator=(const ServingCount&) = delete;
    ~ServingCount() { now_.fetch_sub(1); }

  private:
    std::atomic<std::uint32_t>& now_;
};

asio::awaitable<Result<void>> write(io::LinkStream& stream, ReplyPart part) {
    if (auto* data = std::get_if<wire::Data>(&part)) co_return co_await stream.write_data(std::move(*data));
    if (auto* head = std::get_if<wire::Head>(&part)) co_return co_await stream.write_head(std::move(*head));
    co_return co_await stream.write_end(std::get<wire::End>(std::move(part)));
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

asio::awaitable<void> Serving::serve(wire::Open open, std::shared_ptr<io::LinkStream> stream) {
    const ServingCount count(replicas_->serving_now());
    const std::shared_ptr<ReplyReader> reader = this->open(std::move(open));
    stream->on_cancel([weak = std::weak_ptr(reader)] {
        if (const auto alive = weak.lock()) alive->cancel();
    });
    PulledReply reply(context_.executor, reader);
    while (true) {
        auto part = reply.poll();
        if (!part) part = co_await reply.read();
        if (!*part) {
            std::ignore = co_await stream->write_end({wire::EndCode::failed, part->error().message()});
            co_return;
        }
        const bool is_end = std::holds_alternative<wire::End>(part->value());
        if (!co_await write(*stream, std::move(part->value())) || is_end) co_return;
    }
}

}  // namespace exa::app
