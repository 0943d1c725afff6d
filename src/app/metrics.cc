#include "app/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "app/admin/admin_json.h"

namespace exa::app {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
  public:
    explicit Families(const MetricsInput& input) : peer_{"peer", input.peer} {}

    void begin(std::string name, std::string help, MetricType type) {
        families_.push_back({"exaserve_" + std::move(name), std::move(help), type, {}});
    }

    void add(std::vector<ClientMetric::Label> labels, double value) {
        ClientMetric sample;
        sample.label = std::move(labels);
        sample.label.insert(sample.label.begin(), peer_);
        (families_.back().type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
        families_.back().metric.push_back(std::move(sample));
    }

    void counter(std::string name, std::string help, std::uint64_t value,
                 std::vector<ClientMetric::Label> labels = {}) {
        begin(std::move(name), std::move(help), MetricType::Counter);
        add(std::move(labels), static_cast<double>(value));
    }

    std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    ClientMetric::Label peer_;
    std::vector<MetricFamily> families_;
};

void add_cluster(Families& families, const MetricsInput& input) {
    const ControlView& control = input.control;
    families.begin("alarm", "1 while the peer raises it; see the operations page.", MetricType::Gauge);
    families.add({{"alarm", "losses_held"}}, control.members->alarms.losses_held ? 1 : 0);
    families.add({{"alarm", "udp_blocked"}}, control.members->alarms.udp_blocked ? 1 : 0);
    families.add({{"alarm", "api_keys"}}, input.api_keys_unused ? 1 : 0);
    families.add({{"alarm", "certificate"}}, input.certificate_unused ? 1 : 0);
    families.begin("members", "Peers as this one sees them, by liveness.", MetricType::Gauge);
    std::array<double, 5> members{};
    for (const auto& member : control.members->members) ++members.at(static_cast<std::size_t>(member->liveness));
    for (std::size_t i = 0; i < members.size(); ++i)
        families.add({{"liveness", std::string(name_of(static_cast<membership::Liveness>(i)))}}, members[i]);
    families.begin("ring_replicas", "Replicas on the ring, by model.", MetricType::Gauge);
    for (const router::Pool& pool : control.routing->pools())
        families.add({{"model", pool.key.model}, {"version", pool.key.version}}, pool.count);
    families.counter("gossip_received_total", "Datagrams received.", control.udp.received);
    families.counter("gossip_sent_total", "Datagrams sent.", control.udp.sent);
    families.counter("gossip_received_bytes_total", "Payload of datagrams received.", control.udp.bytes_received);
    families.counter("gossip_sent_bytes_total", "Payload of datagrams sent.", control.udp.bytes_sent);
    families.counter("gossip_refused_total",
                     "Datagrams ignored: malformed, oversized, of another cluster or wire version.",
                     control.gossip_refused + control.udp.oversized);
}

void add_seal(Families& families, const SealView& seal) {
    families.begin("gossip_sealed", "1 when gossip and links of this peer are sealed.", MetricType::Gauge);
    families.add({}, seal.sealed ? 1 : 0);
    families.begin("gossip_unopened_total", "Datagrams dropped before they were read, by why.", MetricType::Counter);
    const std::array<std::pair<const char*, std::uint64_t>, 5> causes = {
        {{"plain", seal.counters.plain},
         {"sealed", seal.counters.sealed},
         {"unknown_key", seal.counters.unknown_key},
         {"not_authentic", seal.counters.not_authentic},
         {"replayed", seal.counters.replayed}}};
    for (const auto& [cause, count] : causes) families.add({{"cause", cause}}, static_cast<double>(count));
    families.begin("seal_alarms", "Alarms about gossip that does not belong to this cluster's seal.",
                   MetricType::Gauge);
    families.add({}, static_cast<double>(seal.alarms.size()));
}

void add_replicas(Families& families, const LocalReplicas& replicas) {
    struct Gauge {
        const char* name;
        const char* help;
        double (*value)(const LocalReplica&);
    };
    static constexpr std::array gauges = {
        Gauge{"replica_in_flight", "Requests a replica of this peer works on.",
              [](const LocalReplica& replica) { return static_cast<double>(replica.backend->load().in_flight); }},
        Gauge{"replica_limit", "Requests that a replica admits at the same time, at present.",
              [](const LocalReplica& replica) { return static_cast<double>(replica.backend->load().in_flight_limit); }},
        Gauge{"replica_waiting", "Requests that wait for a place of a replica.",
              [](const LocalReplica& replica) { return static_cast<double>(replica.backend->load().queued); }},
        Gauge{"replica_tbt_p99_seconds", "Time between two tokens of an answer; 0 when nothing was measured lately.",
              [](const LocalReplica& replica) { return replica.backend->load().tbt_p99_ms / 1000.0; }},
        Gauge{"replica_ttft_p99_seconds", "Time from a place to the first token; 0 when nothing was measured lately.",
              [](const LocalReplica& replica) { return replica.backend->load().ttft_p99_ms / 1000.0; }},
        Gauge{"replica_queued_tokens", "Prompt tokens that wait for prefill.",
              [](const LocalReplica& replica) { return static_cast<double>(replica.backend->load().queued_tokens); }},
        Gauge{"replica_kv_used_ratio", "Share of a replica's KV pages in use.",
              [](const LocalReplica& replica) { return replica.backend->load().kv_used_permille / 1000.0; }},
        Gauge{
            "replica_ready", "1 when a replica of this peer is ready.",
            [](const LocalReplica& replica) { return replica.state.load() == wire::ReplicaState::ready ? 1.0 : 0.0; }},
    };
    const auto list = replicas.all();
    for (const Gauge& gauge : gauges) {
        families.begin(gauge.name, gauge.help, MetricType::Gauge);
        for (const auto& replica : *list)
            families.add({{"replica", to_string(replica->record.id)}, {"model", replica->record.model}},
                         gauge.value(*replica));
    }
}

// One sample of every data-plane thread.
class Threads {
  public:
    Threads(Families& families, const std::vector<ThreadStats>& threads) : families_(families), threads_(threads) {}

    template <class Value>
    void add(std::string name, std::string help, MetricType type, Value value) const {
        families_.begin(std::move(name), std::move(help), type);
        for (std::size_t i = 0; i < threads_.size(); ++i)
            families_.add({{"thread", std::to_string(i)}}, static_cast<double>(value(threads_[i])));
    }
    template <class Value>
    void counter(std::string name, std::string help, Value value) const {
        add(std::move(name), std::move(help), MetricType::Counter, value);
    }

  private:
    Families& families_;
    const std::vector<ThreadStats>& threads_;
};

void add_requests(Families& families, const std::vector<ThreadStats>& threads) {
    families.begin("requests_total", "Requests of clients at this entry, by how they ended.", MetricType::Counter);
    for (std::size_t i = 0; i < threads.size(); ++i) {
        const router::Counters& counters = threads[i].dispatcher;
        const std::array<std::pair<const char*, std::uint64_t>, 4> ends = {{{"finished", counters.finished},
                                                                            {"rejected", counters.rejected},
                                                                            {"broken", counters.broken},
                                                                            {"abandoned", counters.abandoned}}};
        for (const auto& [end, count] : ends)
            families.add({{"thread", std::to_string(i)}, {"end", end}}, static_cast<double>(count));
    }
}

void add_links(const Threads& threads, std::string_view side, io::LinkStats ThreadStats::* links) {
    const std::string prefix = "links_" + std::string(side) + "_";
    const auto of = [links](auto member) { return [=](const ThreadStats& stats) { return stats.*links.*member; }; };
    threads.add(prefix + "now", "Peer links open.", MetricType::Gauge, of(&io::LinkStats::links_now));
    threads.counter(prefix + "broken_total", "Links that ended without a goodbye.", of(&io::LinkStats::links_broken));
    threads.counter(prefix + "refused_total", "Links refused: another cluster, version or peer, too many.",
                    of(&io::LinkStats::links_refused));
    threads.counter(prefix + "malformed_total", "Links closed for bytes that are not the protocol.",
                    of(&io::LinkStats::malformed));
    threads.counter(prefix + "streams_total", "Streams opened.", of(&io::LinkStats::streams_opened));
}

void add_serving(const Threads& threads) {
    const auto of = [](auto member) { return [=](const ThreadStats& stats) { return stats.serving.*member; }; };
    threads.counter("served_total", "Requests that replicas of this peer were asked to serve.",
                    of(&ReceiverStats::requests));
    threads.counter("served_busy_total", "Of them, answered busy.", of(&ReceiverStats::refused_busy));
    threads.counter("served_cancelled_total", "Of them, given up by the client.", of(&ReceiverStats::cancelled));
    threads.counter("prompt_tokens_total", "Prompt tokens of answers made here.", of(&ReceiverStats::prompt_tokens));
    threads.counter("cached_prompt_tokens_total", "Of them, not computed: found in a cache.",
                    of(&ReceiverStats::cached_tokens));
    threads.counter("completion_tokens_total", "Tokens of answers made here.", of(&ReceiverStats::completion_tokens));
}

void add_values(Families& families, const KvValuesStats& values) {
    const auto gauge = [&](std::string name, std::string help, std::uint64_t value) {
        families.begin(std::move(name), std::move(help), MetricType::Gauge);
        families.add({}, static_cast<double>(value));
    };
    gauge("resp_values", "Values of the Redis port in memory.", values.memory_values);
    gauge("resp_memory_bytes", "Of them.", values.memory_bytes);
    gauge("resp_queued_values", "Of them, those that wait for the disk.", values.queued_values);
    gauge("resp_queued_bytes", "Of values that wait for the disk.", values.queued_bytes);
    families.begin("resp_keys_total", "Keys of requests at the Redis port, by command and how it went.",
                   MetricType::Counter);
    const auto keys = [&](std::string command, std::string outcome, std::uint64_t count) {
        families.add({{"command", std::move(command)}, {"outcome", std::move(outcome)}}, static_cast<double>(count));
    };
    keys("get", "memory", values.hits_memory);
    keys("get", "disk", values.hits_disk);
    keys("get", "peers", values.hits_peers);
    keys("get", "miss", values.misses);
    keys("set", "taken", values.sets);
    keys("set", "unmet", values.sets_unmet);
    keys("exists", "found", values.existing);
    keys("exists", "missing", values.not_existing);
    keys("del", "removed", values.removed);
    keys("del", "missing", values.not_removed);
    families.counter("resp_scans_total", "SCAN commands.", values.scans);
    families.counter("resp_set_bytes_total", "Of values that were set.", values.set_bytes);
    families.counter("resp_got_bytes_total", "Of values that were answered.", values.got_bytes);
    families.counter("resp_stored_total", "Values and removals that were stored on this peer's disk.", values.stored);
    families.counter("resp_overwritten_total", "Values written over before they were stored.", values.overwritten);
    families.counter("resp_refused_total", "Values not kept, for want of memory, or by the disk.", values.refused);
    families.counter("resp_searches_total", "Operations for which the owners of their keys were asked.",
                     values.searches);
    families.counter("resp_unsure_total", "Of them, those in which not every owner answered in time.", values.unsure);
}

void add_kv(Families& families, const KvStats& kv) {
    const auto gauge = [&](std::string name, std::string help, std::uint64_t value) {
        families.begin(std::move(name), std::move(help), MetricType::Gauge);
        families.add({}, static_cast<double>(value));
    };
    gauge("kv_memory_bytes", "Of segments in the peer's memory, outside its replicas.", kv.memory_bytes);
    gauge("kv_queued_segments", "Segments that wait to be stored.", kv.queued_segments);
    gauge("kv_queued_bytes", "Of segments that wait to be stored.", kv.queued_bytes);
    families.counter("kv_finished_total", "Segments taken from replicas.", kv.finished);
    families.counter("kv_dropped_total", "Segments not taken, because too many waited to be stored.", kv.dropped);
    families.counter("kv_refused_total", "Segments that the disk refused: it is full, or the tenant's quota is.",
                     kv.refused);
    families.counter("kv_loads_total", "Prompts whose segments were looked for outside the replica.", kv.loads);
    families.counter("kv_misses_total", "Of them, those of which not all was found.", kv.misses);
    families.begin("kv_hits_total", "Segments found, by where.", MetricType::Counter);
    families.add({{"tier", "memory"}}, static_cast<double>(kv.hits_memory));
    families.add({{"tier", "disk"}}, static_cast<double>(kv.hits_disk));
    families.add({{"tier", "peers"}}, static_cast<double>(kv.hits_peers));
    families.add({{"tier", "cold"}}, static_cast<double>(kv.hits_cold));
    if (kv.cold) {
        const io::ColdStats& cold = *kv.cold;
        gauge("kv_cold_closed_off", "1 while the shared directory is not asked, because it fails or hangs.",
              cold.is_closed_off ? 1 : 0);
        gauge("kv_cold_full", "1 while nothing is written to the shared directory, because it took no more.",
              cold.is_full ? 1 : 0);
        gauge("kv_cold_files", "Segments in the part of the shared directory that this peer looks after.", cold.files);
        gauge("kv_cold_bytes", "What they take.", cold.bytes);
        gauge("kv_cold_share_bytes", "What they may take; 0: no bound.", cold.share_bytes);
        gauge("kv_cold_bytes_per_second", "How fast the shared directory was read of late.", cold.bytes_per_s);
        families.counter("kv_cold_reads_total", "Segments read from the shared directory, also for other peers.",
                         cold.reads);
        families.counter("kv_cold_read_bytes_total", "Of these.", cold.read_bytes);
        families.counter("kv_cold_declined_total", "Segments found there that were sooner computed than read.",
                         cold.declined);
        families.counter("kv_cold_written_total", "Segments written there before they left the disk.", cold.written);
        families.counter("kv_cold_written_bytes_total", "Of these.", cold.written_bytes);
        families.counter("kv_cold_present_total", "Segments not written, because another peer had.", cold.present);
        families.counter("kv_cold_evicted_total", "Segments removed from there for room.", cold.evicted);
        families.counter("kv_cold_refused_total",
                         "Segments that the shared directory was not asked for: it was closed off, or too many waited.",
                         cold.refused);
        families.counter("kv_cold_corrupt_total", "Segments there that did not verify, and were removed.",
                         cold.corrupt);
        families.counter("kv_cold_errors_total", "Errors of the shared directory.", cold.errors);
    }
    if (kv.values) add_values(families, *kv.values);
    if (!kv.disk) return;
    gauge("kv_disk_segments", "Segments on disk.", kv.disk->entries);
    gauge("kv_disk_bytes", "What the directory of segments takes of the disk.", kv.disk->physical_bytes);
    gauge("kv_disk_capacity_bytes", "What it may take.", kv.disk->capacity_bytes);
    families.counter("kv_disk_evicted_total", "Segments that made room for others.", kv.disk->evicted);
    families.counter("kv_disk_expired_total", "Segments that nobody used for too long.", kv.disk->expired);
    families.counter("kv_disk_unsettled_total",
                     "Of those that went for room or age, segments that were not in the shared directory.",
                     kv.disk->unsettled);
    families.counter("kv_disk_corrupt_total", "Segments dropped because they did not verify.", kv.disk->corrupt);
    families.counter("kv_scrubbed_total", "Segments read on disk only to be verified.", kv.scrubbed);
    families.counter("kv_scrub_rounds_total", "Times that all of the disk was read for that.", kv.scrub_rounds);
    families.counter("kv_recovered_total", "Segments that were bad on disk and came back from peers.",
                     kv.peers ? kv.peers->recovered : 0);
    families.counter("kv_disk_errors_total", "Errors of the disk.", kv.disk->disk_errors);
}

void add_http(const Threads& threads) {
    const auto of = [](auto member) { return [=](const ThreadStats& stats) { return stats.http.*member; }; };
    threads.add("http_connections_now", "Client connections open.", MetricType::Gauge,
                of(&io::HttpStats::connections_now));
    threads.counter("header_fields_left_out_total",
                    "Fields of clients' headers not passed on to servers, because they are too large or too many.",
                    [](const ThreadStats& stats) { return stats.fields_left_out; });
    threads.counter("http_requests_total", "HTTP requests.", of(&io::HttpStats::requests));
    threads.counter("http_refused_total", "HTTP requests refused by the server itself.", of(&io::HttpStats::refused));
    threads.counter("http_disconnected_total", "Clients that went away before their answer was complete.",
                    of(&io::HttpStats::disconnected));
    threads.counter("http_unshaken_total", "Connections whose TLS handshake failed or took too long.",
                    of(&io::HttpStats::unshaken));
    threads.counter("http_writes_total", "System calls that wrote to clients.", of(&io::HttpStats::writes));
}

}  // namespace

std::string metrics_text(const MetricsInput& input) {
    Families families(input);
    const Threads threads(families, input.threads);
    add_cluster(families, input);
    add_seal(families, *input.control.seal);
    add_replicas(families, input.replicas);
    add_requests(families, input.threads);
    threads.counter("retries_total", "Attempts behind the first of a request.",
                    [](const ThreadStats& stats) { return stats.dispatcher.retries; });
    add_serving(threads);
    if (input.kv) add_kv(families, *input.kv);
    add_http(threads);
    add_links(threads, "dialled", &ThreadStats::links_dialled);
    add_links(threads, "accepted", &ThreadStats::links_accepted);
    return families.text();
}

}  // namespace exa::app
