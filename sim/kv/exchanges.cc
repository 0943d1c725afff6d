#include "sim/kv/exchanges.h"

#include <algorithm>

#include "node/kv_placement.h"

namespace exa::sim {

namespace {

constexpr std::chrono::milliseconds look_period{200};
// Of one question or answer that holds no segment, without its items.
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

Exchanges::Exchanges(Cluster& cluster, ExchangeUser& user, const ExchangeTraffic& traffic,
                     const kv::ExchangeConfig& config)
    : cluster_(cluster), user_(user), traffic_(traffic), config_(config), processes_(cluster.size()) {}

void Exchanges::start() {
    for (Host host = 0; host < cluster_.size(); ++host) push(cluster_.now(), {host, host, Look{}}, 0);
}

void Exchanges::handle(const Event& event) {
    const auto message = messages_.extract(event.arg);
    if (!message.empty()) act(message.mapped());
}

kv::Exchange* Exchanges::find(Host host) {
    const Peer& peer = cluster_.peer(host);
    Process& process = processes_[host];
    if (process.boot != peer.boot || !peer.is_up()) {
        if (process.exchange) user_.on_crash(host);
        process = Process{};
    }
    if (!peer.is_up()) return nullptr;
    if (!process.exchange) {
        process.boot = peer.boot;
        process.exchange = std::make_unique<kv::Exchange>(peer.id, user_.on_start(host), config_);
        hosts_[peer.id] = host;
    }
    return process.exchange.get();
}

std::optional<Host> Exchanges::host_of(PeerId peer) const {
    const auto at = hosts_.find(peer);
    return at != hosts_.end() ? std::optional(at->second) : std::nullopt;
}

void Exchanges::act(const Message& message) {
    const Host host = message.to;
    if (std::holds_alternative<Look>(message.what)) push(cluster_.now() + look_period, {host, host, Look{}}, 0);
    kv::Exchange* exchange = find(host);
    if (exchange == nullptr || cluster_.peer(host).paused) return;
    const TimePoint time = now(host);
    std::visit(Overloaded{[&](const Question& one) { answer(host, message.from, one); },
                          [&](const Items& one) { exchange->handle_items(time, one.id, one.items); },
                          [&](const Segment& one) {
                              if (one.is_last) processes_[host].fetches.erase(one.id);
                              exchange->handle_segment(time, one.id, one.segment);
                          },
                          [&](const Outcomes& one) { exchange->handle_outcomes(time, one.id, one.outcomes); },
                          [&](const Failed& one) {
                              user_.on_trouble(host);
                              processes_[host].fetches.erase(one.id);
                              exchange->handle_failed(time, one.id);
                          },
                          [&](const Cancel& one) { cancel(host, message.from, one); },
                          [&](const Part& one) {
                              const Peer& from = cluster_.peer(message.from);
                              if (from.boot == one.boot && cluster_.fabric().reaches(message.from, host, false))
                                  exchange->handle_progress(time, from.id);
                          },
                          [&](const Left& one) {
                              processes_[host].lanes[one.to].on_the_way -= one.bytes;
                              pump_lane(host, one.to);
                          },
                          [&](const Written& one) { user_.on_written(host, one.item, one.own); }, [](const Wake&) {},
                          [&](const Look&) { look(host); }},
               message.what);
    // Whatever happened may have been late for a timer.
    if (exchange->next_timeout() <= time) exchange->handle_timeout(time);
    pump(host);
}

void Exchanges::look(Host host) {
    user_.on_look(host);
    Process& process = processes_[host];
    const auto view = cluster_.peer(host).node->members();
    if (view->number == process.placed) return;
    process.placed = view->number;
    process.exchange->handle_placement(now(host), std::make_shared<const kv::Placement>(node::kv_placement(*view)));
}

void Exchanges::answer(Host host, Host from, const Question& asked) {
    // The link went with the process, and the next one numbers its questions anew.
    if (cluster_.peer(from).boot != asked.boot) return;
    const std::vector<kv::Item>& wanted = asked.question.items;
    switch (asked.question.kind) {
        case kv::QuestionKind::look: {
            std::vector<kv::Item> items;
            for (const kv::Item& item : wanted) items.push_back(user_.look(host, item.key));
            send(host, from, wanted.size(), Items{asked.id, std::move(items)});
            return;
        }
        case kv::QuestionKind::fetch:
            processes_[host].lanes[from].replies.push_back({asked.id, asked.boot, {wanted.begin(), wanted.end()}});
            return pump_lane(host, from);
        case kv::QuestionKind::offer:
        case kv::QuestionKind::move: {
            user_.on_offer(host, wanted);
            const kv::OfferId id{number()};
            offers_[{host, id}] = {from, asked.boot, asked.id};
            last(host)->handle_offer(now(host), id, cluster_.peer(from).id, asked.question);
            return;
        }
    }
}

void Exchanges::pump(Host host) {
    Process& process = processes_[host];
    if (!process.exchange) return;
    while (const auto output = process.exchange->poll_output()) carry_out(host, *output);
    const WorldTime next = std::max(cluster_.now(), cluster_.peer(host).clock.when(process.exchange->next_timeout()));
    // A look comes soon enough for what is due later than that.
    if (next >= cluster_.now() + look_period || next == process.armed_for) return;
    process.armed_for = next;
    push(next, {host, host, Wake{}}, process.boot);
}

void Exchanges::carry_out(Host host, const kv::Exchange::Output& output) {
    using Exchange = kv::Exchange;
    std::visit(Overloaded{[&](const Exchange::Send& asked) { ask(host, asked); },
                          [&](const Exchange::Drop& dropped) { drop(host, dropped.id); },
                          [&](const Exchange::Give& give) { user_.give(host, give); },
                          [&](const Exchange::LoadOver& over) { user_.end_load(host, over); },
                          [&](const Exchange::Store& store) { user_.store(host, store); },
                          [&](const Exchange::Answer& answer) {
                              const auto offer = offers_.extract({host, answer.id});
                              if (offer.empty()) return;
                              const Offerer& to = offer.mapped();
                              if (cluster_.peer(to.host).boot != to.boot) return;
                              send(host, to.host, 0, Outcomes{to.id, answer.outcomes});
                          },
                          // Nobody has a cold tier here.
                          [](const Exchange::LookCold&) {}, [](const Exchange::ReadCold&) {},
                          [&](const Exchange::Kept& kept) { user_.on_kept(kept); },
                          [&](const Exchange::Spare& spare) { user_.on_spare(host, spare); },
                          [&](const Exchange::Found& found) { user_.on_found(host, found); }},
               output);
}

void Exchanges::ask(Host host, const kv::Exchange::Send& asked) {
    const std::size_t items = asked.question.items.size();
    if (user_.is_forgotten(host, asked.question))
        return later(host, std::chrono::milliseconds{1},
                     Outcomes{asked.id, std::vector(items, kv::OfferOutcome::held)});
    const auto to = host_of(asked.to);
    if (!to || cluster_.peer(*to).id != asked.to) return later(host, std::chrono::milliseconds{1}, Failed{asked.id});
    if (asked.question.kind == kv::QuestionKind::fetch) processes_[host].fetches.emplace(asked.id, *to);
    send(host, *to, items, Question{asked.id, asked.question, processes_[host].boot}, asked.id);
}

void Exchanges::drop(Host host, kv::AskId id) {
    user_.on_trouble(host);
    const auto fetch = processes_[host].fetches.extract(id);
    if (!fetch.empty()) send(host, fetch.mapped(), 0, Cancel{id, processes_[host].boot});
}

void Exchanges::cancel(Host host, Host from, const Cancel& cancelled) {
    std::erase_if(processes_[host].lanes[from].replies,
                  [&](const Reply& reply) { return reply.id == cancelled.id && reply.boot == cancelled.boot; });
}

void Exchanges::pump_lane(Host host, Host to) {
    Lane& lane = processes_[host].lanes[to];
    while (lane.on_the_way < lane_bytes_max && !lane.replies.empty()) {
        Reply reply = std::move(lane.replies.front());
        lane.replies.pop_front();
        if (cluster_.peer(to).boot != reply.boot) continue;
        const kv::Item item = reply.left.front();
        reply.left.pop_front();
        Segment segment{reply.id, item.key, user_.fetch(host, item), reply.left.empty()};
        const std::size_t bytes = size_of(0, segment);
        const auto arrives = send(host, to, 0, std::move(segment));
        // Of a stream that broke nothing more comes.
        if (!arrives) continue;
        lane.on_the_way += bytes;
        push(*arrives, {host, host, Left{to, bytes}}, processes_[host].boot);
        send_parts(host, to, *arrives);
        if (!reply.left.empty()) lane.replies.push_back(std::move(reply));
    }
}

void Exchanges::send_parts(Host from, Host to, WorldTime until) {
    for (WorldTime at = cluster_.now() + part_period; at < until; at += part_period)
        push(at, {from, to, Part{processes_[from].boot}}, cluster_.peer(to).boot);
}

std::size_t Exchanges::size_of(std::size_t items, const Happening& what) const {
    const auto* answer = std::get_if<Segment>(&what);
    const bool has_segment = answer != nullptr && answer->segment;
    return has_segment ? traffic_.segment_bytes : message_bytes + traffic_.item_bytes * items;
}

// `fails`: which question of the sender's fails when the message cannot be sent.
std::optional<WorldTime> Exchanges::send(Host from, Host to, std::size_t items, Happening what,
                                         std::optional<kv::AskId> fails) {
    const LinkResult result = cluster_.send_data(from, to, cluster_.peer(to).id, size_of(items, what), traffic_.pool);
    if (result.kind == LinkResult::Kind::arrives) {
        auto* answer = std::get_if<Segment>(&what);
        if (answer != nullptr && answer->segment && !user_.verify(answer->key, *answer->segment))
            answer->segment = nullptr;
        push(result.at, {from, to, std::move(what)}, cluster_.peer(to).boot);
        return result.at;
    }
    if (result.kind == LinkResult::Kind::fails && fails)
        push(result.at, {to, from, Failed{*fails}}, cluster_.peer(from).boot);
    return std::nullopt;
}

void Exchanges::write_later(Host host, const kv::Item& item, bool own) {
    later(host, cluster_.peer(host).disk.faults().sync_time, Written{item, own});
}

void Exchanges::later(Host host, Duration wait, Happening what) {
    push(cluster_.now() + wait, {host, host, std::move(what)}, cluster_.peer(host).boot);
}

void Exchanges::push(WorldTime at, Message message, std::uint32_t boot) {
    const Host to = message.to;
    const std::uint64_t key = number();
    messages_.emplace(key, std::move(message));
    cluster_.push(at, traffic_.kind, to, key, boot);
}

}  // namespace exa::sim
