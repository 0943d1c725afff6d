// Bounded reading of a request's JSON, with errors that name the path, the value and the range.
//
// The only header of the folder that shows Boost.JSON: for sources, never for another interface.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openai/error.h"

namespace exa::openai {

// Of what is read here. A schema nests twice a level of its objects; what is only passed on may be of any depth.
inline constexpr std::size_t json_depth_max = 512;

// One JSON object (RFC 8259), at most json_depth_max levels deep; of equal keys the last one counts. The value owns its
// memory.
ApiResult<boost::json::value> parse_object(std::string_view body, std::size_t bytes_max);

// "a string", "an object", ...
std::string_view kind_name(const boost::json::value& value);

// The value as JSON, for a message; out_of_range cuts it.
std::string show(const boost::json::value& value);

ApiResult<std::string> as_text(const boost::json::value& value, std::string_view path);

// The members of one object. `null` counts as absent. Keeps a reference to the object.
class Fields {
  public:
    // `path` is of the object itself, empty for the whole body.
    Fields(const boost::json::object& object, std::string path) : object_(object), path_(std::move(path)) {}

    const boost::json::object& object() const { return object_; }
    std::string path(std::string_view key) const;
    // Null when absent.
    const boost::json::value* find(std::string_view key) const;

    ApiResult<std::optional<std::string>> text(std::string_view key) const;
    ApiResult<std::optional<bool>> boolean(std::string_view key) const;
    // Finite.
    ApiResult<std::optional<double>> number(std::string_view key) const;
    // Within 64 bits, signed or not; a negative one wraps. A whole number written as 3.0 counts.
    ApiResult<std::optional<std::uint64_t>> wrapped_integer(std::string_view key) const;
    // 1 .. 2^31 - 1.
    ApiResult<std::optional<std::uint32_t>> count(std::string_view key) const;

  private:
    const boost::json::object& object_;
    std::string path_;
};

}  // namespace exa::openai
