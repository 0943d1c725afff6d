#include "openai/field_table.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <vector>

#include "base/check.h"
#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

// Pointers to all rows, by name.
const std::vector<const FieldRow*>& by_name() {
    static const std::vector<const FieldRow*> sorted = [] {
        std::vector<const FieldRow*> rows;
        for (const FieldRow& row : field_rows()) rows.push_back(&row);
        std::ranges::sort(rows, {}, &FieldRow::name);
        return rows;
    }();
    return sorted;
}

std::string shown(double number) {
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

bool is_text(const json::value& value, std::string_view text) {
    return value.is_string() && std::string_view(value.get_string()) == text;
}

bool is_one_of(std::string_view text, std::string_view list) {
    for (; !list.empty(); list.remove_prefix(std::min(list.size(), list.find('|')))) {
        if (list.front() == '|') list.remove_prefix(1);
        if (list.substr(0, list.find('|')) == text) return true;
    }
    return false;
}

// Whether a value of a refused field asks for anything.
bool asks(const json::value& value, const Neutral& neutral, const Fields& beside) {
    if (!neutral.beside.empty()) {
        const auto* other = beside.find(neutral.beside);
        if (other != nullptr && is_text(*other, "none")) return false;
    }
    if (value.is_bool()) return value.get_bool();
    if (const auto* text = value.if_string()) return !text->empty() && !is_one_of(*text, neutral.texts);
    if (value.is_number()) return !neutral.number || value.to_number<double>() != *neutral.number;
    if (const auto* list = value.if_array())
        return !list->empty() && !(neutral.is_text_list &&
                                   std::ranges::all_of(*list, [](const auto& one) { return is_text(one, "text"); }));
    if (const auto* object = value.if_object()) {
        if (object->empty()) return false;
        const auto* type = object->if_contains("type");
        return !neutral.is_text_type || (type != nullptr && !type->is_null() && !is_text(*type, "text"));
    }
    return false;
}

}  // namespace

std::string_view to_string(Endpoint endpoint) {
    constexpr std::array<std::string_view, endpoint_count> names = {
        "chat", "completions", "responses", "embeddings", "tokenize", "detokenize", "messages"};
    return names[static_cast<std::size_t>(endpoint)];
}

std::string_view to_string(Treatment treatment) {
    constexpr std::array<std::string_view, 3> names = {"honoured", "refused", "ignored"};
    return names[static_cast<std::size_t>(treatment)];
}

std::string to_string(const Neutral& neutral) {
    if (neutral.number) return shown(*neutral.number);
    if (!neutral.beside.empty()) return "any value beside `" + std::string(neutral.beside) + "`: \"none\"";
    if (neutral.is_text_type) return "{\"type\": \"text\"}";
    if (neutral.is_text_list) return "[\"text\"]";
    std::string texts(neutral.texts);
    for (std::size_t at = texts.find('|'); at != texts.npos; at = texts.find('|', at)) texts.replace(at, 1, " or ");
    return texts;
}

std::string to_string(const Range& range) {
    if (!range.is_set()) return {};
    if (range.above_min) return "above " + shown(range.min) + " and at most " + shown(range.max);
    return "from " + shown(range.min) + " to " + shown(range.max);
}

const FieldRow* find_field(std::string_view name, Endpoint endpoint) {
    const auto rows = std::ranges::equal_range(by_name(), name, {}, &FieldRow::name);
    const auto row = std::ranges::find_if(rows, [&](const FieldRow* one) { return one->is_of(endpoint); });
    return row == rows.end() ? nullptr : *row;
}

const Range& range_of(std::string_view name) {
    const auto rows = std::ranges::equal_range(by_name(), name, {}, &FieldRow::name);
    const auto row = std::ranges::find_if(rows, [](const FieldRow* one) { return one->range.is_set(); });
    EXA_CHECK(row != rows.end());
    return (*row)->range;
}

ApiResult<void> refuse_unsupported(const Fields& fields, Endpoint endpoint) {
    for (const auto& member : fields.object()) {
        if (member.value().is_null()) continue;
        const std::string_view name(member.key().data(), member.key().size());
        const FieldRow* row = find_field(name, endpoint);
        if (row == nullptr || row->treatment != Treatment::refused) continue;
        if (asks(member.value(), row->neutral, fields)) return unsupported_parameter(fields.path(name), row->help);
    }
    return boost::outcome_v2::success();
}

}  // namespace exa::openai
