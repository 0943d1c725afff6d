// Questions of other KV services and their answers: whatever comes, decoding ends in a value or an error, what decodes
// encodes to the same bytes, and a reader of segments holds no more than it was sent, whole blocks apart.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kv/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace exa::kv;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto question = decode_question(bytes); question && decode_question(encode(question.value())).has_error())
        std::abort();
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
        (void)decode_items(bytes, count);
        (void)decode_outcomes(bytes, count);
        // The first byte says how the rest is cut.
        const std::size_t cut = size > 0 ? 1 + data[0] : 1;
        SegmentReader reader(count);
        std::size_t segments = 0;
        for (std::size_t at = 0; at < size; at += cut) {
            if (reader.feed(bytes.substr(at, cut)).has_error()) break;
            while (reader.next()) ++segments;
        }
        if (segments > count || (reader.whole() && segments != count)) std::abort();
    }
    return 0;
}
