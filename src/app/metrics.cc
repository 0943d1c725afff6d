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

    void gauge(std::string name, std::string help, std::uint64_t value) {
        begin(std::move(name), std::move(help), MetricType::Gauge);
        add({}, static_cast<double>(value));
    }

    std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    ClientMetric::Label peer_;
    std::vector<MetricFamily> families_;
};

void add_cluster(Families& families, const MetricsInput& input) {
    const shared::ControlView& control = input.control;
    families.begin("alarm", "1 while the peer raises this alarm; docs/operations.md says what to do.",
                   MetricType::Gauge);
    families.add({{"alarm", "losses_held"}}, control.members->alarms.losses_held ? 1 : 0);
    families.add({{"alarm", "udp_blocked"}}, control.members->alarms.udp_blocked ? 1 : 0);
    families.add({{"alarm", "alone_with_seeds"}}, control.members->alarms.alone_with_seeds ? 1 : 0);
    families.add({{"alarm", "seed_silent"}}, control.members->alarms.seed_silent ? 1 : 0);
    families.add({{"alarm", "waits_for_name"}}, control.members->alarms.name_holder != PeerId{} ? 1 : 0);
    families.add({{"alarm", "pair_blocked"}}, control.members->broken.empty() ? 0 : 1);
    families.add({{"alarm", "api_keys"}}, input.api_keys_unused ? 1 : 0);
    families.add({{"alarm", "certificate"}}, input.certificate_unused ? 1 : 0);
    families.begin("members", "Peers of the cluster as this peer sees them, by member state.", MetricType::Gauge);
    std::array<double, 5> members{};
    for (const auto& member : control.members->members) ++members.at(static_cast<std::size_t>(member->liveness));
    for (std::size_t i = 0; i < members.size(); ++i)
        families.add({{"liveness", std::string(admin::name_of(static_cast<membership::Liveness>(i)))}}, members[i]);
    families.begin("ring_replicas", "Replicas on the ring, by model.", MetricType::Gauge);
    for (const router::Pool& pool : control.routing->pools())
        families.add({{"model", pool.key.model}, {"version", pool.key.version}}, pool.count);
    families.counter("gossip_received_total", "Gossip datagrams received.", control.udp.received);
    families.counter("gossip_sent_total", "Gossip datagrams sent.", control.udp.sent);
    families.counter("gossip_received_bytes_total", "Payload bytes of gossip datagrams received.",
                     control.udp.bytes_received);
    families.counter("gossip_sent_bytes_total", "Payload bytes of gossip datagrams sent.", control.udp.bytes_sent);
    families.counter("gossip_refused_total",
                     "Gossip datagrams ignored: malformed, oversized, or from another cluster or wire version.",
                     control.gossip_refused + control.udp.oversized);
}

void add_seal(Families& families, const shared::SealView& seal) {
    families.begin("gossip_encrypted", "1 when this peer encrypts its gossip and links.", MetricType::Gauge);
    families.add({}, seal.sealed ? 1 : 0);
    families.begin("gossip_undecryptable_total",
                   "Gossip datagrams dropped because they could not be decrypted, by cause.", MetricType::Counter);
    const std::array<std::pair<const char*, std::uint64_t>, 5> causes = {
        {{"plaintext", seal.counters.plain},
         {"encrypted", seal.counters.sealed},
         {"unknown_key", seal.counters.unknown_key},
         {"not_authentic", seal.counters.not_authentic},
         {"replayed", seal.counters.replayed}}};
    for (const auto& [cause, count] : causes) families.add({{"cause", cause}}, static_cast<double>(count));
    families.begin("encryption_alarms", "Alarms raised about gossip encryption and cluster keys.", MetricType::Gauge);
    families.add({}, static_cast<double>(seal.alarms.size()));
}

void add_replicas(Families& families, const replica::LocalReplicas& replicas) {
    struct Gauge {
        const char* name;
        const char* help;
        double (*value)(const replica::LocalReplica&);
    };
    static constexpr std::array gauges = {
        Gauge{"replica_in_flight", "Requests that the replica is working on.",
              [](const replica::LocalReplica& replica) {
                  return static_cast<double>(replica.backend->load().in_flight);
              }},
        Gauge{"replica_limit", "Requests that the replica currently admits at the same time.",
              [](const replica::LocalReplica& replica) {
                  return static_cast<double>(replica.backend->load().in_flight_limit);
              }},
        Gauge{"replica_waiting", "Requests queued for a slot at the replica.",
              [](const replica::LocalReplica& replica) { return static_cast<double>(replica.backend->load().queued); }},
        Gauge{"replica_tbt_p99_seconds",
              "99th percentile of the time between two tokens; 0 when nothing was measured recently.",
              [](const replica::LocalReplica& replica) { return replica.backend->load().tbt_p99_ms / 1000.0; }},
        Gauge{"replica_ttft_p99_seconds",
              "99th percentile of the time from admission to the first token; 0 when nothing was measured recently.",
              [](const replica::LocalReplica& replica) { return replica.backend->load().ttft_p99_ms / 1000.0; }},
        Gauge{"replica_queued_tokens", "Prompt tokens waiting for prefill at the replica.",
              [](const replica::LocalReplica& replica) {
                  return static_cast<double>(replica.backend->load().queued_tokens);
              }},
        Gauge{"replica_kv_used_ratio", "Fraction of the replica's KV pages in use.",
              [](const replica::LocalReplica& replica) { return replica.backend->load().kv_used_permille / 1000.0; }},
        Gauge{"replica_ready", "1 when the replica is ready.",
              [](const replica::LocalReplica& replica) {
                  return replica.state.load() == wire::ReplicaState::ready ? 1.0 : 0.0;
              }},
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
    Threads(Families& families, const std::vector<ThreadCounters>& threads) : families_(families), threads_(threads) {}

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
    const std::vector<ThreadCounters>& threads_;
};

void add_requests(Families& families, const std::vector<ThreadCounters>& threads) {
    families.begin("requests_total", "Requests that clients sent to this peer, by how they ended.",
                   MetricType::Counter);
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

void add_links(const Threads& threads, std::string_view side, io::link::LinkStats ThreadCounters::* links) {
    const std::string prefix = "links_" + std::string(side) + "_";
    const auto of = [links](auto member) { return [=](const ThreadCounters& stats) { return stats.*links.*member; }; };
    threads.add(prefix + "now", "Peer links currently open.", MetricType::Gauge, of(&io::link::LinkStats::links_now));
    threads.counter(prefix + "broken_total", "Peer links that ended without a goodbye message.",
                    of(&io::link::LinkStats::links_broken));
    threads.counter(prefix + "refused_total",
                    "Peer links refused: another cluster or wire version, an unexpected peer, or too many links.",
                    of(&io::link::LinkStats::links_refused));
    threads.counter(prefix + "malformed_total", "Peer links closed because the bytes did not follow the protocol.",
                    of(&io::link::LinkStats::malformed));
    threads.counter(prefix + "streams_total", "Streams opened on peer links.",
                    of(&io::link::LinkStats::streams_opened));
}

void add_serving(const Threads& threads) {
    const auto of = [](auto member) { return [=](const ThreadCounters& stats) { return stats.serving.*member; }; };
    threads.counter("served_total", "Requests that replicas of this peer were asked to serve.",
                    of(&replica::ReceiverStats::requests));
    threads.counter("served_busy_total", "Requests that replicas of this peer refused as busy.",
                    of(&replica::ReceiverStats::refused_busy));
    threads.counter("served_cancelled_total", "Requests at replicas of this peer that the client cancelled.",
                    of(&replica::ReceiverStats::cancelled));
    threads.counter("prompt_tokens_total", "Prompt tokens of answers that replicas of this peer produced.",
                    of(&replica::ReceiverStats::prompt_tokens));
    threads.counter("cached_prompt_tokens_total", "Prompt tokens that were not computed because a cache had them.",
                    of(&replica::ReceiverStats::cached_tokens));
    threads.counter("completion_tokens_total", "Tokens generated by replicas of this peer.",
                    of(&replica::ReceiverStats::completion_tokens));
}

void add_values(Families& families, const kv::KvValuesStats& values) {
    const auto gauge = [&](std::string name, std::string help, std::uint64_t value) {
        families.begin(std::move(name), std::move(help), MetricType::Gauge);
        families.add({}, static_cast<double>(value));
    };
    gauge("resp_values", "Redis-port values held in memory.", values.memory_values);
    gauge("resp_memory_bytes", "Bytes of Redis-port values held in memory.", values.memory_bytes);
    gauge("resp_queued_values", "Redis-port values waiting to be written to disk.", values.queued_values);
    gauge("resp_queued_bytes", "Bytes of Redis-port values waiting to be written to disk.", values.queued_bytes);
    families.begin("resp_keys_total", "Keys in Redis-port commands, by command and outcome.", MetricType::Counter);
    const auto keys = [&](std::string command, std::string outcome, std::uint64_t count) {
        families.add({{"command", std::move(command)}, {"outcome", std::move(outcome)}}, static_cast<double>(count));
    };
    keys("get", "memory", values.hits_memory);
    keys("get", "disk", values.hits_disk);
    keys("get", "peers", values.hits_peers);
    keys("get", "miss", values.misses);
    keys("set", "stored", values.sets);
    keys("set", "condition_failed", values.sets_unmet);
    keys("exists", "found", values.existing);
    keys("exists", "missing", values.not_existing);
    keys("del", "removed", values.removed);
    keys("del", "missing", values.not_removed);
    families.counter("resp_scans_total", "SCAN commands at the Redis port.", values.scans);
    families.counter("resp_set_bytes_total", "Bytes of values set at the Redis port.", values.set_bytes);
    families.counter("resp_got_bytes_total", "Bytes of values returned at the Redis port.", values.got_bytes);
    families.counter("resp_stored_total", "Redis-port values and removals written to this peer's disk.", values.stored);
    families.counter("resp_overwritten_total", "Redis-port values overwritten before they reached the disk.",
                     values.overwritten);
    families.counter("resp_refused_total", "Redis-port values not kept because memory or the disk had no room.",
                     values.refused);
    families.counter("resp_searches_total", "Redis-port operations that asked the owners of their keys.",
                     values.searches);
    families.counter("resp_partial_quorum_total", "Redis-port operations in which not every owner answered in time.",
                     values.unsure);
}

void add_cold(Families& families, const io::cold::ColdStats& cold) {
    families.gauge("kv_cold_circuit_open", "1 while the shared directory is left alone because it fails or hangs.",
                   cold.is_closed_off ? 1 : 0);
    families.gauge("kv_cold_full", "1 while nothing is written to the shared directory because it is full.",
                   cold.is_full ? 1 : 0);
    families.gauge("kv_cold_files", "KV segments in the part of the shared directory that this peer maintains.",
                   cold.files);
    families.gauge("kv_cold_bytes",
                   "Bytes of KV segments in the part of the shared directory that this peer maintains.", cold.bytes);
    families.gauge("kv_cold_share_bytes",
                   "Most bytes that this peer's part of the shared directory may take; 0 is no bound.",
                   cold.share_bytes);
    families.gauge("kv_cold_bytes_per_second", "Recent read speed of the shared directory.", cold.bytes_per_s);
    families.counter("kv_cold_reads_total",
                     "KV segments read from the shared directory, including those for other peers.", cold.reads);
    families.counter("kv_cold_read_bytes_total", "Bytes of KV segments read from the shared directory.",
                     cold.read_bytes);
    families.counter("kv_cold_declined_total",
                     "KV segments in the shared directory that were faster to compute than to read.", cold.declined);
    families.counter("kv_cold_written_total", "KV segments written to the shared directory before they left the disk.",
                     cold.written);
    families.counter("kv_cold_written_bytes_total", "Bytes of KV segments written to the shared directory.",
                     cold.written_bytes);
    families.counter("kv_cold_present_total",
                     "KV segments not written to the shared directory because another peer had written them.",
                     cold.present);
    families.counter("kv_cold_evicted_total", "KV segments removed from the shared directory to make room.",
                     cold.evicted);
    families.counter("kv_cold_refused_total",
                     "Requests not sent to the shared directory because its circuit was open or its queue full.",
                     cold.refused);
    families.counter("kv_cold_corrupt_total",
                     "KV segments removed from the shared directory because they did not verify.", cold.corrupt);
    families.counter("kv_cold_errors_total", "I/O errors of the shared directory.", cold.errors);
}

void add_disk(Families& families, const kv::KvStats& kv, const io::store::StoreStats& disk) {
    families.gauge("kv_disk_segments", "KV segments on this peer's disk.", disk.entries);
    families.gauge("kv_disk_bytes", "Disk bytes that the KV directory takes.", disk.physical_bytes);
    families.gauge("kv_disk_capacity_bytes", "Most disk bytes that the KV directory may take.", disk.capacity_bytes);
    families.counter("kv_disk_evicted_total", "KV segments evicted from disk to make room.", disk.evicted);
    families.counter("kv_disk_expired_total", "KV segments removed from disk because nothing used them for too long.",
                     disk.expired);
    families.counter("kv_disk_unpersisted_total",
                     "KV segments evicted or expired from disk before the shared directory had them.",
                     disk.unpersisted);
    families.counter("kv_disk_corrupt_total", "KV segments dropped from disk because they did not verify.",
                     disk.corrupt);
    families.counter("kv_scrubbed_total", "KV segments that the scrubber has read from disk.", kv.scrubbed);
    families.counter("kv_scrub_rounds_total", "Completed scrubs of the whole disk.", kv.scrub_rounds);
    families.counter("kv_recovered_total",
                     "KV segments that were corrupt on disk and have been fetched again from peers.",
                     kv.peers ? kv.peers->recovered : 0);
    families.counter("kv_disk_errors_total", "I/O errors of the KV disk.", disk.disk_errors);
}

void add_kv(Families& families, const kv::KvStats& kv) {
    families.gauge("kv_memory_bytes", "Bytes of KV segments in the peer's memory, outside its replicas.",
                   kv.memory_bytes);
    families.gauge("kv_queued_segments", "KV segments waiting to be stored.", kv.queued_segments);
    families.gauge("kv_queued_bytes", "Bytes of KV segments waiting to be stored.", kv.queued_bytes);
    families.counter("kv_finished_total", "KV segments that replicas handed over to be stored.", kv.finished);
    families.counter("kv_dropped_total", "KV segments dropped because the queue to the disk was full.", kv.dropped);
    families.counter("kv_refused_total", "KV segments refused because the disk or the tenant's quota was full.",
                     kv.refused);
    families.counter("kv_loads_total", "Prompts whose KV segments were looked up outside the replica.", kv.loads);
    families.counter("kv_misses_total", "Prompts for which some KV segments were not found.", kv.misses);
    families.begin("kv_hits_total", "KV segments found, by tier.", MetricType::Counter);
    families.add({{"tier", "memory"}}, static_cast<double>(kv.hits_memory));
    families.add({{"tier", "disk"}}, static_cast<double>(kv.hits_disk));
    families.add({{"tier", "peers"}}, static_cast<double>(kv.hits_peers));
    families.add({{"tier", "cold"}}, static_cast<double>(kv.hits_cold));
    if (kv.cold) add_cold(families, *kv.cold);
    if (kv.values) add_values(families, *kv.values);
    if (kv.disk) add_disk(families, kv, *kv.disk);
}

void add_http(const Threads& threads) {
    const auto of = [](auto member) { return [=](const ThreadCounters& stats) { return stats.http.*member; }; };
    threads.add("http_connections_now", "Client connections currently open.", MetricType::Gauge,
                of(&io::http::HttpStats::connections_now));
    threads.counter("header_fields_left_out_total",
                    "Request header fields not forwarded to attached servers because they were too large or too many.",
                    [](const ThreadCounters& stats) { return stats.fields_left_out; });
    threads.counter("http_requests_total", "HTTP requests received.", of(&io::http::HttpStats::requests));
    threads.counter("http_refused_total", "HTTP requests refused before they were routed.",
                    of(&io::http::HttpStats::refused));
    threads.counter("http_disconnected_total", "Clients that disconnected before their answer was complete.",
                    of(&io::http::HttpStats::disconnected));
    threads.counter("http_tls_handshake_failures_total", "Connections whose TLS handshake failed or took too long.",
                    of(&io::http::HttpStats::tls_handshake_failures));
    threads.counter("http_writes_total", "Write system calls to client connections.", of(&io::http::HttpStats::writes));
}

}  // namespace

std::string metrics_text(const MetricsInput& input) {
    Families families(input);
    const Threads threads(families, input.threads);
    add_cluster(families, input);
    add_seal(families, *input.control.seal);
    add_replicas(families, input.replicas);
    add_requests(families, input.threads);
    threads.counter("retries_total", "Attempts after the first one of a request.",
                    [](const ThreadCounters& stats) { return stats.dispatcher.retries; });
    add_serving(threads);
    if (input.kv) add_kv(families, *input.kv);
    add_http(threads);
    add_links(threads, "dialled", &ThreadCounters::links_dialled);
    add_links(threads, "accepted", &ThreadCounters::links_accepted);
    return families.text();
}

}  // namespace exa::app
