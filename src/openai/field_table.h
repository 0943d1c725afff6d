// FieldTable: every field of a request body that is known here, and what becomes of it, for all endpoints.
//
// It is what the parsers judge by and what the tables of docs/api.md are made from (tools/lint/reference.py), so that
// no field is read that is not documented, and none that would change an answer is dropped in silence. It speaks for
// the engine of this process: an attached server gets the body as it came.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "openai/error.h"

namespace exa::openai {

class Fields;

enum class Endpoint : std::uint8_t { chat, completions, responses, embeddings, tokenize, detokenize, messages };
inline constexpr std::size_t endpoint_count = 7;

// As clients know it: "chat". `messages` stands for the members of one message of a chat.
std::string_view to_string(Endpoint endpoint);

enum class Treatment : std::uint8_t {
    honoured,
    refused,  // it would change the answer and cannot be honoured: a 400 that names it, if it asks for something
    ignored,  // it changes no answer
};

std::string_view to_string(Treatment treatment);

// Of a number. Not set: any.
struct Range {
    double min = 0;
    double max = 0;
    bool above_min = false;  // min itself is outside

    bool is_set() const { return max > min; }
    bool holds(double value) const { return (above_min ? value > min : value >= min) && value <= max; }
};

// "from 0 to 2", "above 0 and at most 1"; empty when it is not set.
std::string to_string(const Range& range);

// What a refused field may say all the same, because it asks for nothing. An empty text, list or object and false never
// ask for anything, nor does null.
struct Neutral {
    std::optional<double> number{};
    std::string_view texts{};   // with '|' between them
    bool is_text_type = false;  // an object whose `type`, if any, is "text"
    bool is_text_list = false;  // an array of "text" only
    std::string_view beside{};  // while this field says "none"
};

// For people: "1", "none or auto", "beside tool_choice none"; empty when nothing but the empty is neutral.
std::string to_string(const Neutral& neutral);

struct FieldRow {
    std::string_view name;
    Treatment treatment = Treatment::honoured;
    std::uint8_t endpoints = 0;  // a bit each
    std::string_view type{};     // of a honoured one
    Range range{};
    std::string_view help{};  // what it does, why it is refused, or why nothing is lost
    Neutral neutral{};

    bool is_of(Endpoint endpoint) const { return (endpoints >> static_cast<unsigned>(endpoint) & 1U) != 0; }
};

// In the order of the documentation. A name has at most one row for an endpoint.
std::span<const FieldRow> field_rows();

// Null when the endpoint knows no such field: it is ignored then.
const FieldRow* find_field(std::string_view name, Endpoint endpoint);

// Of a field that has one, the same wherever it has.
const Range& range_of(std::string_view name);

// Refuses the first member that the table refuses.
ApiResult<void> refuse_unsupported(const Fields& fields, Endpoint endpoint);

}  // namespace exa::openai
