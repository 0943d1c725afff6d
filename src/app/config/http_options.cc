#include "app/config/option_kinds.h"
#include "app/config/options.h"
#include "app/gateway/cors.h"

namespace exa::app::config {

namespace {

Option<HttpSettings> origins_option() {
    return parsed<HttpSettings, std::string>(
        "cors_origins", OptionType::list, "ORIGIN,...", &HttpSettings::cors_origins,
        [](std::string_view text, std::string& value) {
            if (const auto cors = gateway::Cors::parse(text); !cors) return cors.error().detail;
            value = text;
            return std::string();
        },
        [](const std::string& value) { return value; },
        "Web pages that may use the API from a browser, each as https://host or http://host:port, or * for any. Paths "
        "below /exaserve/ are never open to web pages.");
}

}  // namespace

std::vector<Option<HttpSettings>> http_options() {
    using std::chrono::microseconds;
    using std::chrono::seconds;
    return {
        whole_number("threads", "N", "", &HttpSettings::threads, 1, 64, "Threads that serve clients and links."),
        choice(
            "routing", "MODE", &HttpSettings::routing, {{"full", RoutingMode::full}, {"hash", RoutingMode::hash}},
            "full reads bodies for the model and the session. hash does not read them on this peer: the model is that "
            "of the header x-model, without it the only one of the cluster, and the session that of x-session-id. It "
            "is for an ingress in front of attached servers that serve one model each; limits of a tenant's models "
            "and tokens then go by what the client says in the header."),
        duration(
            "first_byte_seconds", &HttpSettings::first_byte_timeout, seconds(1), seconds(86'400),
            "Time from a request to the first byte of its answer, after which another replica is tried. It includes "
            "reading a long prompt and waiting in a queue."),
        duration("stream_idle_seconds", &HttpSettings::stream_idle_timeout, seconds(1), seconds(86'400),
                 "Time between two pieces of an answer, after which its replica counts as broken. The whole answer has "
                 "no limit."),
        duration(
            "stream_coalesce_us", &HttpSettings::stream_coalesce, microseconds(0), microseconds(10'000),
            "Time that events of streams of this peer's replicas may wait for one another, while at least two come "
            "in that time: they are then forwarded together, which costs less. 0: never."),
        text_option(
            "certificate_file", "FILE", &HttpSettings::certificate_file,
            "PEM file with the certificate of this peer's HTTP address, followed by those that signed it: "
            "clients then speak HTTPS, TLS 1.2 or 1.3. The file is read again on SIGHUP and every 10 s. Open "
            "connections keep the old certificate, and so does a peer whose new pair cannot be used. Without it "
            "clients speak plain HTTP."),
        text_option("key_file", "FILE", &HttpSettings::key_file,
                    "PEM file with the key of that certificate, unencrypted and readable by this user only. Required "
                    "with http.certificate_file."),
        origins_option(),
        text_option(
            "access_log", "FILE", &HttpSettings::access_log,
            "File that gets a line of JSON for every request, or stderr. Prompts, answers, queries and keys are "
            "never logged. The file is opened again on SIGHUP."),
    };
}

std::vector<Option<io::http::HttpConfig>> http_server_options() {
    using std::chrono::seconds;
    return {
        whole_number("header_bytes", "BYTES", "bytes", &io::http::HttpConfig::header_bytes_max, 1'024, 1'048'576,
                     "Longest request line and header fields together; longer ones are answered 431.")
            .live(),
        whole_number("body_bytes", "BYTES", "bytes", &io::http::HttpConfig::body_bytes_max, 1'024, 16'777'216,
                     "Longest request body; longer ones are answered 413.")
            .live(),
        whole_number(
            "body_memory_bytes", "BYTES", "bytes", &io::http::HttpConfig::body_memory_max, 33'554'432,
            1'099'511'627'776,
            "Memory for request bodies that have not arrived whole, of all clients together; one address or one "
            "tenant gets at most half of it. What is more is answered 503."),
        whole_number(
            "connections", "N", "", &io::http::HttpConfig::connections_max, 1, 1'000'000,
            "Most client connections of each thread at once. 16 more are accepted for health, metrics and "
            "commands; other requests are answered 503 there, and more connections wait in the kernel's queue.")
            .live(),
        duration("idle_seconds", &io::http::HttpConfig::idle_timeout, seconds(1), seconds(86'400),
                 "Time that a connection without a request is kept open.")
            .live(),
    };
}

}  // namespace exa::app::config
