#include "app/gateway/traceparent.h"

#include <algorithm>
#include <string>

namespace exa::app::gateway {

namespace {

// "00-" trace id "-" parent id "-" flags.
constexpr std::size_t trace_at = 3;
constexpr std::size_t trace_size = 32;
constexpr std::size_t parent_at = 36;
constexpr std::size_t parent_size = 16;
constexpr std::size_t flags_at = 53;
constexpr std::size_t size = 55;

// Section 3.3.1.5: what a vendor should be able to pass on. More is dropped whole.
constexpr std::size_t state_bytes_max = 512;

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
    return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

}  // namespace

std::optional<std::string_view> trace_id(std::string_view traceparent) {
    const std::string_view version = traceparent.substr(0, 2);
    if (traceparent.size() < size || !is_hex(version) || version == "ff") return std::nullopt;
    // Later versions may say more behind what this one says.
    if (traceparent.size() > size && (version == "00" || traceparent[size] != '-')) return std::nullopt;
    if (traceparent[trace_at - 1] != '-' || traceparent[parent_at - 1] != '-' || traceparent[flags_at - 1] != '-')
        return std::nullopt;
    const std::string_view trace = traceparent.substr(trace_at, trace_size);
    if (!is_id(trace) || !is_id(traceparent.substr(parent_at, parent_size)) ||
        !is_hex(traceparent.substr(flags_at, size - flags_at)))
        return std::nullopt;
    return trace;
}

std::optional<std::string_view> trace_id(const io::http::HttpHeaders& headers) {
    std::optional<std::string_view> parent;
    for (const auto& [name, value] : headers) {
        if (!io::http::equal_without_case(name, "traceparent")) continue;
        if (parent) return std::nullopt;
        parent = value;
    }
    return parent && parent->size() <= wire::header_value_bytes_max ? trace_id(*parent) : std::nullopt;
}

std::vector<wire::HeaderField> trace_fields(const io::http::HttpHeaders& headers) {
    if (!trace_id(headers)) return {};
    std::vector<wire::HeaderField> fields{{"traceparent", std::string(*headers.find("traceparent"))}};
    std::string state;
    for (const auto& [name, value] : headers)
        if (!value.empty() && io::http::equal_without_case(name, "tracestate"))
            state.append(state.empty() ? "" : ",").append(value);
    const bool printable = std::ranges::all_of(state, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
    if (!state.empty() && state.size() <= state_bytes_max && printable)
        fields.push_back({"tracestate", std::move(state)});
    return fields;
}

}  // namespace exa::app::gateway
