#include "sim/kv/value_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "kv/segment.h"
#include "node/kv_placement.h"

namespace exa::sim {

namespace {

constexpr std::chrono::milliseconds look_period{200};
constexpr std::size_t small_message = 200;
constexpr std::size_t value_message = 100'000;
// The event's `arg` of an operation; others are numbers of messages.
constexpr std::uint64_t operation_arg = ~std::uint64_t{0};
// So long after a failed question its peer may not have been asked.
constexpr std::chrono::seconds trouble_time{3};
constexpr std::uint32_t removal_bytes = kv::segment_header_size;
constexpr std::uint32_t value_bytes = kv::segment_header_size + 8;

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

// Removals are told of with size 0.
kv::Item told(const kv::Item& stored) {
    return {stored.key, stored.stamp, stored.bytes == removal_bytes ? 0 : stored.bytes};
}

kv::SealedSegment body(const kv::Item& item) {
    auto buffer = std::make_shared<kv::SegmentBuffer>(item.bytes == 0 ? removal_bytes : value_bytes);
    std::ranges::fill(buffer->bytes(), std::uint8_t{0});
    std::memcpy(buffer->bytes().data(), &item.stamp, sizeof item.stamp);
    return buffer;
}

std::uint64_t stamp_in(const kv::SegmentBuffer& segment) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, segment.view().data(), sizeof stamp);
    return stamp;
}

}  // namespace

std::optional<kv::Item> ValueCluster::Disk::find(const kv::SegmentKey& key) const {
    const auto at = items.find(key);
    return at != items.end() ? std::optional(at->second) : std::nullopt;
}

std::vector<kv::Item> ValueCluster::Disk::list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const {
    std::vector<kv::Item> page;
    for (auto at = after ? items.upper_bound(*after) : items.begin(); at != items.end() && page.size() < limit; ++at)
        page.push_back(at->second);
    return page;
}

ValueCluster::ValueCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant)
    : scenario_(scenario),
      cluster_(cluster),
      oracles_(oracles),
      mutant_(mutant),
      rng_(cluster.streams().stream("values")),
      services_(cluster.size()),
      acknowledged_(scenario.values.keys),
      survey_(scenario.values.keys) {
    for (std::uint64_t number = 0; number < scenario.values.keys; ++number) {
        kv::SegmentKey& key = keys_.emplace_back();
        for (std::uint64_t word = 0; word < 4; ++word) {
            const std::uint64_t value = hash64(number, word);
            std::memcpy(key.bytes.data() + word * 8, &value, 8);
        }
    }
    cluster.handle_with(EventKind::values, [this](const Event& event) { handle(event); });
}

void ValueCluster::start() {
    if (scenario_.values.rate <= 0) return;
    cluster_.push(WorldTime{scenario_.values.from}, EventKind::values, 0, operation_arg);
    for (Host host = 0; host < cluster_.size(); ++host) push(cluster_.now(), {host, host, Look{}}, 0);
}

void ValueCluster::wipe(Host host) {
    services_[host].disk.items.clear();
}

void ValueCluster::handle(const Event& event) {
    if (event.arg == operation_arg) return begin_operation();
    auto message = messages_.extract(event.arg);
    if (!message.empty()) act(message.mapped().to, message.mapped().what, message.mapped().from);
}

// Of a host whose process is up; made anew with each process, as what it had in memory is gone.
ValueCluster::Service* ValueCluster::service_of(Host host) {
    const Peer& peer = cluster_.peer(host);
    Service& service = services_[host];
    if (service.boot != peer.boot || !peer.is_up()) {
        service.exchange.reset();
        service.memory.clear();
        service.boot = 0;
        service.placed = 0;
        service.armed_for = world_never;
    }
    if (!peer.is_up()) return nullptr;
    if (!service.exchange) {
        service.boot = peer.boot;
        service.exchange = std::make_unique<kv::Exchange>(peer.id, service.disk, kv::ExchangeConfig{});
        service.clock = kv::HybridClock(static_cast<std::uint16_t>(hash64(peer.id.value, 0)));
        hosts_[peer.id] = host;
    }
    return &service;
}

void ValueCluster::begin_operation() {
    if (stopped_) return;
    cluster_.push(cluster_.now() + duration_of(-std::log(1 - rng_.unit()) / scenario_.values.rate), EventKind::values,
                  0, operation_arg);
    const Host host = static_cast<Host>(rng_.below(cluster_.size()));
    const auto number = static_cast<std::uint32_t>(rng_.below(keys_.size()));
    const std::uint64_t what = rng_.below(10);
    Service* service = service_of(host);
    if (service == nullptr || cluster_.peer(host).paused) return;
    if (what < 3) {
        ++counters_.sets;
        write(host, number, false, 0);
        return pump(host);
    }
    Operation operation{
        what == 3 ? Purpose::remove : Purpose::get, host, service->boot, number, cluster_.now(), {}, {}};
    for (const Acknowledged& one : acknowledged_[number])
        if (in_reach(host, one, number)) operation.before.push_back(one);
    begin(*service, std::move(operation));
}

void ValueCluster::begin(Service& service, Operation operation) {
    const Host host = operation.host;
    const kv::KnownValue value = known(service, keys_[operation.number]);
    const kv::FindId id{++numbered_};
    const auto at = operations_.emplace(std::pair(host, id.value), std::move(operation)).first;
    if (mutant_ == Mutant::values_unasked && value.item.stamp != 0) {
        Operation unasked = std::move(at->second);
        operations_.erase(at);
        return end(std::move(unasked), value.item.bytes == 0 ? 0 : value.item.stamp);
    }
    service.exchange->find(cluster_.local_now(cluster_.peer(host)), id, {value});
    pump(host);
}

// Whoever acknowledged still runs, is an owner as the reader sees it, and both reach one another.
bool ValueCluster::in_reach(Host from, const Acknowledged& one, std::uint32_t number) {
    const Peer& by = cluster_.peer(one.by);
    Service* reader = service_of(from);
    if (reader == nullptr || !by.is_up() || by.boot != one.boot || by.paused || cluster_.peer(from).paused)
        return false;
    const kv::Placement& placement = reader->exchange->placement();
    if (!placement.owns(by.id, keys_[number])) return false;
    if (one.by == from) return true;
    return placement.in_reach(by.id) && cluster_.fabric().reaches(from, one.by, false) &&
           cluster_.fabric().reaches(one.by, from, false);
}

void ValueCluster::act(Host host, const Happening& what, Host from) {
    if (std::holds_alternative<Look>(what)) push(cluster_.now() + look_period, {host, host, Look{}}, 0);
    Service* service = service_of(host);
    if (service == nullptr || cluster_.peer(host).paused) return;
    kv::Exchange& exchange = *service->exchange;
    const TimePoint now = cluster_.local_now(cluster_.peer(host));
    std::visit(Overloaded{[&](const Question& one) { answer(host, from, one); },
                          [&](const Items& one) { exchange.handle_items(now, one.id, one.items); },
                          [&](const Segment& one) { exchange.handle_segment(now, one.id, one.segment); },
                          [&](const Outcomes& one) { exchange.handle_outcomes(now, one.id, one.outcomes); },
                          [&](const Failed& one) {
                              service->trouble = cluster_.now();
                              exchange.handle_failed(now, one.id);
                          },
                          [&](const Written& one) {
                              const auto there = service->disk.find(one.item.key);
                              if (!there || there->stamp < one.item.stamp) service->disk.items[one.item.key] = one.item;
                              if (one.own)
                                  exchange.add(now, one.item);
                              else
                                  exchange.handle_stored(now, one.item, kv::OfferOutcome::held);
                          },
                          [](const Wake&) {},
                          [&](const Look&) {
                              const auto view = cluster_.peer(host).node->members();
                              if (view->number == service->placed) return;
                              service->placed = view->number;
                              exchange.handle_placement(
                                  now, std::make_shared<const kv::Placement>(node::kv_placement(*view)));
                          }},
               what);
    if (exchange.next_timeout() <= now) exchange.handle_timeout(now);
    pump(host);
}

void ValueCluster::answer(Host host, Host from, const Question& asked) {
    Service& service = services_[host];
    switch (asked.question.kind) {
        case kv::QuestionKind::look: {
            std::vector<kv::Item> items;
            for (const kv::Item& item : asked.question.items) items.push_back(known(service, item.key).item);
            return send(host, from, small_message, Items{asked.id, std::move(items)}, std::nullopt);
        }
        case kv::QuestionKind::fetch:
            for (const kv::Item& item : asked.question.items) {
                const kv::Item there = known(service, item.key).item;
                // As its receiver sees to it: not another version than was asked for, but a later one.
                auto segment = there.stamp != 0 && there.stamp >= item.stamp ? body(there) : nullptr;
                const std::size_t bytes = segment ? value_message : small_message;
                send(host, from, bytes, Segment{asked.id, std::move(segment)}, std::nullopt);
            }
            return;
        case kv::QuestionKind::offer:
        case kv::QuestionKind::move: {
            const WallTime wall = cluster_.peer(host).clock.wall(cluster_.now());
            for (const kv::Item& item : asked.question.items) service.clock.observe(wall, item.stamp);
            const kv::OfferId id{++numbered_};
            offers_[{host, id}] = {from, asked.id};
            service.exchange->handle_offer(cluster_.local_now(cluster_.peer(host)), id, cluster_.peer(from).id,
                                           asked.question);
            return;
        }
    }
}

void ValueCluster::pump(Host host) {
    Service& service = services_[host];
    while (service.exchange) {
        auto output = service.exchange->poll_output();
        if (!output) break;
        carry_out(host, std::move(*output));
    }
    if (!service.exchange) return;
    const WorldTime next = std::max(cluster_.now(), cluster_.peer(host).clock.when(service.exchange->next_timeout()));
    if (next >= cluster_.now() + look_period || next == service.armed_for) return;
    service.armed_for = next;
    push(next, {host, host, Wake{}}, service.boot);
}

void ValueCluster::carry_out(Host host, kv::Exchange::Output output) {
    using Exchange = kv::Exchange;
    Service& service = services_[host];
    std::visit(
        Overloaded{[&](const Exchange::Send& asked) {
                       const auto to = hosts_.find(asked.to);
                       if (to == hosts_.end() || cluster_.peer(to->second).id != asked.to)
                           return later(host, std::chrono::milliseconds{1}, Failed{asked.id});
                       send(host, to->second, small_message, Question{asked.id, asked.question}, asked.id);
                   },
                   [&](const Exchange::Drop&) { service.trouble = cluster_.now(); },
                   [&](const Exchange::Give& give) {
                       const auto operation = operations_.find({host, give.id.value});
                       if (operation == operations_.end()) return;
                       operation->second.fetched = give.segment->size() == removal_bytes ? 0 : stamp_in(*give.segment);
                   },
                   [&](const Exchange::LoadOver& over) {
                       auto operation = operations_.extract({host, over.id.value});
                       if (operation.empty()) return;
                       const std::uint64_t stamp = operation.mapped().fetched;
                       if (stamp == 0) return end(std::move(operation.mapped()), 0);
                       ++counters_.from_peers;
                       const kv::SegmentKey& key = keys_[operation.mapped().number];
                       if (known(service, key).item.stamp < stamp)
                           service.memory[key] = {{key, stamp, value_bytes}, false};
                       end(std::move(operation.mapped()), stamp);
                   },
                   [&](const Exchange::Store& store) {
                       if (!cluster_.peer(host).disk.takes_writes())
                           return service.exchange->handle_stored(cluster_.local_now(cluster_.peer(host)), store.item,
                                                                  kv::OfferOutcome::refused);
                       later(host, cluster_.peer(host).disk.faults().sync_time, Written{store.item, false});
                   },
                   [&](const Exchange::Answer& answer) {
                       const auto offer = offers_.extract({host, answer.id});
                       if (offer.empty()) return;
                       const auto [to, id] = offer.mapped();
                       send(host, to, small_message, Outcomes{id, answer.outcomes}, std::nullopt);
                   },
                   [](const Exchange::Kept&) {}, [](const Exchange::LookCold&) {}, [](const Exchange::ReadCold&) {},
                   [&](const Exchange::Spare& spare) {
                       const auto memory = service.memory.find(spare.item.key);
                       if (memory != service.memory.end() && memory->second.item.stamp == spare.item.stamp)
                           memory->second.is_unsettled = false;
                       const auto stored = service.disk.find(spare.item.key);
                       if (stored && stored->stamp == spare.item.stamp) service.disk.items.erase(spare.item.key);
                   },
                   [&](const Exchange::Found& one) { found(host, one); }},
        std::move(output));
}

void ValueCluster::found(Host host, const kv::Exchange::Found& found) {
    auto at = operations_.extract({host, found.id.value});
    if (at.empty()) return;
    Operation& operation = at.mapped();
    Service& service = services_[host];
    const kv::ValueVerdict& verdict = operation.verdict = found.verdicts[0];
    counters_.unsure += verdict.is_sure ? 0 : 1;
    service.clock.observe(cluster_.peer(host).clock.wall(cluster_.now()), verdict.stamp);
    if (operation.purpose == Purpose::remove) {
        if (verdict.is_found() || !verdict.is_sure) {
            ++counters_.removed;
            write(host, operation.number, true, verdict.stamp);
        }
        return;
    }
    if (!verdict.is_found()) return end(std::move(operation), 0);
    if (verdict.is_local) return end(std::move(operation), verdict.stamp);
    const kv::LoadId id{++numbered_};
    const kv::Item item{keys_[operation.number], verdict.stamp, 0};
    const std::vector<PeerId> holders = verdict.holders;
    operations_.emplace(std::pair(host, id.value), std::move(operation));
    service.exchange->fetch(cluster_.local_now(cluster_.peer(host)), id, item, holders);
}

// `stamp` 0: a miss, which is legal at any time.
void ValueCluster::end(Operation operation, std::uint64_t stamp) {
    const std::vector<Acknowledged>& all = acknowledged_[operation.number];
    if (operation.purpose == Purpose::survey) {
        survey_[operation.number][operation.host] = stamp;
        return;
    }
    ++(stamp == 0 ? counters_.misses : counters_.got);
    if (stamp == 0) return;
    const auto is_it = [stamp](const Acknowledged& one) { return one.stamp == stamp && !one.is_removal; };
    if (std::ranges::none_of(all, is_it))
        oracles_.violate(
            "V1", fmt::format("peer {} answers key {} with what nobody has set", operation.host, operation.number));
    // Whom it could not ask all the while says nothing.
    const Service& service = services_[operation.host];
    if (service.boot != operation.boot || service.trouble + trouble_time > operation.began) return;
    for (const Acknowledged& one : operation.before) {
        if (!in_reach(operation.host, one, operation.number)) continue;
        ++counters_.checked;
        if (stamp >= one.stamp) continue;
        oracles_.violate("V2",
                         fmt::format("peer {} answers key {} with a write that is {:.3f} s older than {} which its "
                                     "owner peer {} had acknowledged",
                                     operation.host, operation.number,
                                     static_cast<double>((one.stamp >> 16) - (stamp >> 16)) * 16e-6,
                                     one.is_removal ? "a removal" : "another", one.by));
        return;
    }
}

std::uint64_t ValueCluster::write(Host host, std::uint32_t number, bool is_removal, std::uint64_t after) {
    Service& service = services_[host];
    const kv::SegmentKey& key = keys_[number];
    const WallTime wall = cluster_.peer(host).clock.wall(cluster_.now());
    const std::uint64_t stamp = service.clock.next(wall, std::max(after, known(service, key).item.stamp));
    const kv::Item stored{key, stamp, is_removal ? removal_bytes : value_bytes};
    service.memory[key] = {told(stored), true};
    acknowledged_[number].push_back({stamp, host, service.boot, is_removal});
    if (cluster_.peer(host).disk.takes_writes())
        later(host, cluster_.peer(host).disk.faults().sync_time, Written{stored, true});
    else
        service.exchange->add(cluster_.local_now(cluster_.peer(host)), stored);
    return stamp;
}

kv::KnownValue ValueCluster::known(const Service& service, const kv::SegmentKey& key) const {
    kv::KnownValue known{{key, 0, 0}};
    if (const auto stored = service.disk.find(key)) known = {told(*stored), true};
    const auto memory = service.memory.find(key);
    if (memory == service.memory.end() || memory->second.item.stamp < known.item.stamp) return known;
    known.is_unsettled = memory->second.is_unsettled || memory->second.item.stamp == known.item.stamp;
    known.item = memory->second.item;
    return known;
}

// All of the core see its owners there. Others may reach some of the core only, and answer them.
bool ValueCluster::is_of(const std::vector<Host>& core, std::uint32_t number) {
    return std::ranges::all_of(core, [&](Host host) {
        Service* service = service_of(host);
        if (service == nullptr) return false;
        return std::ranges::all_of(service->exchange->placement().owners(keys_[number]), [&](PeerId owner) {
            const auto at = hosts_.find(owner);
            return at != hosts_.end() && cluster_.peer(at->second).id == owner &&
                   std::ranges::binary_search(core, at->second);
        });
    });
}

bool ValueCluster::is_settled(const std::vector<Host>& core, std::string& why) {
    if (scenario_.values.rate <= 0) return true;
    why.clear();
    counters_.agreed = 0;
    for (std::uint32_t number = 0; number < keys_.size() && why.empty(); ++number) {
        if (!is_of(core, number)) continue;
        const std::map<Host, std::uint64_t>& answers = survey_[number];
        std::uint64_t floor = 0;
        for (const Acknowledged& one : acknowledged_[number])
            if (std::ranges::binary_search(core, one.by) && cluster_.peer(one.by).boot == one.boot)
                floor = std::max(floor, one.stamp);
        std::set<std::uint64_t> different;
        for (const Host host : core) {
            const auto answered = answers.find(host);
            if (answered == answers.end())
                why = fmt::format("V3: peer {} has not answered key {}", host, number);
            else
                different.insert(answered->second);
        }
        // A question that is lost is a miss, which is legal; two answers are not, nor is one that was written over.
        const bool has_misses = different.erase(0) > 0;
        const auto is_removal = [&](const Acknowledged& one) { return one.stamp >= floor && one.is_removal; };
        if (why.empty() && different.size() > 1)
            why = fmt::format("V3: the core has {} answers to key {}", different.size(), number);
        if (why.empty() && !different.empty() && *different.begin() < floor)
            why = fmt::format("V3: key {} is answered with an older write than one that stands", number);
        if (why.empty() && has_misses && different.empty() && floor != 0 &&
            std::ranges::none_of(acknowledged_[number], is_removal))
            why = fmt::format("V3: key {} is gone, and nobody has removed it", number);
        counters_.agreed += why.empty() ? 1 : 0;
    }
    for (auto& answers : survey_) answers.clear();
    for (const Host host : core)
        for (std::uint32_t number = 0; number < keys_.size(); ++number)
            if (Service* service = service_of(host); service != nullptr && !cluster_.peer(host).paused)
                begin(*service, {Purpose::survey, host, service->boot, number, cluster_.now(), {}, {}});
    return why.empty();
}

// `fails`: which question of the sender's fails when the message cannot be sent.
void ValueCluster::send(Host from, Host to, std::size_t bytes, Happening what, std::optional<kv::AskId> fails) {
    const LinkResult result = cluster_.send_data(from, to, cluster_.peer(to).id, bytes);
    switch (result.kind) {
        case LinkResult::Kind::arrives:
            return push(result.at, {from, to, std::move(what)}, cluster_.peer(to).boot);
        case LinkResult::Kind::fails:
            if (fails) push(result.at, {to, from, Failed{*fails}}, cluster_.peer(from).boot);
            return;
        case LinkResult::Kind::vanishes:
            return;
    }
}

void ValueCluster::later(Host host, Duration wait, Happening what) {
    push(cluster_.now() + wait, {host, host, std::move(what)}, cluster_.peer(host).boot);
}

void ValueCluster::push(WorldTime at, Message message, std::uint32_t boot) {
    const Host to = message.to;
    const std::uint64_t number = ++numbered_;
    messages_.emplace(number, std::move(message));
    cluster_.push(at, EventKind::values, to, number, boot);
}

}  // namespace exa::sim
