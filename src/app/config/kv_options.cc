#include "app/config/option_kinds.h"
#include "app/config/options.h"

namespace exa::app::config {

namespace {

Option<KvSettings> enabled_option() {
    auto option = parsed<KvSettings, std::optional<bool>>(
        "enabled", OptionType::boolean, "BOOL", &KvSettings::enabled,
        [](std::string_view text, std::optional<bool>& value) {
            if (text != "true" && text != "false") return bad_value(text, "true or false");
            value = text == "true";
            return std::string();
        },
        [](const std::optional<bool>& value) { return std::string(value.value_or(false) ? "true" : "false"); },
        "Whether KV cache is also kept outside the replicas, in memory and on disk, and found there again by the "
        "content "
        "of prompts.");
    option.range = "true or false";
    return std::move(option).defaults_to("true with model.engine = builtin or kv.resp_listen, else false");
}

}  // namespace

std::vector<Option<KvSettings>> kv_options() {
    using std::chrono::hours;
    return {
        enabled_option(),
        whole_number("segment_tokens", "N", "", &KvSettings::segment_tokens, 16, 1'024,
                     "Tokens of one segment, the unit in which KV is kept and found. Peers with different values find "
                     "nothing of one another's.",
                     16),
        whole_number("memory_mib", "MIB", "MiB", &KvSettings::memory_mib, 0, 16'777'216,
                     "Memory for recently used segments, for all replicas of the peer together."),
        text_option("directory", "DIR", &KvSettings::directory,
                    "Directory for segments on disk, of this peer alone; use fast local storage. Created if missing.")
            .defaults_to("kv in data_dir"),
        whole_number(
            "capacity_gib", "GIB", "GiB", &KvSettings::capacity_gib, 0, 1'048'576,
            "Most that kv.directory may take of its disk; the least recently used segments go first. 0: nothing "
            "is kept on disk."),
        choice("durability", "HOW", &KvSettings::durability,
               {{"none", io::store::Durability::none},
                {"wal", io::store::Durability::wal},
                {"sync", io::store::Durability::sync}},
               "What a stored segment survives: none (a clean shutdown), wal (a process crash), sync (a power loss). "
               "Lost segments are computed again."),
        duration("ttl_hours", &KvSettings::ttl, hours(0), hours(87'600),
                 "Time after its last use that a segment stays on disk. 0: until its space is needed."),
        whole_number(
            "scrub_mib_per_second", "MIB", "MiB per second", &KvSettings::scrub_mib_per_second, 0, 65'536,
            "Rate at which all of kv.directory is read and verified, once an hour at most. Damaged segments are "
            "dropped and come back from other peers. 0: only what is needed is read."),
        whole_number("tenant_quota_gib", "GIB", "GiB", &KvSettings::tenant_quota_gib, 0, 1'048'576,
                     "Most that the segments of one tenant may take of kv.directory. 0: no limit except "
                     "kv.capacity_gib."),
        text_option(
            "cold_directory", "DIR", &KvSettings::cold_directory,
            "Directory on a file system that all peers mount (Lustre, GPFS, NFS), the same on every peer and for "
            "this cluster alone; it must exist. Segments are written there before they leave kv.directory for "
            "space or age, and read from there when no peer has them any more."),
        whole_number(
            "cold_capacity_gib", "GIB", "GiB", &KvSettings::cold_capacity_gib, 0, 1'073'741'824,
            "Most that kv.cold_directory may hold, the same on every peer; the least recently used segments go "
            "first. It can be exceeded by what is written in a few minutes. 0: no limit except the file "
            "system's."),
        whole_number("cold_readers", "N", "", &KvSettings::cold_readers, 1, 64,
                     "Segments that this peer reads from kv.cold_directory at the same time."),
        text_option(
            "resp_listen", "HOST:PORT", &KvSettings::resp_listen,
            "Address at which other engines' caches (LMCache) and Redis clients reach this peer's store, in the "
            "Redis protocol, without TLS. With security.api_keys_file their password is an API key.",
            address_problem),
        whole_number("resp_memory_mib", "MIB", "MiB", &KvSettings::resp_memory_mib, 1, 16'777'216,
                     "Memory for recently used values of kv.resp_listen; values larger than this are not kept."),
    };
}

}  // namespace exa::app::config
