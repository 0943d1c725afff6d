#include "openai/tokenize.h"

#include <boost/outcome/try.hpp>
#include <utility>

#include "base/check.h"
#include "openai/json.h"
#include "openai/prompt.h"
#include "openai/utf8.h"
#include "openai/write_json.h"

namespace exa::openai {

ApiResult<TokenizeRequest> parse_tokenize(std::string_view body, const Limits& limits) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(refuse_unsupported(fields, Endpoint::tokenize));
    TokenizeRequest request;
    BOOST_OUTCOME_TRY(auto model, fields.text("model"));
    request.model = std::move(model).value_or("");
    BOOST_OUTCOME_TRY(const auto special, fields.boolean("add_special_tokens"));
    BOOST_OUTCOME_TRY(const auto strings, fields.boolean("return_token_strs"));
    request.return_token_strs = strings.value_or(false);
    if (fields.find("messages") == nullptr) {
        BOOST_OUTCOME_TRY(auto prompt, fields.text("prompt"));
        if (!prompt) return missing("prompt");
        request.text = std::move(*prompt);
        request.add_special_tokens = special.value_or(true);
        return request;
    }
    if (fields.find("prompt") != nullptr) return unsupported_parameter("prompt", "not together with messages");
    BOOST_OUTCOME_TRY(request.text, parse_conversation(fields, limits));
    request.add_special_tokens = special.value_or(false);
    return request;
}

std::string tokenize_json(std::span<const std::uint32_t> tokens,
                          const std::optional<std::vector<std::string>>& token_bytes, std::uint32_t context_tokens) {
    EXA_CHECK(!token_bytes || token_bytes->size() == tokens.size());
    std::string out = "{\"count\":" + std::to_string(tokens.size()) +
                      ",\"max_model_len\":" + std::to_string(context_tokens) + ",\"tokens\":[";
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0) out += ',';
        out += std::to_string(tokens[i]);
    }
    out += "],\"token_strs\":";
    if (!token_bytes) return out + "null}";
    out += '[';
    for (std::size_t i = 0; i < token_bytes->size(); ++i) {
        if (i > 0) out += ',';
        append_quoted(out, valid_utf8((*token_bytes)[i]));
    }
    return out + "]}";
}

ApiResult<DetokenizeRequest> parse_detokenize(std::string_view body, const Limits& limits) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    DetokenizeRequest request;
    BOOST_OUTCOME_TRY(auto model, fields.text("model"));
    request.model = std::move(model).value_or("");
    BOOST_OUTCOME_TRY(request.tokens, parse_token_ids(fields, "tokens"));
    return request;
}

std::string detokenize_json(std::string_view bytes) {
    return "{\"prompt\":" + quoted(valid_utf8(bytes)) + "}";
}

}  // namespace exa::openai
