// What a load test reads from strangers: answers of the server under test, and files of prompts and of traces.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "loadgen/answer_reader.h"
#include "loadgen/prompts.h"
#include "loadgen/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool stream : {false, true}) {
        exa::loadgen::AnswerReader reader(stream, true);
        reader.feed(text.substr(0, size / 2));
        reader.feed(text.substr(size / 2));
        reader.finish();
    }
    (void)exa::loadgen::error_text(text);
    (void)exa::loadgen::parse_prompts(text);
    (void)exa::loadgen::parse_trace(text);
    return 0;
}
