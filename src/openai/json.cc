#include "openai/json.h"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <cmath>
#include <limits>

namespace exa::openai {

namespace {

// Of a value that goes into a message, before it is cut: an object of megabytes is not worth serialising.
constexpr std::size_t shown_members_max = 8;

// The double as an integer of 64 bits, when it is exactly one.
std::optional<std::uint64_t> whole(double value) {
    if (std::floor(value) != value || value < -0x1p63 || value >= 0x1p64) return std::nullopt;
    if (value < 0) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return static_cast<std::uint64_t>(value);
}

}  // namespace

ApiResult<boost::json::value> parse_object(std::string_view body, std::size_t bytes_max) {
    if (body.size() > bytes_max) return body_too_large(bytes_max);
    boost::json::parse_options options;
    options.max_depth = json_depth_max;
    boost::json::parser parser(boost::json::storage_ptr(), options);
    // One arena for the whole body: its many small nodes are freed at once.
    parser.reset(boost::json::make_shared_resource<boost::json::monotonic_resource>());
    boost::system::error_code errc;
    const std::size_t parsed = parser.write_some(body.data(), body.size(), errc);
    if (!errc) {
        const std::size_t junk = body.find_first_not_of(" \t\r\n", parsed);
        if (junk != std::string_view::npos) return invalid_json("extra data", junk);
        boost::json::value value = parser.release();
        if (!value.is_object()) return wrong_type("body", "a JSON object", kind_name(value));
        return value;
    }
    if (errc == boost::json::error::too_deep) return too_deep(json_depth_max);
    return invalid_json(errc != boost::json::error::incomplete ? errc.message() : "it ends too early", parsed);
}

std::string_view kind_name(const boost::json::value& value) {
    switch (value.kind()) {
        case boost::json::kind::null:
            return "null";
        case boost::json::kind::bool_:
            return "a boolean";
        case boost::json::kind::int64:
        case boost::json::kind::uint64:
            return "an integer";
        case boost::json::kind::double_:
            return "a number";
        case boost::json::kind::string:
            return "a string";
        case boost::json::kind::array:
            return "an array";
        case boost::json::kind::object:
            return "an object";
    }
    return "nothing";
}

std::string show(const boost::json::value& value) {
    if (value.is_array() && value.get_array().size() > shown_members_max)
        return "an array of " + std::to_string(value.get_array().size());
    if (value.is_object() && value.get_object().size() > shown_members_max)
        return "an object of " + std::to_string(value.get_object().size());
    return boost::json::serialize(value);
}

ApiResult<std::string> as_text(const boost::json::value& value, std::string_view path) {
    if (const auto* text = value.if_string()) return std::string(text->data(), text->size());
    return wrong_type(path, "a string", kind_name(value));
}

std::string Fields::path(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const boost::json::value* Fields::find(std::string_view key) const {
    const auto* value = object_.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

ApiResult<std::optional<std::string>> Fields::text(std::string_view key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::optional<std::string>();
    BOOST_OUTCOME_TRY(auto text, as_text(*value, path(key)));
    return std::optional<std::string>(std::move(text));
}

ApiResult<std::optional<bool>> Fields::boolean(std::string_view key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::optional<bool>();
    if (value->is_bool()) return std::optional<bool>(value->get_bool());
    return wrong_type(path(key), "a boolean", kind_name(*value));
}

ApiResult<std::optional<double>> Fields::number(std::string_view key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::optional<double>();
    if (!value->is_number()) return wrong_type(path(key), "a number", kind_name(*value));
    const double number = value->to_number<double>();
    if (!std::isfinite(number)) return out_of_range(path(key), show(*value), "finite");
    return std::optional<double>(number);
}

ApiResult<std::optional<std::uint64_t>> Fields::wrapped_integer(std::string_view key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::optional<std::uint64_t>();
    if (value->is_int64()) return std::optional<std::uint64_t>(static_cast<std::uint64_t>(value->get_int64()));
    if (value->is_uint64()) return std::optional<std::uint64_t>(value->get_uint64());
    if (!value->is_double()) return wrong_type(path(key), "an integer", kind_name(*value));
    const auto integer = whole(value->get_double());
    if (!integer) return out_of_range(path(key), show(*value), "an integer of 64 bits");
    return std::optional<std::uint64_t>(integer);
}

ApiResult<std::optional<std::uint32_t>> Fields::count(std::string_view key) const {
    BOOST_OUTCOME_TRY(const auto integer, wrapped_integer(key));
    if (!integer) return std::optional<std::uint32_t>();
    // A negative one has wrapped far above the limit.
    if (*integer < 1 || *integer > std::numeric_limits<std::int32_t>::max())
        return out_of_range(path(key), show(*find(key)), "from 1 to 2147483647");
    return std::optional<std::uint32_t>(static_cast<std::uint32_t>(*integer));
}

}  // namespace exa::openai
