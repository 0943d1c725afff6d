#include "sim/kv/replicators.h"

#include <algorithm>

namespace exa::sim {

namespace {

// Of one question or answer that holds no segment, beside its own bytes.
constexpr std::size_t message_bytes = 200;
// Of the segments of a link, as io/link's write queue has it; one segment may exceed it.
constexpr std::size_t lane_bytes_max = 1024 * 1024;
// A segment that takes long comes in parts, one in this time: links share a line.
constexpr std::chrono::seconds part_period{2};

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

Replicators::Replicators(Cluster& cluster, ReplicatorUser& user, const kv::SegmentSealer& sealer,
                         const ReplicatorTraffic& traffic, const node::KvReplicatorConfig& config)
    : cluster_(cluster), user_(user), sealer_(sealer), traffic_(traffic), config_(config), processes_(cluster.size()) {}

void Replicators::start() {
    for (Host host = 0; host < cluster_.size(); ++host) push(cluster_.now(), {host, host, Poll{}}, 0);
}

void Replicators::handle(const Event& event) {
    auto message = messages_.extract(event.arg);
    if (!message.empty()) act(message.mapped());
}

node::KvReplicator* Replicators::find(Host host) {
    const Peer& peer = cluster_.peer(host);
    Process& process = processes_[host];
    if (process.boot != peer.boot || !peer.is_up()) {
        if (process.replicator) user_.on_crash(host);
        process = Process{};
    }
    if (!peer.is_up()) return nullptr;
    if (!process.replicator) {
        process.boot = peer.boot;
        process.replicator = std::make_unique<node::KvReplicator>(peer.id, user_.on_start(host), config_);
        hosts_[peer.id] = host;
    }
    return process.replicator.get();
}

std::optional<Host> Replicators::host_of(PeerId peer) const {
    const auto at = hosts_.find(peer);
    return at != hosts_.end() ? std::optional(at->second) : std::nullopt;
}

void Replicators::act(Message& message) {
    const Host host = message.to;
    if (std::holds_alternative<Poll>(message.what)) push(cluster_.now() + config_.view_period, {host, host, Poll{}}, 0);
    node::KvReplicator* replicator = find(host);
    if (replicator == nullptr || cluster_.peer(host).paused) return;
    const TimePoint time = now(host);
    std::visit(Overloaded{[&](const Question& one) { answer(host, message.from, one); },
                          [&](const Body& one) {
                              processes_[host].asked.erase(one.id);
                              if (replicator->handle_bytes(time, one.id, one.bytes))
                                  replicator->handle_end(time, one.id);
                          },
                          [&](Segment& one) { handle_segment(host, one); },
                          [&](const Failed& one) {
                              user_.on_trouble(host);
                              processes_[host].asked.erase(one.id);
                              replicator->handle_failed(time, one.id);
                          },
                          [&](const Cancel& one) { cancel(host, message.from, one); },
                          [&](const Part& one) {
                              if (cluster_.peer(message.from).boot == one.boot &&
                                  cluster_.network().reaches(message.from, host, false))
                                  replicator->handle_progress(time, one.id);
                          },
                          [&](const Left& one) {
                              processes_[host].lanes[one.to].on_the_way -= one.bytes;
                              pump_lane(host, one.to);
                          },
                          [&](const Written& one) { handle_written(host, one); }, [](const Wake&) {},
                          [&](const Poll&) {
                              user_.on_poll(host);
                              replicator->handle_view(time, cluster_.peer(host).node->members());
                          }},
               message.what);
    // Whatever happened may have been late for a timer.
    if (replicator->next_timeout() <= time) replicator->handle_timeout(time);
    pump(host);
}

void Replicators::handle_segment(Host host, Segment& segment) {
    Process& process = processes_[host];
    const auto asked = process.asked.find(segment.id);
    if (asked == process.asked.end()) return;
    auto received = node::check_received(sealer_, asked->second.items[segment.place], std::move(segment.segment));
    if (received.arrived_bytes > 0 && !received.segment) ++corrupt_;
    if (segment.is_last) process.asked.erase(asked);
    process.replicator->handle_segment(now(host), segment.id, segment.place, std::move(received));
}

void Replicators::handle_written(Host host, const Written& written) {
    user_.on_written(host, written.item);
    if (written.origin == WriteOrigin::made)
        last(host)->handle_written(now(host), written.item);
    else if (written.origin == WriteOrigin::offered)
        last(host)->handle_stored(now(host), written.item, kv::OfferOutcome::held);
}

void Replicators::answer(Host host, Host from, const Question& asked) {
    // The link went with the process, and the next one numbers its questions from one again.
    if (cluster_.peer(from).boot != asked.boot) return;
    Reply reply{from, asked.id, asked.boot, node::KvAnswer(asked.body)};
    bool is_fetch = false;
    while (const auto work = reply.answer.poll_work()) {
        if (const auto* lookup = std::get_if<node::KvAnswer::Lookup>(&*work)) {
            std::vector<kv::Item> items;
            for (const kv::SegmentKey& key : lookup->keys) items.push_back(user_.lookup(host, key));
            reply.answer.handle_items(items);
        } else if (const auto* read = std::get_if<node::KvAnswer::Read>(&*work)) {
            is_fetch = true;
            reply.answer.handle_read(user_.read(host, read->key));
        } else if (const auto* offer = std::get_if<node::KvAnswer::Offer>(&*work)) {
            if (offer->latest_stamp != 0) user_.observe(host, offer->latest_stamp);
            const kv::OfferId id{number()};
            processes_[host].offers.emplace(id, std::move(reply));
            return last(host)->handle_offer(now(host), id, cluster_.peer(from).id, offer->question);
        }
    }
    if (!is_fetch) return send_body(host, reply);
    processes_[host].lanes[from].replies.push_back(std::move(reply));
    pump_lane(host, from);
}

void Replicators::send_body(Host host, Reply& reply) {
    if (cluster_.peer(reply.to).boot != reply.boot) return;
    const auto part = reply.answer.poll_part();
    if (!part) return;
    if (const auto* body = std::get_if<node::KvAnswer::Body>(&*part)) send(host, reply.to, Body{reply.id, body->bytes});
}

void Replicators::pump(Host host) {
    Process& process = processes_[host];
    if (!process.replicator) return;
    while (auto action = process.replicator->poll_action()) carry_out(host, *action);
    const WorldTime next = std::max(cluster_.now(), cluster_.peer(host).clock.when(process.replicator->next_timeout()));
    // A poll comes soon enough for what is due later than that.
    if (next >= cluster_.now() + config_.view_period || next == process.armed_for) return;
    process.armed_for = next;
    push(next, {host, host, Wake{}}, process.boot);
}

void Replicators::carry_out(Host host, node::KvReplicator::Action& action) {
    using Exchange = kv::Exchange;
    std::visit(Overloaded{[&](Exchange::Send& send) { ask(host, send); },
                          [&](const Exchange::Drop& dropped) { drop(host, dropped.id); },
                          [&](const Exchange::Deliver& deliver) { user_.deliver(host, deliver); },
                          [&](const Exchange::FetchOver& over) { user_.end_fetch(host, over); },
                          [&](const Exchange::Store& store) { user_.store(host, store); },
                          [&](node::KvReplicator::Answer& answer) {
                              auto offer = processes_[host].offers.extract(answer.id);
                              if (offer.empty()) return;
                              offer.mapped().answer.handle_outcomes(std::move(answer.body));
                              send_body(host, offer.mapped());
                          },
                          // Nobody has a cold tier here.
                          [](const Exchange::LookupCold&) {}, [](const Exchange::ReadCold&) {},
                          [](const node::KvReplicator::ColdPeers&) {},
                          [&](const Exchange::Acked& acked) { user_.on_acked(acked); },
                          [&](const Exchange::Surplus& surplus) { user_.on_surplus(host, surplus); },
                          [&](const Exchange::Found& found) { user_.on_found(host, found); }},
               action);
}

void Replicators::ask(Host host, kv::Exchange::Send& asked) {
    const auto to = host_of(asked.to);
    if (!to || cluster_.peer(*to).id != asked.to) return later(host, std::chrono::milliseconds{1}, Failed{asked.id});
    Question question{asked.id, kv::encode(asked.question), processes_[host].boot};
    processes_[host].asked.emplace(asked.id, Asked{*to, std::move(asked.question.items)});
    send(host, *to, std::move(question), asked.id);
}

void Replicators::drop(Host host, kv::AskId id) {
    user_.on_trouble(host);
    const auto asked = processes_[host].asked.extract(id);
    if (!asked.empty()) send(host, asked.mapped().to, Cancel{id, processes_[host].boot});
}

void Replicators::cancel(Host host, Host from, const Cancel& cancelled) {
    Process& process = processes_[host];
    const auto is_it = [&](const Reply& reply) {
        return reply.to == from && reply.id == cancelled.id && reply.boot == cancelled.boot;
    };
    std::erase_if(process.lanes[from].replies, is_it);
    const auto offer = std::ranges::find_if(process.offers, [&](const auto& one) { return is_it(one.second); });
    if (offer == process.offers.end()) return;
    offer->second.answer.cancel();
    if (offer->second.answer.poll_work()) process.replicator->forget_offer(offer->first);
    process.offers.erase(offer);
}

void Replicators::pump_lane(Host host, Host to) {
    Lane& lane = processes_[host].lanes[to];
    while (lane.on_the_way < lane_bytes_max && !lane.replies.empty()) {
        Reply reply = std::move(lane.replies.front());
        lane.replies.pop_front();
        if (cluster_.peer(to).boot != reply.boot) continue;
        const auto part = reply.answer.poll_part();
        if (!part || !std::holds_alternative<node::KvAnswer::Segment>(*part)) continue;
        const bool is_last = reply.answer.is_sent();
        Segment segment{reply.id, reply.place++, std::get<node::KvAnswer::Segment>(*part).segment, is_last};
        const std::size_t bytes = size_of(segment);
        const auto arrives = send(host, to, std::move(segment));
        // Of a stream that broke nothing more comes.
        if (!arrives) continue;
        lane.on_the_way += bytes;
        push(*arrives, {host, host, Left{to, bytes}}, processes_[host].boot);
        send_parts(host, to, reply.id, *arrives);
        if (is_last) continue;
        while (const auto work = reply.answer.poll_work())
            reply.answer.handle_read(user_.read(host, std::get<node::KvAnswer::Read>(*work).key));
        lane.replies.push_back(std::move(reply));
    }
}

void Replicators::send_parts(Host from, Host to, kv::AskId id, WorldTime until) {
    for (WorldTime at = cluster_.now() + part_period; at < until; at += part_period)
        push(at, {from, to, Part{id, processes_[from].boot}}, cluster_.peer(to).boot);
}

std::size_t Replicators::size_of(const Happening& what) const {
    return std::visit(
        Overloaded{[](const Question& one) { return message_bytes + one.body.size(); },
                   [](const Body& one) { return message_bytes + one.bytes.size(); },
                   [&](const Segment& one) { return one.segment ? traffic_.segment_bytes : message_bytes; },
                   [](const auto&) { return message_bytes; }},
        what);
}

std::optional<WorldTime> Replicators::send(Host from, Host to, Happening what, std::optional<kv::AskId> fails) {
    const LinkResult result = cluster_.send_data(from, to, cluster_.peer(to).id, size_of(what), traffic_.pool);
    if (result.kind == LinkResult::Kind::arrives) {
        push(result.at, {from, to, std::move(what)}, cluster_.peer(to).boot);
        return result.at;
    }
    if (result.kind == LinkResult::Kind::fails && fails)
        push(result.at, {to, from, Failed{*fails}}, cluster_.peer(from).boot);
    return std::nullopt;
}

void Replicators::write_later(Host host, const kv::Item& item, WriteOrigin origin) {
    later(host, cluster_.peer(host).disk.faults().sync_time, Written{item, origin});
}

void Replicators::later(Host host, Duration wait, Happening what) {
    push(cluster_.now() + wait, {host, host, std::move(what)}, cluster_.peer(host).boot);
}

void Replicators::push(WorldTime at, Message message, std::uint32_t boot) {
    const Host to = message.to;
    const std::uint64_t key = number();
    messages_.emplace(key, std::move(message));
    cluster_.push(at, traffic_.kind, to, key, boot);
}

}  // namespace exa::sim
