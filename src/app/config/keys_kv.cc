#include <array>
#include <string_view>

#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

Result<void> set_enabled(PeerConfig& config, std::string_view text) {
    if (text != "true" && text != "false") return bad_value(text, "true or false");
    config.kv_enabled = text == "true";
    return success();
}

Result<void> set_segment_tokens(PeerConfig& config, std::string_view text) {
    PeerConfig one;
    if (!set_number<&PeerConfig::kv_segment_tokens, 16, 1'024>(one, text) || one.kv_segment_tokens % 16 != 0)
        return bad_value(text, "a multiple of 16 from 16 to 1024");
    config.kv_segment_tokens = one.kv_segment_tokens;
    return success();
}

Result<void> set_durability(PeerConfig& config, std::string_view text) {
    if (text != "none" && text != "wal" && text != "sync") return bad_value(text, "none, wal or sync");
    config.kv_durability = text;
    return success();
}

constexpr std::array keys = {
    ConfigKey{"kv.enabled", "BOOL",
              "Whether KV cache is kept outside the replicas too, and found there again: in memory and on disk, by the "
              "content of prompts. Default: true with model.engine = builtin or kv.resp_listen, else false.",
              set_enabled},
    ConfigKey{"kv.segment_tokens", "N",
              "Tokens of one segment, the unit in which KV is kept and found; the same on every peer, or they find "
              "nothing of one another's. Default: 64. Range: 16 to 1024, a multiple of 16.",
              set_segment_tokens},
    ConfigKey{"kv.memory_mb", "MB",
              "Memory for segments that were used lately, in MiB, for all replicas of the peer together. Default: 256. "
              "Range: 0 to 16777216.",
              set_number<&PeerConfig::kv_memory_mb, 0, 16'777'216>},
    ConfigKey{"kv.directory", "DIR",
              "Directory for segments on disk, of this peer alone; fast local storage. Made if missing. Default: kv in "
              "data_dir.",
              set_text<&PeerConfig::kv_directory>},
    ConfigKey{"kv.capacity_gb", "GB",
              "What kv.directory may take of its disk at most, in GiB; the longest unused segments go first. Default: "
              "10. Range: 1 to 1048576, or 0: nothing is kept on disk.",
              set_number<&PeerConfig::kv_capacity_gb, 0, 1'048'576>},
    ConfigKey{"kv.durability", "HOW",
              "What a stored segment survives: none an orderly end of the peer, wal the death of the process, sync the "
              "loss of power. What is lost is computed again. Default: wal.",
              set_durability},
    ConfigKey{"kv.ttl_hours", "H",
              "Hours after its last use that a segment stays on disk. Default: 24. Range: 1 to 87600, or 0: until its "
              "room is needed.",
              set_number<&PeerConfig::kv_ttl_hours, 0, 87'600>},
    ConfigKey{
        "kv.scrub_mb", "MB",
        "MiB a second that are read of kv.directory to verify all of it, once an hour at most; what is bad is "
        "dropped, and comes back from other peers. Default: 16. Range: 1 to 65536, or 0: what nobody needs is not "
        "read.",
        set_number<&PeerConfig::kv_scrub_mb, 0, 65'536>},
    ConfigKey{"kv.tenant_quota_gb", "GB",
              "What the segments of one tenant may take of kv.directory at most, in GiB. Default: 0, no bound but "
              "kv.capacity_gb. Range: 0 to 1048576.",
              set_number<&PeerConfig::kv_tenant_quota_gb, 0, 1'048'576>},
    ConfigKey{"kv.cold_directory", "DIR",
              "Directory on a file system that all peers mount (Lustre, GPFS, NFS), the same on every peer and this "
              "cluster's alone; it must exist. Segments are written there before they leave kv.directory for room or "
              "age, and read from there when no peer has them any more. Default: none.",
              set_text<&PeerConfig::kv_cold_directory>},
    ConfigKey{
        "kv.cold_capacity_gb", "GB",
        "What kv.cold_directory may hold, in GiB, the same on every peer; the longest unused segments go first. "
        "Kept within what is written in some minutes. Default: 0, no bound but the file system's own. Range: 0 to "
        "1073741824.",
        set_number<&PeerConfig::kv_cold_capacity_gb, 0, 1'073'741'824>},
    ConfigKey{"kv.cold_readers", "N",
              "Segments that this peer reads from kv.cold_directory at the same time. Default: 4. Range: 1 to 64.",
              set_number<&PeerConfig::kv_cold_readers, 1, 64>},
    ConfigKey{
        "kv.resp_listen", "HOST:PORT",
        "Where other engines' caches (LMCache) and clients of Redis reach this peer's store, in the Redis protocol, "
        "without TLS. With security.api_keys_file their password is an API key. Default: nowhere.",
        set_address<&PeerConfig::kv_resp_listen>},
    ConfigKey{
        "kv.resp_memory_mb", "MB",
        "Memory for values of kv.resp_listen that were used lately, in MiB; larger values than this are not kept. "
        "Default: 256. Range: 1 to 16777216.",
        set_number<&PeerConfig::kv_resp_memory_mb, 1, 16'777'216>},
};

}  // namespace

std::span<const ConfigKey> kv_keys() {
    return keys;
}

}  // namespace exa::app
