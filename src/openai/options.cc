#include "openai/options.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <vector>

#include "openai/json.h"
#include "openai/prompt.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::uint32_t completion_tokens_default = 16;
constexpr std::string_view not_built = "the engine behind this model does not support it";

// A number within the table's range.
ApiResult<double> parse_number(const Fields& fields, std::string_view key, double absent) {
    BOOST_OUTCOME_TRY(const auto number, fields.number(key));
    if (!number) return absent;
    const Range& range = range_of(key);
    if (!range.holds(*number)) return out_of_range(fields.path(key), show(*fields.find(key)), to_string(range));
    return *number;
}

// Empty ones ask for nothing: frameworks send them for "none".
ApiResult<std::vector<std::string>> parse_stop(const Fields& fields, const Limits& limits) {
    std::vector<std::string> stops;
    const auto* value = fields.find("stop");
    if (value == nullptr) return stops;
    if (value->is_string()) {
        stops.emplace_back(value->get_string());
    } else if (const auto* list = value->if_array()) {
        if (list->size() > limits.stops_max)
            return out_of_range("stop", std::to_string(list->size()) + " strings",
                                "at most " + std::to_string(limits.stops_max) + " strings");
        for (std::size_t i = 0; i < list->size(); ++i) {
            BOOST_OUTCOME_TRY(auto text, as_text((*list)[i], indexed("stop", i)));
            stops.push_back(std::move(text));
        }
    } else {
        return wrong_type("stop", "a string or an array of strings", kind_name(*value));
    }
    std::erase(stops, std::string());
    for (const std::string& stop : stops) {
        if (stop.size() > limits.stop_bytes_max)
            return out_of_range("stop", std::to_string(stop.size()) + " bytes",
                                "strings of at most " + std::to_string(limits.stop_bytes_max) + " bytes");
    }
    return stops;
}

ApiResult<double> parse_penalty(const Fields& fields, std::string_view key, double absent, const Features& features) {
    BOOST_OUTCOME_TRY(const double penalty, parse_number(fields, key, absent));
    if (penalty != absent && !features.penalties) return unsupported_parameter(fields.path(key), not_built);
    return penalty;
}

// best_of picks the n likeliest of more answers; picking them all is the one case that needs no picking.
ApiResult<std::uint32_t> parse_choices(const Fields& fields, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto count, parse_count(fields, "n"));
    const std::uint32_t n = count.value_or(1);
    if (n > limits.choices_max)
        return out_of_range("n", std::to_string(n), "from 1 to " + std::to_string(limits.choices_max));
    BOOST_OUTCOME_TRY(const auto best_of, parse_count(fields, "best_of"));
    if (best_of && *best_of < n) return out_of_range("best_of", std::to_string(*best_of), "at least n");
    if (best_of && *best_of > n) return unsupported_parameter("best_of", "only best_of equal to n is supported");
    if (n > 1 && !features.choices) return unsupported_parameter("n", "only 1 is supported by the engine behind");
    return n;
}

// {"token id": bias}. One text for each id, so that no id can come twice.
ApiResult<std::uint32_t> parse_bias_id(std::string_view key) {
    std::uint32_t id = 0;
    const auto [end, errc] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (errc != std::errc() || end != key.data() + key.size() || std::to_string(id) != key)
        return out_of_range("logit_bias", "the key '" + std::string(key.substr(0, 40)) + "'",
                            "an object whose keys are token ids");
    return id;
}

ApiResult<std::vector<std::pair<std::uint32_t, double>>> parse_logit_bias(const Fields& fields, const Limits& limits,
                                                                          const Features& features) {
    std::vector<std::pair<std::uint32_t, double>> biases;
    const auto* value = fields.find("logit_bias");
    if (value == nullptr) return biases;
    const auto* object = value->if_object();
    if (object == nullptr) return wrong_type("logit_bias", "an object", kind_name(*value));
    if (object->empty()) return biases;
    if (!features.logit_bias) return unsupported_parameter("logit_bias", not_built);
    if (object->size() > limits.logit_bias_max)
        return out_of_range("logit_bias", std::to_string(object->size()) + " tokens",
                            "at most " + std::to_string(limits.logit_bias_max) + " tokens");
    const Fields inner(*object, "logit_bias");
    for (const auto& member : *object) {
        const std::string_view key(member.key().data(), member.key().size());
        BOOST_OUTCOME_TRY(const auto id, parse_bias_id(key));
        BOOST_OUTCOME_TRY(const auto bias, inner.number(key));
        if (bias && (*bias < -100 || *bias > 100))
            return out_of_range(inner.path(key), show(*inner.find(key)), "from -100 to 100");
        biases.emplace_back(id, bias.value_or(0.0));
    }
    std::ranges::sort(biases);
    return biases;
}

}  // namespace

std::string indexed(std::string_view path, std::size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

ApiResult<std::string> parse_model(const Fields& fields) {
    BOOST_OUTCOME_TRY(auto model, fields.text("model"));
    if (!model || model->empty()) return missing("model");
    return std::move(*model);
}

ApiResult<std::optional<std::int64_t>> parse_integer(const Fields& fields, std::string_view key) {
    BOOST_OUTCOME_TRY(const auto bits, fields.wrapped_integer(key));
    if (!bits) return std::optional<std::int64_t>();
    // One above 2^63 wraps to a negative one, far below any range.
    const auto integer = static_cast<std::int64_t>(*bits);
    const Range& range = range_of(key);
    if (!range.holds(static_cast<double>(integer)))
        return out_of_range(fields.path(key), show(*fields.find(key)), to_string(range));
    return std::optional(integer);
}

ApiResult<std::optional<std::uint32_t>> parse_count(const Fields& fields, std::string_view key) {
    BOOST_OUTCOME_TRY(const auto integer, parse_integer(fields, key));
    if (!integer) return std::optional<std::uint32_t>();
    return std::optional(static_cast<std::uint32_t>(*integer));
}

ApiResult<std::optional<std::int64_t>> parse_truncation(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto tokens, parse_integer(fields, "truncate_prompt_tokens"));
    if (tokens == 0) return out_of_range("truncate_prompt_tokens", "0", "-1 or at least 1");
    return tokens;
}

ApiResult<void> parse_sampling(const Fields& fields, const Limits& limits, const Features& features, Options& options) {
    BOOST_OUTCOME_TRY(options.temperature, parse_number(fields, "temperature", 1.0));
    BOOST_OUTCOME_TRY(options.top_p, parse_number(fields, "top_p", 1.0));
    BOOST_OUTCOME_TRY(const auto top_k, parse_integer(fields, "top_k"));
    options.top_k = static_cast<std::uint32_t>(std::max<std::int64_t>(0, top_k.value_or(0)));
    BOOST_OUTCOME_TRY(options.min_p, parse_number(fields, "min_p", 0.0));
    BOOST_OUTCOME_TRY(options.seed, fields.wrapped_integer("seed"));
    BOOST_OUTCOME_TRY(options.presence_penalty, parse_penalty(fields, "presence_penalty", 0.0, features));
    BOOST_OUTCOME_TRY(options.frequency_penalty, parse_penalty(fields, "frequency_penalty", 0.0, features));
    BOOST_OUTCOME_TRY(options.repetition_penalty, parse_penalty(fields, "repetition_penalty", 1.0, features));
    BOOST_OUTCOME_TRY(options.logit_bias, parse_logit_bias(fields, limits, features));
    BOOST_OUTCOME_TRY(const auto ignore_eos, fields.boolean("ignore_eos"));
    options.ignore_eos = ignore_eos.value_or(false);
    BOOST_OUTCOME_TRY(const auto skip_special, fields.boolean("skip_special_tokens"));
    options.shows_special = !skip_special.value_or(true);
    if (fields.find("stop_token_ids") != nullptr) {
        BOOST_OUTCOME_TRY(options.stop_token_ids, parse_token_ids(fields, "stop_token_ids"));
        if (options.stop_token_ids.size() > limits.stop_token_ids_max)
            return out_of_range("stop_token_ids", std::to_string(options.stop_token_ids.size()) + " ids",
                                "at most " + std::to_string(limits.stop_token_ids_max) + " ids");
    }
    BOOST_OUTCOME_TRY(const auto min_tokens, parse_count(fields, "min_tokens"));
    options.min_tokens = min_tokens.value_or(0);
    if (options.max_tokens && options.min_tokens > *options.max_tokens)
        return out_of_range("min_tokens", std::to_string(options.min_tokens),
                            "at most the tokens of the answer, " + std::to_string(*options.max_tokens));
    return boost::outcome_v2::success();
}

ApiResult<Options> parse_options(const Fields& fields, Endpoint endpoint, const Limits& limits,
                                 const Features& features) {
    BOOST_OUTCOME_TRY(refuse_unsupported(fields, endpoint));
    Options options;
    BOOST_OUTCOME_TRY(options.model, parse_model(fields));
    BOOST_OUTCOME_TRY(const auto stream, fields.boolean("stream"));
    options.stream = stream.value_or(false);
    if (const auto* value = fields.find("stream_options")) {
        if (!value->is_object()) return wrong_type("stream_options", "an object", kind_name(*value));
        const Fields inner(value->get_object(), "stream_options");
        BOOST_OUTCOME_TRY(const auto include_usage, inner.boolean("include_usage"));
        options.include_usage = include_usage.value_or(false);
    }
    // The older name says nothing beside the newer one, whatever stands there.
    const bool is_new = fields.find("max_completion_tokens") != nullptr;
    BOOST_OUTCOME_TRY(options.max_tokens, parse_count(fields, is_new ? "max_completion_tokens" : "max_tokens"));
    if (endpoint == Endpoint::completions && !options.max_tokens) options.max_tokens = completion_tokens_default;
    BOOST_OUTCOME_TRY(parse_sampling(fields, limits, features, options));
    BOOST_OUTCOME_TRY(options.stop, parse_stop(fields, limits));
    BOOST_OUTCOME_TRY(options.n, parse_choices(fields, limits, features));
    BOOST_OUTCOME_TRY(options.user, fields.text("user"));
    BOOST_OUTCOME_TRY(options.prompt_cache_key, fields.text("prompt_cache_key"));
    return options;
}

}  // namespace exa::openai
