#include "app/attach/server.h"
#include "app/config/option_kinds.h"
#include "app/config/options.h"

namespace exa::app::config {

namespace {

std::string url_problem(std::string_view text) {
    const auto server = attach::AttachServer::parse(text);
    return server ? std::string() : server.error().detail;
}

std::string path_problem(std::string_view text) {
    const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
    if (text.starts_with('/') && text.size() <= 255 && is_plain) return {};
    return bad_value(text, "a path such as /health");
}

}  // namespace

std::vector<Option<ModelSettings>> model_options() {
    using std::chrono::milliseconds;
    return {
        choice("engine", "ENGINE", &ModelSettings::engine,
               {{"builtin", EngineKind::builtin}, {"attach", EngineKind::attach}, {"null", EngineKind::null}},
               "builtin runs the model file on this machine. attach forwards requests to servers that already run "
               "(attach.*). null has no model and computes nothing: it takes as long as null.* says and answers noise, "
               "for tests of everything around an engine."),
        text_option("path", "FILE", &ModelSettings::path, "GGUF file of a Llama-family model.")
            .defaults_to("SmolLM2-135M-Instruct in the user's cache, where tools/setup puts it"),
        text_option("name", "NAME", &ModelSettings::name, "Model name that clients ask for.")
            .defaults_to("the file's name without .gguf and type"),
        whole_number("replicas", "N", "", &ModelSettings::replicas, 0, 64,
                     "Replicas that this peer runs; they share one copy of the weights. 0 makes the peer an ingress "
                     "only. With model.engine = attach there are as many as attach.urls."),
        whole_number(
            "in_flight_limit", "N", "", &ModelSettings::in_flight_limit, 1, 256,
            "Most requests that one replica works on at the same time; more go elsewhere, or wait. A replica of "
            "the built-in engine moves its limit between 4 and this to meet model.tbt_target_ms."),
        duration(
            "tbt_target_ms", &ModelSettings::tbt_target, milliseconds(0), milliseconds(60'000),
            "Target for the time between two tokens of an answer, which 99 of 100 shall not exceed: while they do, a "
            "replica of the built-in engine takes fewer requests at the same time. Times in which it also read a "
            "prompt do not count. 0: always as many as model.in_flight_limit."),
        whole_number("queue_requests", "N", "", &ModelSettings::queue_requests, 0, 10'000,
                     "Requests that may wait at one replica when all replicas are at their limits; see "
                     "router.queue_wait_ms."),
        whole_number("context_tokens", "N", "", &ModelSettings::context_tokens, 0, 1'048'576,
                     "Longest prompt plus answer, in tokens. 0: what the model file says, at most model.kv_tokens."),
        whole_number("kv_tokens", "N", "", &ModelSettings::kv_tokens, 256, 16'777'216,
                     "Tokens of KV cache that one replica holds in memory (23 KB a token for the default model)."),
    };
}

std::vector<Option<NullSettings>> null_options() {
    using std::chrono::microseconds;
    return {
        duration("prefill_us", &NullSettings::prefill, microseconds(0), microseconds(1'000'000),
                 "Time that a null replica takes for each prompt token."),
        duration("decode_us", &NullSettings::decode, microseconds(0), microseconds(60'000'000),
                 "Time from one token of a null replica's answer to the next."),
        whole_number("jitter_permille", "N", "", &NullSettings::jitter_permille, 0, 1'000,
                     "Thousandths of null.decode_us by which each token comes earlier or later."),
        whole_number("answer_tokens", "N", "", &NullSettings::answer_tokens, 0, 1'000'000,
                     "Tokens of a null replica's answer that max_tokens does not cut. 0: as many as max_tokens."),
    };
}

std::vector<Option<AttachSettings>> attach_options() {
    using std::chrono::milliseconds;
    return {
        list_option(
            "urls", "URL", &AttachSettings::urls, 64,
            "Servers of model.engine = attach, each as http://host:port and a replica of its own. They speak the "
            "OpenAI API under /v1 and serve model.name under that name. A replica is ready while its server "
            "answers.",
            url_problem),
        text_option("api_key_file", "FILE", &AttachSettings::api_key_file,
                    "File with the key that these servers expect as a bearer token, one line. They never see the "
                    "clients' own keys."),
        text_option(
            "health_path", "PATH", &AttachSettings::health_path,
            "Path that a healthy server answers with 2xx, asked every second. If the server has none (404), the "
            "list of models is enough.",
            path_problem),
        duration(
            "idle_ms", &AttachSettings::idle_timeout, milliseconds(1), milliseconds(3'600'000),
            "Time after which an idle connection to a server is closed. It must be less than the server's own, and "
            "is lowered where the server announces its own."),
    };
}

}  // namespace exa::app::config
