#include "sim/gateway/ingresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "sim/gateway/steps.h"

namespace exa::sim {

namespace {

constexpr std::chrono::seconds look_period{5};  // io/link's ping interval
constexpr std::uint32_t silent_looks_max = 3;
constexpr std::chrono::seconds orphan_time{15};
constexpr std::size_t head_bytes = 200;

// As the node's own view has it; null when it has none.
const wire::ReplicaRecord* find_record(const node::Node& node, const ReplicaId& id) {
    const membership::Peer* peer = node.membership().roster().find(id.peer);
    if (peer == nullptr) return nullptr;
    const auto at = std::ranges::find(peer->record->replicas, id, &wire::ReplicaRecord::id);
    return at != peer->record->replicas.end() ? &*at : nullptr;
}

}  // namespace

Ingresses::Ingresses(Cluster& cluster, Oracles& oracles, Receivers& receivers, CallObserver& observer,
                     const gateway::Config& config)
    : cluster_(cluster), oracles_(oracles), receivers_(receivers), observer_(observer), config_(config) {
    receivers.set_sink(*this);
    cluster.handle_with(EventKind::step, [this](const Event& event) { handle(event); });
}

void Ingresses::plan(WorldTime at, Step step, std::uint32_t index, std::uint32_t serial) {
    const Slot& slot = slots_[index];
    const bool at_target = step == Step::open;
    const StepArg arg{index, serial, static_cast<std::uint8_t>(step)};
    cluster_.push(at, EventKind::step, at_target ? slot.target : slot.host, arg.packed(),
                  at_target ? slot.target_boot : slot.boot);
}

void Ingresses::handle(const Event& event) {
    const StepArg arg = StepArg::unpack(event.arg);
    Slot& slot = slots_[arg.index];
    const auto step = static_cast<Step>(arg.step);
    if (!slot.live || !arg.is_of(step == Step::timeout ? slot.life : slot.serial)) return;
    switch (step) {
        case Step::enter:
            return enter(arg.index);
        case Step::open:
            return open(arg.index);
        case Step::failed: {
            Peer& peer = *ingress_of(slot);
            gateway::Actions actions;
            peer.dispatcher->handle_view(peer.node->routing());
            slot.request->handle_open_failed(local(peer), slot.request->attempt_number(),
                                             gateway::OpenFailure::connect_failed, "no link", actions);
            return carry_out(arg.index, actions);
        }
        case Step::part:
            return take_parts(arg.index);
        case Step::look:
            return look(arg.index);
        case Step::timeout:
            return timeout(arg.index);
    }
}

Peer* Ingresses::ingress_of(const Slot& slot) {
    Peer& peer = cluster_.peer(slot.host);
    return peer.is_up() && peer.boot == slot.boot ? &peer : nullptr;
}

Ingresses::CallHandle Ingresses::submit(WorldTime at, Host host, const Call& call) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.live = true;
    slot.host = host;
    slot.boot = cluster_.peer(host).boot;
    slot.call = &call;
    slot.complete = false;
    slot.armed_for = world_never;
    ++slot.serial;
    ++slot.life;
    plan(at, Step::enter, index, slot.serial);
    return {index, slot.life};
}

bool Ingresses::is_served(CallHandle handle) {
    const Slot& slot = slots_[handle.slot];
    return slot.live && slot.life == handle.serial && ingress_of(slot) != nullptr;
}

std::string Ingresses::waiting_for(CallHandle handle) const {
    const Slot& slot = slots_[handle.slot];
    if (!slot.request) return fmt::format("peer {} has not read it", slot.host);
    return fmt::format("peer {} waits, in attempt {} since {:.3f} s, for peer {}{}", slot.host,
                       slot.request->attempt_number(), seconds_of(slot.begun), slot.target,
                       is_silent(slot.host, slot.target) ? ", which is silent" : "");
}

void Ingresses::client_gone(CallHandle handle) {
    Slot& slot = slots_[handle.slot];
    if (!slot.live || slot.life != handle.serial) return;
    Peer* peer = ingress_of(slot);
    if (peer == nullptr || !slot.request) return free(handle.slot);
    gateway::Actions actions;
    slot.request->handle_client_gone(local(*peer), actions);
    std::erase_if(actions, [](const auto& action) { return std::holds_alternative<gateway::Done>(action); });
    carry_out(handle.slot, actions);
    free(handle.slot);
}

void Ingresses::drop(CallHandle handle) {
    const Slot& slot = slots_[handle.slot];
    if (slot.live && slot.life == handle.serial) free(handle.slot);
}

void Ingresses::enter(std::uint32_t index) {
    Slot& slot = slots_[index];
    Peer& peer = *ingress_of(slot);
    ++peer.entered;
    slot.early = !peer.is_draining();
    slot.came = cluster_.now();
    slot.met_silence = false;
    peer.entered_early += slot.early;
    wire::Open open;
    open.model = slot.call->model;
    open.kind = wire::RequestKind::chat;
    open.seed = slot.call->seed;
    slot.request.emplace(config_, *peer.dispatcher, std::move(open));
    gateway::Actions actions;
    peer.dispatcher->handle_view(peer.node->routing());
    slot.request->start(local(peer),
                        {.wall = peer.clock.wall(cluster_.now()),
                         .session = slot.call->session,
                         .prompt_tokens = slot.call->prompt_tokens,
                         .fingerprint = slot.call->seed},
                        actions);
    carry_out(index, actions);
}

void Ingresses::carry_out(std::uint32_t index, gateway::Actions& actions) {
    Slot& slot = slots_[index];
    for (std::size_t i = 0; i < actions.size(); ++i) {
        gateway::Action& action = actions[i];
        if (auto* body = std::get_if<gateway::SendBody>(&action)) {
            observer_.on_body(slot.call->id, body->bytes);
        } else if (const auto* head = std::get_if<gateway::SendHead>(&action)) {
            note_first_byte(slot, false);
            observer_.on_head(slot.call->id, *head);
        } else if (std::holds_alternative<gateway::SendEnd>(action)) {
            slot.complete = true;
        } else if (std::holds_alternative<gateway::Cancel>(action)) {
            ++counters_.outcomes[static_cast<std::size_t>(slot.request->last_outcome())];
            note_silence(slot);
            let_go(slot);
        } else if (const auto* failed = std::get_if<gateway::SendError>(&action)) {
            slot.complete = true;
            note_first_byte(slot, true);
            observer_.on_error(slot.call->id, failed->error);
        } else if (const auto* done = std::get_if<gateway::Done>(&action)) {
            return finish(index, *done);
        } else {
            begin_attempt(index);
        }
    }
    actions.clear();
    arm(index);
}

void Ingresses::begin_attempt(std::uint32_t index) {
    Slot& slot = slots_[index];
    const Peer& peer = *ingress_of(slot);
    const router::Attempt& next = slot.request->attempt();
    ++counters_.attempts;
    ++slot.serial;
    if (slot.request->started()) ++counters_.resumed;
    if (next.number > cluster_.config().router.attempts_max)
        oracles_.violate("Q6", fmt::format("call {} is tried for the {}th time", slot.call->id, next.number));
    if (const auto* record = find_record(*peer.node, next.replica);
        record != nullptr && record->model != slot.call->model)
        oracles_.violate("Q3", fmt::format("peer {} sends a request for {} to a replica of {}", slot.host,
                                           slot.call->model, record->model));
    slot.target = next.local ? slot.host : host_of(next.link);
    slot.begun = cluster_.now();
    slot.is_silent = is_silent(slot.host, slot.target);
    slot.target_boot = cluster_.peer(slot.target).boot;
    slot.target_generation = cluster_.peer(slot.target).generation;
    slot.work.reset();
    slot.coming.clear();
    slot.reply_at = cluster_.now();
    slot.reply_dead = false;
    slot.sent_lost = false;
    slot.silent_looks = 0;
    if (!next.local) {
        plan(cluster_.now() + look_period, Step::look, index, slot.serial);
        return send_open(index);
    }
    plan(cluster_.now(), Step::open, index, slot.serial);
    slot.request->handle_drained(local(peer));
}

void Ingresses::send_open(std::uint32_t index) {
    Slot& slot = slots_[index];
    gateway::Request& request = *slot.request;
    const std::size_t tokens = slot.call->prompt_tokens + request.open().choices.front().size();
    const LinkResult sent = cluster_.send_data(slot.host, slot.target, request.attempt().peer, head_bytes + 4 * tokens);
    const Peer& peer = *ingress_of(slot);
    if (sent.kind == LinkResult::Kind::fails) {
        request.handle_drained(local(peer));
        return plan(sent.at, Step::failed, index, slot.serial);
    }
    request.handle_opened(request.attempt_number());
    request.handle_drained(local(peer));
    if (sent.kind == LinkResult::Kind::arrives)
        plan(sent.at, Step::open, index, slot.serial);
    else
        slot.sent_lost = true;
}

void Ingresses::open(std::uint32_t index) {
    Slot& slot = slots_[index];
    slot.work = receivers_.open(slot.target, slot.request->open(), *slot.call, {index, slot.serial});
}

void Ingresses::reply(ReplyAddress to, ReplyPart part, std::size_t bytes) {
    Slot& slot = slots_[to.slot];
    if (!slot.live || slot.serial != to.serial || slot.reply_dead) return;
    if (std::holds_alternative<wire::End>(part)) slot.work.reset();
    if (slot.target != slot.host && bytes > 0) {
        const Network::LinkFate fate =
            cluster_.network().send_link(cluster_.now(), slot.target, slot.host, bytes, TrafficClass::data);
        const Duration held = fate.until == world_never ? Duration{0} : fate.until - cluster_.now();
        if (!fate.passes && (fate.until == world_never || held > orphan_time)) {
            slot.reply_dead = true;
            return;
        }
        slot.reply_at = std::max(slot.reply_at, cluster_.now() + fate.delay + (fate.passes ? Duration{0} : held));
    } else {
        slot.reply_at = std::max(slot.reply_at, cluster_.now());
    }
    slot.coming.push_back(std::move(part));
    // A part without bytes of its own leaves with the next.
    if (bytes > 0) plan(slot.reply_at, Step::part, to.slot, slot.serial);
}

void Ingresses::take_parts(std::uint32_t index) {
    Slot& slot = slots_[index];
    Peer& peer = *ingress_of(slot);
    const gateway::AttemptNumber attempt = slot.request->attempt_number();
    slot.silent_looks = 0;
    gateway::Actions actions;
    bool is_whole = false;
    // One that had bytes of its own ends what came together.
    while (!is_whole && !slot.coming.empty()) {
        ReplyPart part = std::move(slot.coming.front());
        slot.coming.pop_front();
        if (auto* head = std::get_if<wire::Head>(&part)) {
            slot.request->handle_head(local(peer), attempt, std::move(*head), actions);
        } else if (auto* data = std::get_if<wire::Data>(&part)) {
            is_whole = !data->tokens.empty();
            slot.request->handle_data(local(peer), attempt, std::move(*data), actions);
        } else {
            is_whole = true;
            take_end(slot, peer, std::get<wire::End>(std::move(part)), actions);
        }
    }
    slot.request->handle_drained(local(peer));
    carry_out(index, actions);
}

void Ingresses::take_end(Slot& slot, Peer& peer, wire::End end, gateway::Actions& actions) {
    const ReplicaId replica = slot.request->attempt().replica;
    const bool says_nothing_of_health = end.code == wire::EndCode::busy || slot.call->erroneous;
    const wire::EndCode code = end.code;
    peer.dispatcher->handle_view(peer.node->routing());
    const bool was_open = is_breaker_open(peer, replica);
    slot.request->handle_end(local(peer), slot.request->attempt_number(), std::move(end), actions);
    if (says_nothing_of_health && !was_open && is_breaker_open(peer, replica))
        oracles_.violate("Q5", fmt::format("{} opens peer {}'s breaker for replica {} of peer {}",
                                           code == wire::EndCode::busy ? "a busy answer" : "a client's error",
                                           slot.host, replica.slot, slot.target));
}

void Ingresses::look(std::uint32_t index) {
    Slot& slot = slots_[index];
    const Peer& target = cluster_.peer(slot.target);
    const bool there = cluster_.network().reaches(slot.host, slot.target, false) &&
                       cluster_.network().reaches(slot.target, slot.host, false);
    // Whoever runs there now knows nothing of this stream and resets it.
    if (there && target.is_up() && (target.boot != slot.target_boot || slot.sent_lost)) return link_broken(index);
    const bool answers = there && target.is_up() && !target.paused && !slot.reply_dead;
    slot.silent_looks = answers ? 0 : slot.silent_looks + 1;
    if (slot.silent_looks >= silent_looks_max) return link_broken(index);
    plan(cluster_.now() + look_period, Step::look, index, slot.serial);
}

void Ingresses::link_broken(std::uint32_t index) {
    Slot& slot = slots_[index];
    const std::uint32_t serial = slot.serial;
    cluster_.data_link_broken(*ingress_of(slot), slot.target, slot.target_generation);
    // What the node did about it may have ended this very process.
    Peer* peer = ingress_of(slot);
    if (peer == nullptr || slot.serial != serial) return;
    gateway::Actions actions;
    peer->dispatcher->handle_view(peer->node->routing());
    slot.request->handle_broken(local(*peer), slot.request->attempt_number(), "the link broke", actions);
    carry_out(index, actions);
}

void Ingresses::arm(std::uint32_t index) {
    Slot& slot = slots_[index];
    const Peer& peer = *ingress_of(slot);
    const WorldTime due = std::max(cluster_.now(), peer.clock.when(slot.request->next_timeout()));
    // One that is planned for earlier looks again.
    if (due == world_never || slot.armed_for <= due) return;
    slot.armed_for = due;
    plan(due, Step::timeout, index, slot.life);
}

void Ingresses::timeout(std::uint32_t index) {
    Slot& slot = slots_[index];
    // A later one that was overtaken.
    if (slot.armed_for > cluster_.now()) return;
    slot.armed_for = world_never;
    Peer& peer = *ingress_of(slot);
    gateway::Actions actions;
    if (local(peer) >= slot.request->next_timeout()) {
        peer.dispatcher->handle_view(peer.node->routing());
        slot.request->handle_timeout(local(peer), actions);
    }
    carry_out(index, actions);
}

// The replica hears of it when the cancel arrives, or finds out by itself.
void Ingresses::let_go(Slot& slot) {
    const auto work = std::exchange(slot.work, std::nullopt);
    if (!work) return;
    WorldTime at = cluster_.now();
    if (slot.target != slot.host) {
        const LinkResult sent = cluster_.send_data(slot.host, slot.target, slot.request->attempt().peer, head_bytes);
        at = sent.kind == LinkResult::Kind::arrives ? sent.at : cluster_.now() + orphan_time;
    }
    receivers_.cancel_at(at, *work);
}

bool Ingresses::is_silent(Host from, Host target) const {
    const Peer& peer = cluster_.peer(target);
    const Network& network = cluster_.network();
    return target != from && (!peer.is_up() || peer.paused || !network.reaches(from, target, false) ||
                              !network.reaches(target, from, false));
}

void Ingresses::note_silence(Slot& slot) {
    const gateway::Outcome outcome = slot.request->last_outcome();
    const bool was_silent = outcome == gateway::Outcome::suspect || outcome == gateway::Outcome::timed_out ||
                            outcome == gateway::Outcome::connect_failed || outcome == gateway::Outcome::link_broken;
    slot.met_silence = slot.met_silence || was_silent;
}

void Ingresses::note_first_byte(const Slot& slot, bool is_error) {
    if (!slot.met_silence && !slot.is_silent) return;
    const WorldTime until = is_error || slot.is_silent ? cluster_.now() : slot.begun;
    if (cluster_.peer(slot.host).is_punctual()) counters_.lost_to_silence_s.push_back(seconds_of(until - slot.came));
}

void Ingresses::finish(std::uint32_t index, const gateway::Done& done) {
    const Slot& slot = slots_[index];
    const CallId call = slot.call->id;
    const bool complete = slot.complete;
    const gateway::Done told = done;
    free(index);
    observer_.on_done(call, told, complete);
}

void Ingresses::free(std::uint32_t index) {
    Slot& slot = slots_[index];
    if (Peer* peer = ingress_of(slot); peer != nullptr && slot.request) {
        --peer->entered;
        peer->entered_early -= slot.early;
    }
    slot.live = false;
    slot.call = nullptr;
    slot.request.reset();
    slot.work.reset();
    slot.coming.clear();
    ++slot.serial;
    free_.push_back(index);
}

bool Ingresses::is_breaker_open(const Peer& peer, const ReplicaId& replica) const {
    const auto& tracker = peer.dispatcher->tracker();
    const auto view = peer.node->routing();
    for (const router::Pool& pool : view->pools())
        if (const auto member = pool.ring->find(replica))
            return tracker.is_breaker_open(cluster_.local_now(peer), pool.first + *member);
    return false;
}

router::Counters Ingresses::dispatched() const {
    router::Counters sum;
    for (Host host = 0; host < cluster_.size(); ++host) {
        const Peer& peer = cluster_.peer(host);
        if (peer.is_up()) sum.progress_credits += peer.dispatcher->counters().progress_credits;
    }
    return sum;
}

}  // namespace exa::sim
