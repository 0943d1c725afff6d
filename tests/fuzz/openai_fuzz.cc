// Request bodies from anyone: parsed or answered with an error, at the entry and at the target alike.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "openai/embeddings.h"
#include "openai/request.h"
#include "openai/responses_request.h"
#include "openai/scan.h"
#include "openai/tokenize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    (void)exa::openai::scan(body);
    (void)exa::openai::parse_chat(body, {}, exa::openai::features_all);
    (void)exa::openai::parse_completion(body, {}, exa::openai::features_all);
    (void)exa::openai::parse_responses(body, {}, exa::openai::features_all);
    (void)exa::openai::parse_embeddings(body);
    (void)exa::openai::parse_tokenize(body);
    (void)exa::openai::parse_detokenize(body);
    return 0;
}
