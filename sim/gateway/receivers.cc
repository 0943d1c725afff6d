#include "sim/gateway/receivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/errc.h"
#include "gateway/receiver.h"
#include "sim/gateway/steps.h"

namespace exa::sim {

namespace {

constexpr std::size_t head_bytes = 200;
constexpr std::size_t token_bytes = 220;  // of an SSE event

}  // namespace

Receivers::Receivers(Cluster& cluster, Oracles& oracles, const ReceiverShape& shape, Mutant mutant)
    : cluster_(cluster), oracles_(oracles), shape_(shape), mutant_(mutant) {
    cluster.handle_with(EventKind::receiver, [this](const Event& event) { handle(event); });
    cluster.on_replicas_stopped([this](Host host) { stop(host); });
}

void Receivers::plan(WorldTime at, Step step, std::uint32_t index) {
    const Work& work = works_[index];
    const StepArg arg{index, work.serial, static_cast<std::uint8_t>(step)};
    cluster_.push(at, EventKind::receiver, work.host, arg.packed(), work.boot);
}

void Receivers::handle(const Event& event) {
    const StepArg arg = StepArg::unpack(event.arg);
    const Work& work = works_[arg.index];
    if (!work.live || !arg.is_of(work.serial)) return;
    switch (static_cast<Step>(arg.step)) {
        case Step::produce:
            return produce(arg.index);
        case Step::cancel:
            return release(arg.index);
        case Step::expire:
            if (work.ticket) turn_away(arg.index, error(engine::errc::deadline));
            return;
    }
}

std::optional<WorkId> Receivers::open(Host host, const wire::Open& open, const Call& call, ReplyAddress from) {
    Peer& peer = cluster_.peer(host);
    Replica* replica = open.replica.slot < peer.replicas.size() ? &peer.replicas[open.replica.slot] : nullptr;
    if (replica != nullptr && replica->record().id != open.replica) replica = nullptr;
    const wire::ReplicaRecord* record = replica != nullptr ? &replica->record() : nullptr;
    const auto state = record != nullptr ? record->state : wire::ReplicaState::created;
    if (const auto code = gateway::check(open, record, state, mutant_)) {
        end(from, {*code});
        return std::nullopt;
    }
    if (record->model != call.model)
        oracles_.violate("Q3", fmt::format("replica {} of peer {} serves {} to a request for {}", open.replica.slot,
                                           host, record->model, call.model));
    if (call.erroneous) {
        sink_->reply(from, wire::Head{400, "application/json"}, 0);
        sink_->reply(from, wire::Data{0, {}, "{}"}, 0);
        end(from, {});
        return std::nullopt;
    }
    if (call.prompt_tokens + open.choices.front().size() > record->context_tokens) {
        end(from, gateway::refusal(error(engine::errc::prompt_too_long), replica->load()));
        return std::nullopt;
    }
    if (replica->admission().try_acquire()) {
        const std::uint32_t index = make_work(host, open, call, from);
        begin(index);
        return WorkId{index, works_[index].serial};
    }
    if (open.queue_wait > Duration{0}) {
        const std::uint32_t index = make_work(host, open, call, from);
        if (wait(index, open.queue_wait)) return WorkId{index, works_[index].serial};
    }
    end(from, gateway::refusal(error(engine::errc::busy), replica->load()));
    return std::nullopt;
}

void Receivers::cancel_at(WorldTime at, WorkId work) {
    const Work& known = works_[work.index];
    if (known.live && known.serial == work.serial) plan(at, Step::cancel, work.index);
}

void Receivers::stop(Host host) {
    const std::uint32_t boot = cluster_.peer(host).boot;
    for (std::uint32_t index = 0; index < works_.size(); ++index) {
        const Work& work = works_[index];
        if (!work.live || work.host != host || work.boot != boot) continue;
        const ReplyAddress from = work.from;
        release(index);
        end(from, {wire::EndCode::cancelled, "the replica stops"});
    }
}

std::uint32_t Receivers::make_work(Host host, const wire::Open& open, const Call& call, ReplyAddress from) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(works_.size()));
        works_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Work& work = works_[index];
    const auto resumed = static_cast<std::uint32_t>(open.choices.front().size());
    EXA_CHECK(resumed <= call.answer_tokens);
    for (std::uint32_t at = 0; at < resumed; ++at)
        if (open.choices.front()[at] != token_of(call.seed, at))
            oracles_.violate("Q2", fmt::format("call {} is to resume from another token {}", call.id, at));
    work = {.live = true,
            .serial = work.serial + 1,
            .host = host,
            .boot = cluster_.peer(host).boot,
            .slot = open.replica.slot,
            .ticket = std::nullopt,
            .unread_tokens = call.prompt_tokens,
            .next = resumed,
            .left = call.answer_tokens - resumed,
            .seed = call.seed,
            .slow = call.slow,
            .begun = false,
            .from = from};
    return index;
}

// False: there is no room in the queue, and the work is gone.
bool Receivers::wait(std::uint32_t index, Duration at_most) {
    Work& work = works_[index];
    Replica& replica = replica_of(work);
    engine::WaitTerms terms;
    terms.tokens = work.unread_tokens + work.left;
    terms.deadline = queue_time() + at_most;
    const auto pushed = replica.admission().wait(queue_time(), terms);
    if (!pushed) {
        work.live = false;
        free_.push_back(index);
        return false;
    }
    ++waited_;
    work.ticket = pushed.value().ticket;
    replica.waiting().emplace(pushed.value().ticket, index);
    plan(cluster_.now() + at_most, Step::expire, index);
    if (pushed.value().displaced)
        turn_away(replica.waiting().at(*pushed.value().displaced), error(engine::errc::busy, "others go first"));
    return true;
}

void Receivers::begin(std::uint32_t index) {
    Work& work = works_[index];
    Replica& replica = replica_of(work);
    replica.begin(work.unread_tokens);
    if (replica.in_flight() > replica.admission().limit())
        oracles_.violate(
            "Q4", fmt::format("replica {} of peer {} holds {} requests", work.slot, work.host, replica.in_flight()));
    const Duration first = replica.prefill_time(work.unread_tokens + work.next) + piece_time(work, replica);
    plan(cluster_.now() + first, Step::produce, index);
}

void Receivers::produce(std::uint32_t index) {
    Work& work = works_[index];
    Replica& replica = replica_of(work);
    replica.prefilled(std::exchange(work.unread_tokens, 0));
    wire::Data data;
    data.offset = work.next;
    const std::uint32_t count = std::min(work.left, shape_.chunk_tokens);
    for (std::uint32_t i = 0; i < count; ++i) data.tokens.push_back(token_of(work.seed, work.next + i));
    data.bytes = body_of(data.tokens);
    work.left -= count;
    work.next += count;
    const bool is_first = !std::exchange(work.begun, true);
    const bool is_last = work.left == 0;
    const ReplyAddress from = work.from;
    if (is_last)
        release(index);
    else
        plan(cluster_.now() + piece_time(work, replica), Step::produce, index);
    if (is_first) sink_->reply(from, wire::Head{200, "text/event-stream"}, 0);
    sink_->reply(from, std::move(data), count * token_bytes);
    if (is_last) end(from, {wire::EndCode::ok, {}, replica.load()});
}

void Receivers::turn_away(std::uint32_t index, const Error& why) {
    const ReplyAddress from = works_[index].from;
    Replica& replica = replica_of(works_[index]);
    release(index);
    end(from, gateway::refusal(why, replica.load()));
}

void Receivers::release(std::uint32_t index) {
    Work& work = works_[index];
    work.live = false;
    free_.push_back(index);
    Replica& replica = replica_of(work);
    if (const auto ticket = std::exchange(work.ticket, std::nullopt)) {
        replica.admission().leave(*ticket);
        replica.waiting().erase(*ticket);
        return;
    }
    replica.release(work.unread_tokens);
    grant(replica);
}

void Receivers::grant(Replica& replica) {
    while (const auto ticket = replica.admission().granted(queue_time())) {
        const auto waiting = replica.waiting().find(*ticket);
        const std::uint32_t index = waiting->second;
        replica.waiting().erase(waiting);
        works_[index].ticket.reset();
        begin(index);
    }
}

void Receivers::end(ReplyAddress to, wire::End end) {
    sink_->reply(to, std::move(end), head_bytes);
}

Duration Receivers::piece_time(const Work& work, const Replica& replica) const {
    const std::uint32_t tokens = std::min(work.left, shape_.chunk_tokens);
    const Duration ready = replica.decode_time(tokens);
    return work.slow ? std::max(ready, duration_of(tokens / shape_.slow_tokens)) : ready;
}

}  // namespace exa::sim
