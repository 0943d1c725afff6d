#include <array>
#include <string_view>

#include "app/config_keys.h"
#include "app/config_setters.h"

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

constexpr std::array keys = {
    ConfigKey{"kv.enabled", "BOOL",
              "Whether KV cache is kept outside the replicas too, and found there again: by the content of prompts."
              " Default: true with model.engine = builtin, else false.",
              set_enabled},
    ConfigKey{"kv.segment_tokens", "N",
              "Tokens of one segment, the unit in which KV is kept and found; the same on every peer, or they find "
              "nothing of one another's. Default: 64. Range: 16 to 1024, a multiple of 16.",
              set_segment_tokens},
    ConfigKey{"kv.memory_mb", "MB",
              "Memory for segments that were used lately, in MiB, for all replicas of the peer together. Default: 256. "
              "Range: 0 to 16777216.",
              set_number<&PeerConfig::kv_memory_mb, 0, 16'777'216>},
};

}  // namespace

std::span<const ConfigKey> kv_keys() {
    return keys;
}

}  // namespace exa::app
