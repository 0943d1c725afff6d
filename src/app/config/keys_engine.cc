#include <array>
#include <string_view>

#include "app/config/keys.h"
#include "app/config/setters.h"

namespace exa::app {

namespace {

Result<void> set_engine(PeerConfig& config, std::string_view text) {
    if (text != "builtin" && text != "null" && text != "attach") return bad_value(text, "builtin, null or attach");
    config.engine = text;
    return success();
}

constexpr std::array keys = {
    ConfigKey{"model.engine", "ENGINE",
              "builtin runs the model file on this machine. attach passes requests on to servers that run already "
              "(attach.*). null has no model and computes nothing: it takes the time that null.* say and answers "
              "noise, for tests of everything around an engine. Default: builtin.",
              set_engine},
    ConfigKey{
        "model.path", "FILE",
        "GGUF file of a Llama-family model. Default: SmolLM2-135M-Instruct in the user's cache, where tools/setup "
        "puts it.",
        set_text<&PeerConfig::model_path>},
    ConfigKey{"model.name", "NAME", "Model name that clients ask for. Default: the file's name without .gguf and type.",
              set_text<&PeerConfig::model_name>},
    ConfigKey{"model.replicas", "N",
              "Replicas that this peer runs; they share one copy of the weights. Default: 1. Range: 0 (an entry only) "
              "to 64. With model.engine = attach they are as many as attach.urls.",
              set_number<&PeerConfig::replicas, 0, 64>},
    ConfigKey{"model.in_flight_limit", "N",
              "Requests that one replica works on at the same time, at most; more go elsewhere, or wait. A replica of "
              "the built-in engine moves its limit between 4 and this, as model.tbt_target_ms asks for. Default: 32. "
              "Range: 1 to 256.",
              set_number<&PeerConfig::in_flight_limit, 1, 256>},
    ConfigKey{
        "model.tbt_target_ms", "MS",
        "Milliseconds between two tokens of an answer that 95 of 100 shall not exceed: a replica of the built-in "
        "engine takes fewer requests at the same time while they do. Default: 100. Range: 1 to 60000, or 0: always "
        "as many as model.in_flight_limit.",
        set_number<&PeerConfig::tbt_target_ms, 0, 60'000>},
    ConfigKey{
        "model.queue_requests", "N",
        "Requests that may wait at one replica when all replicas are at their limits; see http.queue_ms. Default: "
        "64. Range: 0 to 10000.",
        set_number<&PeerConfig::queue_requests, 0, 10'000>},
    ConfigKey{"model.context_tokens", "N",
              "Longest prompt plus answer, in tokens. Default: 0, what the model file says (at most kv_tokens). Range: "
              "0 to 1048576.",
              set_number<&PeerConfig::context_tokens, 0, 1'048'576>},
    ConfigKey{"model.kv_tokens", "N",
              "Tokens of KV cache that one replica holds in memory (23 KB a token for the default model). Default: "
              "16384. Range: 256 to 16777216.",
              set_number<&PeerConfig::kv_tokens, 256, 16'777'216>},
    ConfigKey{"null.prefill_us", "US",
              "Microseconds that a null replica takes for each prompt token. Default: 0. Range: 0 to 1000000.",
              set_number<&PeerConfig::null_prefill_us, 0, 1'000'000>},
    ConfigKey{"null.decode_us", "US",
              "Microseconds from one token of a null replica's answer to the next. Default: 1000. Range: 0 to "
              "60000000.",
              set_number<&PeerConfig::null_decode_us, 0, 60'000'000>},
    ConfigKey{"null.jitter_permille", "N",
              "Thousandths of null.decode_us by which each token comes earlier or later. Default: 0. Range: 0 to 1000.",
              set_number<&PeerConfig::null_jitter_permille, 0, 1000>},
    ConfigKey{"null.answer_tokens", "N",
              "Tokens of a null replica's answer that max_tokens does not cut. Default: 0, as many as max_tokens says. "
              "Range: 0 to 1000000.",
              set_number<&PeerConfig::null_answer_tokens, 0, 1'000'000>},
};

}  // namespace

std::span<const ConfigKey> engine_keys() {
    return keys;
}

}  // namespace exa::app
