// The server's parser: on any bytes the same request or the same refusal, however they are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/http/request_parser.h"

namespace {

std::string verdict(std::string_view bytes, std::size_t step) {
    exa::io::http::RequestParser parser(2'000, 2'000);
    std::string inbox;
    for (std::size_t at = 0; at < bytes.size() && !parser.done(); at += step) {
        inbox += bytes.substr(at, step);
        const auto taken = parser.feed(inbox);
        if (!taken) return "refused " + std::to_string(parser.fault().status);
        inbox.erase(0, *taken);
    }
    if (!parser.done()) return "unfinished";
    const exa::io::http::HttpRequest request = parser.take();
    return request.method + " " + request.path + " " + request.query + " " + request.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = verdict(bytes, size + 1);
    // More may be found wrong at once where all is seen at once, never less.
    for (const std::size_t step : {1UL, 7UL})
        if (const std::string cut = verdict(bytes, step);
            cut != whole && !cut.starts_with("refused") && cut != "unfinished")
            std::abort();
    return 0;
}
