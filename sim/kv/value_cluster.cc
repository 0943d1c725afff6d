#include "sim/kv/value_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "kv/segment.h"

namespace exa::sim {

namespace {

constexpr std::size_t value_message = 100'000;
// For this long after a failed question its peer may not have been asked.
constexpr std::chrono::seconds trouble_time{3};
constexpr std::uint32_t removal_bytes = kv::segment_header_size;
constexpr std::uint32_t value_bytes = kv::segment_header_size + 8;

// Other peers see a removal as an item of size 0.
kv::Item told(const kv::Item& stored) {
    return {stored.key, stored.stamp, stored.bytes == removal_bytes ? 0 : stored.bytes};
}

node::KvReplicatorConfig replicator_config(Mutant mutant) {
    node::KvReplicatorConfig config;
    config.exchange.mutant = mutant;
    return config;
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

ValueCluster::ValueCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto,
                           Mutant mutant)
    : scenario_(scenario),
      cluster_(cluster),
      oracles_(oracles),
      sealer_(crypto, as_bytes("root"), mutant),
      rng_(cluster.streams().stream("values")),
      services_(cluster.size()),
      replicators_(cluster, *this, sealer_, {EventKind::values, LinkPool::data, value_message},
                   replicator_config(mutant)),
      acknowledged_(scenario.values.keys),
      survey_(scenario.values.keys) {
    for (std::uint64_t number = 0; number < scenario.values.keys; ++number) {
        kv::SegmentKey& key = keys_.emplace_back();
        for (std::uint64_t word = 0; word < 4; ++word) {
            const std::uint64_t value = hash64(number, word);
            std::memcpy(key.bytes.data() + word * 8, &value, 8);
        }
    }
    cluster.handle_with(EventKind::values, [this](const Event& event) {
        if (event.arg == Replicators::user_arg) return begin_operation();
        replicators_.handle(event);
    });
}

void ValueCluster::start() {
    if (scenario_.values.rate <= 0) return;
    cluster_.push(WorldTime{scenario_.values.from}, EventKind::values, 0, Replicators::user_arg);
    replicators_.start();
}

void ValueCluster::wipe(Host host) {
    services_[host].disk.items.clear();
}

const kv::Holdings& ValueCluster::on_start(Host host) {
    Service& service = services_[host];
    service.clock = kv::HybridClock(static_cast<std::uint16_t>(hash64(cluster_.peer(host).id.value, 0)));
    return service.disk;
}

void ValueCluster::on_crash(Host host) {
    services_[host].memory.clear();
    // The next process numbers its searches from one again.
    std::erase_if(operations_, [host](const auto& operation) { return operation.first.first == host; });
}

void ValueCluster::begin_operation() {
    if (stopped_) return;
    cluster_.push(cluster_.now() + duration_of(-std::log(1 - rng_.unit()) / scenario_.values.rate), EventKind::values,
                  0, Replicators::user_arg);
    const Host host = static_cast<Host>(rng_.below(cluster_.size()));
    const auto number = static_cast<std::uint32_t>(rng_.below(keys_.size()));
    const std::uint64_t what = rng_.below(10);
    node::KvReplicator* replicator = replicators_.find(host);
    if (replicator == nullptr || cluster_.peer(host).paused) return;
    if (what < 3) {
        ++counters_.sets;
        write(host, number, false, 0);
        return replicators_.pump(host);
    }
    Operation operation{
        what == 3 ? Purpose::remove : Purpose::get, host, replicators_.boot(host), number, cluster_.now(), {}, {}};
    for (const Acknowledged& one : acknowledged_[number])
        if (reachable(host, one, number)) operation.before.push_back(one);
    begin(*replicator, std::move(operation));
}

void ValueCluster::begin(node::KvReplicator& replicator, Operation operation) {
    const Host host = operation.host;
    const kv::FindId id = replicator.find(replicators_.now(host), {known(host, keys_[operation.number])});
    operations_.emplace(std::pair(host, id.value), std::move(operation));
    replicators_.pump(host);
}

// The peer that acknowledged still runs, is an owner in the reader's view, and both reach each other.
bool ValueCluster::reachable(Host from, const Acknowledged& one, std::uint32_t number) {
    const Peer& by = cluster_.peer(one.by);
    const node::KvReplicator* reader = replicators_.find(from);
    if (reader == nullptr || !by.is_up() || by.boot != one.boot || by.paused || cluster_.peer(from).paused)
        return false;
    const kv::Placement& placement = reader->placement();
    if (!placement.owns(by.id, keys_[number])) return false;
    if (one.by == from) return true;
    return placement.reachable(by.id) && cluster_.network().reaches(from, one.by, false) &&
           cluster_.network().reaches(one.by, from, false);
}

kv::SealedSegment ValueCluster::read(Host host, const kv::SegmentKey& key) {
    const kv::Item there = known(host, key).item;
    if (there.stamp == 0) return nullptr;
    const bool is_removal = there.bytes == 0;
    auto buffer = std::make_shared<kv::SegmentBuffer>(is_removal ? removal_bytes : value_bytes);
    std::ranges::fill(buffer->bytes().subspan(kv::segment_header_size), std::uint8_t{0});
    kv::SegmentHead head;
    head.key = key;
    head.stamp = there.stamp;
    head.kind = is_removal ? kv::SegmentKind::tombstone : kv::SegmentKind::value;
    const std::uint64_t nonce = replicators_.number();
    std::memcpy(head.nonce.data(), &nonce, sizeof nonce);
    sealer_.seal(head, *buffer);
    return buffer;
}

void ValueCluster::observe(Host host, std::uint64_t stamp) {
    services_[host].clock.observe(replicators_.wall(host), stamp);
}

void ValueCluster::on_written(Host host, const kv::Item& item) {
    Disk& disk = services_[host].disk;
    const auto there = disk.find(item.key);
    if (!there || there->stamp < item.stamp) disk.items[item.key] = item;
}

void ValueCluster::deliver(Host host, const kv::Exchange::Deliver& deliver) {
    const auto operation = operations_.find({host, deliver.id.value});
    if (operation == operations_.end()) return;
    const auto head = kv::parse_segment(deliver.segment->view());
    operation->second.fetched = head && head.value().kind == kv::SegmentKind::value ? head.value().stamp : 0;
}

void ValueCluster::end_fetch(Host host, const kv::Exchange::FetchOver& over) {
    auto operation = operations_.extract({host, over.id.value});
    if (operation.empty()) return;
    const std::uint64_t stamp = operation.mapped().fetched;
    if (stamp == 0) return end(std::move(operation.mapped()), 0);
    ++counters_.from_peers;
    const kv::SegmentKey& key = keys_[operation.mapped().number];
    if (known(host, key).item.stamp < stamp) services_[host].memory[key] = {{key, stamp, value_bytes}, false};
    end(std::move(operation.mapped()), stamp);
}

void ValueCluster::store(Host host, const kv::Exchange::Store& store) {
    if (cluster_.peer(host).disk.takes_writes())
        return replicators_.write_later(host, store.item, WriteOrigin::offered);
    replicators_.last(host)->handle_stored(replicators_.now(host), store.item, kv::OfferOutcome::refused);
}

void ValueCluster::on_surplus(Host host, const kv::Exchange::Surplus& surplus) {
    Service& service = services_[host];
    const auto memory = service.memory.find(surplus.item.key);
    if (memory != service.memory.end() && memory->second.item.stamp == surplus.item.stamp)
        memory->second.is_unsettled = false;
    const auto stored = service.disk.find(surplus.item.key);
    if (stored && stored->stamp == surplus.item.stamp) service.disk.items.erase(surplus.item.key);
}

void ValueCluster::on_found(Host host, const kv::Exchange::Found& found) {
    auto at = operations_.extract({host, found.id.value});
    if (at.empty()) return;
    Operation& operation = at.mapped();
    const kv::ValueVerdict& verdict = operation.verdict = found.verdicts[0];
    counters_.unsure += verdict.is_sure ? 0 : 1;
    services_[host].clock.observe(replicators_.wall(host), verdict.stamp);
    if (operation.purpose == Purpose::remove) {
        if (verdict.is_found() || !verdict.is_sure) {
            ++counters_.removed;
            write(host, operation.number, true, verdict.stamp);
        }
        return;
    }
    if (!verdict.is_found()) return end(std::move(operation), 0);
    if (verdict.is_local) return end(std::move(operation), verdict.stamp);
    const kv::Item item{keys_[operation.number], verdict.stamp, 0};
    const kv::FetchId id = replicators_.last(host)->fetch_value(replicators_.now(host), item, verdict.holders);
    operations_.emplace(std::pair(host, id.value), std::move(operation));
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
    if (replicators_.boot(operation.host) != operation.boot ||
        services_[operation.host].trouble + trouble_time > operation.began)
        return;
    for (const Acknowledged& one : operation.before) {
        if (!reachable(operation.host, one, operation.number)) continue;
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
    const std::uint64_t stamp =
        service.clock.next(replicators_.wall(host), std::max(after, known(host, key).item.stamp));
    const kv::Item stored{key, stamp, is_removal ? removal_bytes : value_bytes};
    service.memory[key] = {told(stored), true};
    acknowledged_[number].push_back({stamp, host, replicators_.boot(host), is_removal});
    if (cluster_.peer(host).disk.takes_writes()) {
        replicators_.write_later(host, stored, WriteOrigin::made);
    } else {
        // An older version must not come back in its place, and the disks of its owners may take it.
        service.disk.items.erase(key);
        replicators_.last(host)->handle_written(replicators_.now(host), stored);
    }
    return stamp;
}

kv::KnownValue ValueCluster::known(Host host, const kv::SegmentKey& key) const {
    const Service& service = services_[host];
    kv::KnownValue on_disk{{key, 0, 0}};
    if (const auto stored = service.disk.find(key)) on_disk = {told(*stored), true};
    const auto memory = service.memory.find(key);
    if (memory == service.memory.end()) return on_disk;
    return kv::known_value(on_disk, memory->second.item, memory->second.is_unsettled);
}

// All of the core see its owners there. Others may reach some of the core only, and answer them.
bool ValueCluster::is_of(const std::vector<Host>& core, std::uint32_t number) {
    return std::ranges::all_of(core, [&](Host host) {
        const node::KvReplicator* replicator = replicators_.find(host);
        if (replicator == nullptr) return false;
        return std::ranges::all_of(replicator->placement().owners(keys_[number]), [&](PeerId owner) {
            const auto at = replicators_.host_of(owner);
            return at && cluster_.peer(*at).id == owner && std::ranges::binary_search(core, *at);
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
            if (node::KvReplicator* replicator = replicators_.find(host);
                replicator != nullptr && !cluster_.peer(host).paused)
                begin(*replicator, {Purpose::survey, host, replicators_.boot(host), number, cluster_.now(), {}, {}});
    return why.empty();
}

}  // namespace exa::sim
