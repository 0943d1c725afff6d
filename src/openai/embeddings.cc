#include "openai/embeddings.h"

#include <bit>
#include <boost/outcome/try.hpp>

#include "base/base64.h"
#include "openai/json.h"
#include "openai/write_json.h"

namespace exa::openai {

namespace {

ApiResult<EmbeddingFormat> parse_format(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto format, fields.text("encoding_format"));
    if (!format || *format == "float") return EmbeddingFormat::numbers;
    if (*format == "base64") return EmbeddingFormat::base64;
    return out_of_range("encoding_format", *format, "\"float\" or \"base64\"");
}

void append_numbers(std::string& out, const std::vector<float>& vector) {
    out += '[';
    for (std::size_t i = 0; i < vector.size(); ++i) {
        if (i > 0) out += ',';
        append_number(out, vector[i]);
    }
    out += ']';
}

std::string base64_of(const std::vector<float>& vector) {
    Bytes bytes;
    bytes.reserve(vector.size() * sizeof(float));
    for (const float number : vector) {
        const auto bits = std::bit_cast<std::uint32_t>(number);
        for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
    return to_base64(bytes);
}

}  // namespace

ApiResult<EmbeddingsRequest> parse_embeddings(std::string_view body, const Limits& limits) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(refuse_unsupported(fields, Endpoint::embeddings));
    EmbeddingsRequest request;
    BOOST_OUTCOME_TRY(request.model, parse_model(fields));
    BOOST_OUTCOME_TRY(request.inputs, parse_prompts(fields, "input", limits.inputs_max));
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
        const auto* text = std::get_if<std::string>(&request.inputs[i]);
        if (text != nullptr && text->empty())
            return out_of_range(request.inputs.size() > 1 ? indexed("input", i) : "input", "\"\"", "not empty");
    }
    BOOST_OUTCOME_TRY(request.format, parse_format(fields));
    BOOST_OUTCOME_TRY(request.dimensions, parse_count(fields, "dimensions"));
    BOOST_OUTCOME_TRY(request.truncate_prompt_tokens, parse_truncation(fields));
    return request;
}

std::string embeddings_json(std::string_view model, std::span<const std::vector<float>> vectors, EmbeddingFormat format,
                            std::uint32_t prompt_tokens) {
    std::string out = "{\"object\":\"list\",\"data\":[";
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        out += i > 0 ? ",{" : "{";
        out += "\"object\":\"embedding\",\"index\":" + std::to_string(i) + ",\"embedding\":";
        if (format == EmbeddingFormat::numbers)
            append_numbers(out, vectors[i]);
        else
            append_quoted(out, base64_of(vectors[i]));
        out += '}';
    }
    const std::string tokens = std::to_string(prompt_tokens);
    return out + "],\"model\":" + quoted(model) + ",\"usage\":{\"prompt_tokens\":" + tokens +
           ",\"total_tokens\":" + tokens + "}}";
}

}  // namespace exa::openai
