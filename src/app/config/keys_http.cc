#include <array>

#include "app/config/keys.h"
#include "app/config/setters.h"
#include "app/gateway/cors.h"

namespace exa::app {

namespace {

Result<void> set_origins(PeerConfig& config, std::string_view text) {
    if (const auto cors = Cors::parse(text); !cors) return cors.error();
    config.http_cors_origins = text;
    return success();
}

Result<void> set_routing(PeerConfig& config, std::string_view text) {
    if (text != "full" && text != "hash") return bad_value(text, "full or hash");
    config.http_routing = text;
    return success();
}

constexpr std::array keys = {
    ConfigKey{"http.threads", "N", "Threads that serve clients and links. Default: 1. Range: 1 to 64.",
              set_number<&PeerConfig::http_threads, 1, 64>},
    ConfigKey{
        "http.routing", "MODE",
        "full: bodies are read for the model and the session. hash: they are not read here at all; the model is "
        "that of the header x-model, without it the only one of the cluster, and the session that of x-session-id. "
        "For entries in front of attached servers that serve one model each; tenants' models and token limits "
        "then go by what the client says in the header. Default: full.",
        set_routing},
    ConfigKey{
        "http.queue_ms", "MS",
        "Milliseconds that a request waits for a place when every replica of its model is at its limit, before it "
        "is answered 503. Default: 2000. Range: 0 (not at all) to 100000.",
        set_number<&PeerConfig::http_queue_ms, 0, 100'000>},
    ConfigKey{"http.header_bytes", "BYTES",
              "Longest request line and header fields together; more is answered 431. Default: 65536. Range: 1024 to "
              "1048576.",
              set_number<&PeerConfig::http_header_bytes, 1'024, 1'048'576>},
    ConfigKey{"http.body_bytes", "BYTES",
              "Longest request body; more is answered 413. Default: 16777216. Range: 1024 to 16777216.",
              set_number<&PeerConfig::http_body_bytes, 1'024, 16'777'216>},
    ConfigKey{"http.connections", "N",
              "Connections of clients at once, for each thread; more wait in the kernel's queue. Default: 8192. Range: "
              "1 to 1000000.",
              set_number<&PeerConfig::http_connections, 1, 1'000'000>},
    ConfigKey{"http.idle_seconds", "S",
              "Seconds that a connection without a request is kept open. Default: 75. Range: 1 to 86400.",
              set_number<&PeerConfig::http_idle_seconds, 1, 86'400>},
    ConfigKey{"http.first_byte_seconds", "S",
              "Seconds from a request to the first byte of its answer, after which another replica is tried; reading a "
              "long prompt and waiting for a place count. Default: 120. Range: 1 to 86400.",
              set_number<&PeerConfig::http_first_byte_seconds, 1, 86'400>},
    ConfigKey{"http.stream_idle_seconds", "S",
              "Seconds between two pieces of an answer, after which its replica counts as broken. There is no limit on "
              "the whole. Default: 60. Range: 1 to 86400.",
              set_number<&PeerConfig::http_stream_idle_seconds, 1, 86'400>},
    ConfigKey{
        "http.stream_spell_us", "US",
        "Microseconds that events of streams of this peer's replicas may wait for one another, while at least two come "
        "in that time: then they are passed on together, which costs less. Default: 600. Range: 0 (never) to "
        "10000.",
        set_number<&PeerConfig::http_stream_spell_us, 0, 10'000>},
    ConfigKey{"http.certificate_file", "FILE",
              "File with the certificate of this peer's door as PEM text, those that signed it behind it: clients then "
              "speak HTTPS, TLS 1.2 or 1.3. Read again on SIGHUP and every 10 s; open connections go on with what they "
              "have, and a pair that cannot be used leaves the old one in place. Default: none, plain HTTP.",
              set_text<&PeerConfig::http_certificate_file>},
    ConfigKey{"http.key_file", "FILE",
              "File with the key of that certificate as PEM text, unencrypted and readable by this user only. Default: "
              "none; needed with http.certificate_file.",
              set_text<&PeerConfig::http_key_file>},
    ConfigKey{"http.cors_origins", "ORIGIN,...",
              "Web pages that may use the API from a browser, each as https://host or http://host:port, or * for any. "
              "Never the paths below /exaserve/. Default: none.",
              set_origins},
    ConfigKey{
        "http.access_log", "FILE",
        "File that gets a line of JSON for every request, or stderr. Never what was asked or answered, queries or "
        "keys. Opened again on SIGHUP. Default: none.",
        set_text<&PeerConfig::http_access_log>},
};

}  // namespace

std::span<const ConfigKey> http_keys() {
    return keys;
}

}  // namespace exa::app
