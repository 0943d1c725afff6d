#include "openai/options.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <limits>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::size_t stops_max = 4;
constexpr std::string_view not_built = "the engine behind this model does not support it";

bool asks_for_something(const json::value* value) {
    if (value == nullptr) return false;
    if (value->is_string()) return !value->get_string().empty();
    if (value->is_array()) return !value->get_array().empty();
    if (value->is_object()) return !value->get_object().empty();
    if (value->is_bool()) return value->get_bool();
    return true;
}

ApiResult<double> number_within(const Fields& fields, std::string_view key, double absent, double min, double max,
                                std::string_view range) {
    BOOST_OUTCOME_TRY(const auto number, fields.number(key));
    if (!number) return absent;
    if (*number < min || *number > max) return out_of_range(fields.path(key), show(*fields.find(key)), range);
    return *number;
}

ApiResult<std::vector<std::string>> parse_stop(const Fields& fields, const Limits& limits) {
    std::vector<std::string> stops;
    const auto* value = fields.find("stop");
    if (value == nullptr) return stops;
    if (value->is_string()) {
        stops.emplace_back(value->get_string());
    } else if (const auto* list = value->if_array()) {
        if (list->size() > stops_max)
            return out_of_range("stop", std::to_string(list->size()) + " strings", "at most 4 strings");
        for (std::size_t i = 0; i < list->size(); ++i) {
            BOOST_OUTCOME_TRY(auto text, as_text((*list)[i], indexed("stop", i)));
            stops.push_back(std::move(text));
        }
    } else {
        return wrong_type("stop", "a string or an array of strings", kind_name(*value));
    }
    for (const std::string& stop : stops) {
        if (stop.empty() || stop.size() > limits.stop_bytes_max)
            return out_of_range("stop", std::to_string(stop.size()) + " bytes",
                                "strings of 1 to " + std::to_string(limits.stop_bytes_max) + " bytes");
    }
    return stops;
}

ApiResult<double> parse_penalty(const Fields& fields, std::string_view key, const Features& features) {
    BOOST_OUTCOME_TRY(const double penalty, number_within(fields, key, 0.0, -2.0, 2.0, "from -2 to 2"));
    if (penalty != 0 && !features.penalties) return unsupported_parameter(fields.path(key), not_built);
    return penalty;
}

// best_of picks the n likeliest of more answers; picking them all is the one case that needs no picking.
ApiResult<std::uint32_t> parse_choices(const Fields& fields, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto count, fields.count("n"));
    const std::uint32_t n = count.value_or(1);
    if (n > limits.choices_max)
        return out_of_range("n", std::to_string(n), "from 1 to " + std::to_string(limits.choices_max));
    BOOST_OUTCOME_TRY(const auto best_of, fields.count("best_of"));
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
        BOOST_OUTCOME_TRY(const double bias, number_within(inner, key, 0.0, -100.0, 100.0, "from -100 to 100"));
        biases.emplace_back(id, bias);
    }
    std::ranges::sort(biases);
    return biases;
}

}  // namespace

std::string indexed(std::string_view path, std::size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

ApiResult<void> refuse_field(const Fields& fields, std::string_view key, std::string_view reason) {
    if (asks_for_something(fields.find(key))) return unsupported_parameter(fields.path(key), reason);
    return boost::outcome_v2::success();
}

ApiResult<std::string> parse_model(const Fields& fields) {
    BOOST_OUTCOME_TRY(auto model, fields.text("model"));
    if (!model || model->empty()) return missing("model");
    return std::move(*model);
}

ApiResult<double> parse_temperature(const Fields& fields) {
    return number_within(fields, "temperature", 1.0, 0.0, 2.0, "from 0 to 2");
}

ApiResult<double> parse_top_p(const Fields& fields) {
    return number_within(fields, "top_p", 1.0, std::numeric_limits<double>::min(), 1.0, "above 0 and at most 1");
}

ApiResult<std::optional<std::uint32_t>> parse_max_tokens(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto new_name, fields.count("max_completion_tokens"));
    BOOST_OUTCOME_TRY(const auto old_name, fields.count("max_tokens"));
    return new_name ? new_name : old_name;
}

ApiResult<std::optional<std::uint32_t>> parse_top_logprobs(const Fields& fields, std::string_view key) {
    BOOST_OUTCOME_TRY(const auto count, fields.wrapped_integer(key));
    if (!count) return std::optional<std::uint32_t>();
    // A negative one has wrapped far above the limit.
    if (*count > top_logprobs_max)
        return out_of_range(fields.path(key), show(*fields.find(key)), "from 0 to " + std::to_string(top_logprobs_max));
    return std::optional<std::uint32_t>(static_cast<std::uint32_t>(*count));
}

ApiResult<Options> parse_options(const Fields& fields, const Limits& limits, const Features& features) {
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
    BOOST_OUTCOME_TRY(options.max_tokens, parse_max_tokens(fields));
    BOOST_OUTCOME_TRY(options.temperature, parse_temperature(fields));
    BOOST_OUTCOME_TRY(options.top_p, parse_top_p(fields));
    BOOST_OUTCOME_TRY(options.seed, fields.wrapped_integer("seed"));
    BOOST_OUTCOME_TRY(options.stop, parse_stop(fields, limits));
    BOOST_OUTCOME_TRY(options.n, parse_choices(fields, limits, features));
    BOOST_OUTCOME_TRY(options.presence_penalty, parse_penalty(fields, "presence_penalty", features));
    BOOST_OUTCOME_TRY(options.frequency_penalty, parse_penalty(fields, "frequency_penalty", features));
    BOOST_OUTCOME_TRY(options.logit_bias, parse_logit_bias(fields, limits, features));
    BOOST_OUTCOME_TRY(options.user, fields.text("user"));
    BOOST_OUTCOME_TRY(options.prompt_cache_key, fields.text("prompt_cache_key"));
    return options;
}

}  // namespace exa::openai
