// The clients' parser: on any bytes of a server the same answer or none, however they are cut. And what is passed on of
// a stream is whole events.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/attach/reply.h"
#include "app/attach/server.h"
#include "io/http/response_parser.h"

namespace {

struct Sink final : exa::io::http::ResponseSink {
    void on_head(const exa::io::http::ResponseHead& head) override {
        text = "head " + std::to_string(head.status) + " ";
        for (const auto& field : exa::app::attach::passed_fields(head.headers).fields)
            text += field.name + "=" + field.value + ";";
    }
    bool on_body(std::string_view piece) override {
        body += piece;
        return true;
    }

    std::string text;
    std::string body;
};

// Of a complete answer what came; nothing of any other.
std::string verdict(std::string_view bytes, std::size_t step) {
    exa::io::http::ResponseParser parser;
    Sink sink;
    parser.begin(sink);
    std::string inbox;
    for (std::size_t at = 0; at < bytes.size() && !parser.is_done(); at += step) {
        inbox += bytes.substr(at, step);
        const auto taken = parser.feed(inbox);
        if (!taken) return {};
        inbox.erase(0, *taken);
    }
    if (!parser.is_done() && !parser.feed_end()) return {};
    return sink.text + sink.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = verdict(bytes, size + 1);
    for (const std::size_t step : {1UL, 7UL})
        if (const std::string cut = verdict(bytes, step); !cut.empty() && !whole.empty() && cut != whole) std::abort();
    const std::size_t events = exa::app::attach::whole_events(bytes);
    if (events > size || (events > 0 && bytes[events - 1] != '\n')) std::abort();
    // Nothing behind them ends another.
    if (exa::app::attach::whole_events(bytes.substr(events)) >
        1 + std::size_t{bytes.substr(events).starts_with("\r\n")})
        std::abort();
    return 0;
}
