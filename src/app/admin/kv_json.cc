#include "app/admin/kv_json.h"

#include <boost/json/object.hpp>

namespace exa::app::admin {

namespace json = boost::json;

namespace {

json::value disk_json(const io::store::StoreStats& disk) {
    return json::object{{"segments", disk.entries},
                        {"bytes", disk.bytes},
                        {"physical_bytes", disk.physical_bytes},
                        {"capacity_bytes", disk.capacity_bytes},
                        {"hits", disk.hits},
                        {"misses", disk.misses},
                        {"stored", disk.stored},
                        {"refused", disk.refused},
                        {"evicted", disk.evicted},
                        {"expired", disk.expired},
                        {"unpersisted", disk.unpersisted},
                        {"corrupt", disk.corrupt},
                        {"errors", disk.disk_errors},
                        {"leases", disk.leases}};
}

json::value peers_json(const node::KvReplicatorStatus& peers) {
    return json::object{{"holders", peers.holders},
                        {"converged", peers.converged},
                        {"waiting", peers.waiting},
                        {"offered", peers.offers.offered},
                        {"held", peers.offers.held},
                        {"refused", peers.offers.refused},
                        {"dropped", peers.offers.dropped},
                        {"fetched", peers.fetched},
                        {"fetched_bytes", peers.fetched_bytes},
                        {"corrupt", peers.corrupt},
                        {"repair",
                         {{"running", peers.repair.is_running},
                          {"passes", peers.repair.passes},
                          {"looked_at", peers.repair.looked_at},
                          {"offered", peers.repair.offered},
                          {"bytes", peers.repair.bytes}}}};
}

json::value cold_json(const io::cold::ColdStats& cold) {
    return json::object{{"closed_off", cold.is_closed_off},
                        {"full", cold.is_full},
                        {"trouble", cold.trouble},
                        {"files", cold.files},
                        {"bytes", cold.bytes},
                        {"share_bytes", cold.share_bytes},
                        {"lookups", cold.lookups},
                        {"found", cold.found},
                        {"declined", cold.declined},
                        {"reads", cold.reads},
                        {"read_bytes", cold.read_bytes},
                        {"bytes_per_s", cold.bytes_per_s},
                        {"missing", cold.missing},
                        {"refused", cold.refused},
                        {"corrupt", cold.corrupt},
                        {"written", cold.written},
                        {"written_bytes", cold.written_bytes},
                        {"present", cold.present},
                        {"evicted", cold.evicted},
                        {"errors", cold.errors}};
}

}  // namespace

json::value kv_json(const std::optional<kv::KvStats>& stats) {
    if (!stats) return json::object{{"enabled", false}};
    return json::object{{"enabled", true},
                        {"memory", {{"segments", stats->memory_segments}, {"bytes", stats->memory_bytes}}},
                        {"queue", {{"segments", stats->queued_segments}, {"bytes", stats->queued_bytes}}},
                        {"finished", stats->finished},
                        {"dropped", stats->dropped},
                        {"refused", stats->refused},
                        {"loads", stats->loads},
                        {"misses", stats->misses},
                        {"scrub",
                         {{"checked", stats->scrubbed},
                          {"dropped", stats->scrub_dropped},
                          {"rounds", stats->scrub_rounds},
                          {"recovered", stats->peers ? stats->peers->recovered : 0}}},
                        {"hits",
                         {{"memory", stats->hits_memory},
                          {"disk", stats->hits_disk},
                          {"peers", stats->hits_peers},
                          {"cold", stats->hits_cold}}},
                        {"disk", stats->disk ? disk_json(*stats->disk) : json::value(nullptr)},
                        {"peers", stats->peers ? peers_json(*stats->peers) : json::value(nullptr)},
                        {"cold", stats->cold ? cold_json(*stats->cold) : json::value(nullptr)}};
}

}  // namespace exa::app::admin
