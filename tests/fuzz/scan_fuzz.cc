// The entry's scan against the target's parser: on any bytes both give the same verdict, but for what is nested deeper
// than the parser reads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "openai/json.h"
#include "openai/scan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    const auto parsed = exa::openai::parse_object(body, size);
    if (!parsed && parsed.error().code == "nested_too_deep") return 0;
    bool expected = parsed.has_value();
    if (expected) {
        const auto* model = parsed.value().get_object().if_contains("model");
        expected = model == nullptr || model->is_null() || model->is_string();
    }
    if (exa::openai::scan(body).has_value() != expected) std::abort();
    return 0;
}
