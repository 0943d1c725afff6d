#include "loadgen/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "loadgen/errc.h"

namespace exa::loadgen {

namespace {

struct Columns {
    std::size_t time = npos;
    std::size_t prompt = npos;
    std::size_t output = npos;
    static constexpr std::size_t npos = ~std::size_t{0};

    std::size_t least() const { return std::max({time, prompt, output}) + 1; }
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view skipped = " \t\"";
    const auto first = text.find_first_not_of(skipped);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(skipped) - first + 1);
}

// Fields of these files hold no commas.
std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const auto comma = line.find(',');
        fields.push_back(trimmed(line.substr(0, comma)));
        if (comma == std::string_view::npos) return fields;
        line.remove_prefix(comma + 1);
    }
}

std::string_view next_line(std::string_view& text) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

Columns find_columns(std::string_view header) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (header.starts_with(byte_order_mark)) header.remove_prefix(byte_order_mark.size());
    Columns columns;
    const auto fields = split(header);
    for (std::size_t i = 0; i < fields.size(); ++i) {
        std::string name;
        for (const char c : fields[i])
            if (c != ' ' && c != '_') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (name == "timestamp") columns.time = i;
        if (name == "requesttokens" || name == "contexttokens") columns.prompt = i;
        if (name == "responsetokens" || name == "generatedtokens") columns.output = i;
    }
    return columns;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// "2023-11-16 18:15:46.6805900", with T for the space and an offset behind it in some editions; the offset is the same
// in every row, so it does not matter. Microseconds.
std::optional<double> parse_date(std::string_view text) {
    if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
    const auto year = parse_number<int>(text.substr(0, 4));
    const auto month = parse_number<unsigned>(text.substr(5, 2));
    const auto day = parse_number<unsigned>(text.substr(8, 2));
    const auto hour = parse_number<unsigned>(text.substr(11, 2));
    const auto minute = parse_number<unsigned>(text.substr(14, 2));
    const auto offset = text.find_first_of("+-Z", 19);
    const auto second = parse_number<double>(text.substr(17, offset == std::string_view::npos ? offset : offset - 17));
    if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(*month),
                                           std::chrono::day(*day)};
    if (!date.ok() || *hour > 23 || *minute > 59 || !(*second >= 0 && *second < 61)) return std::nullopt;
    const auto days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((double(days) * 24 + *hour) * 60 + *minute) * 60e6 + *second * 1e6;
}

std::optional<double> parse_time(std::string_view text) {
    const auto seconds = parse_number<double>(text);
    const std::optional<double> us = seconds ? std::optional(*seconds * 1e6) : parse_date(text);
    // Within what a double counts to the microsecond.
    if (!us || !(*us >= 0 && *us < 9e15)) return std::nullopt;
    return us;
}

// 0 .. 10^7; some editions write 12.0.
std::optional<std::uint32_t> parse_tokens(std::string_view text) {
    const auto value = parse_number<double>(text);
    if (!value || !(*value >= 0 && *value <= 1e7)) return std::nullopt;
    return static_cast<std::uint32_t>(std::lround(*value));
}

Error bad_row(std::size_t number, std::string_view what, std::string_view value) {
    return error(errc::bad_trace, "line " + std::to_string(number) + ": " + std::string(what) + " '" +
                                      std::string(value.substr(0, 60)) + "'");
}

}  // namespace

Result<std::vector<TraceRow>> parse_trace(std::string_view csv) {
    const std::string_view header = next_line(csv);
    const Columns columns = find_columns(header);
    if (columns.time == Columns::npos || columns.prompt == Columns::npos || columns.output == Columns::npos)
        return bad_row(1,
                       "the columns Timestamp, Request tokens and Response tokens (or TIMESTAMP, ContextTokens and "
                       "GeneratedTokens) must stand in the first line, which is",
                       header);
    struct Row {
        double us;
        std::size_t line;  // rows of one moment keep their order
        Lengths lengths;
    };
    std::vector<Row> rows;
    for (std::size_t number = 2; !csv.empty(); ++number) {
        const std::string_view line = next_line(csv);
        if (trimmed(line).empty()) continue;
        const auto fields = split(line);
        if (fields.size() < columns.least()) return bad_row(number, "too few columns in", line);
        const auto us = parse_time(fields[columns.time]);
        if (!us) return bad_row(number, "neither seconds nor a date and time:", fields[columns.time]);
        const auto prompt = parse_tokens(fields[columns.prompt]);
        if (!prompt) return bad_row(number, "not a number of tokens:", fields[columns.prompt]);
        const auto output = parse_tokens(fields[columns.output]);
        if (!output) return bad_row(number, "not a number of tokens:", fields[columns.output]);
        if (*output > 0) rows.push_back({*us, number, {*prompt, *output}});
    }
    if (rows.empty()) return error(errc::bad_trace, "the file holds no request with an answer");
    std::ranges::sort(rows, {}, [](const Row& row) { return std::pair(row.us, row.line); });
    std::vector<TraceRow> trace;
    trace.reserve(rows.size());
    for (const Row& row : rows) trace.push_back({Duration(std::llround(row.us - rows.front().us)), row.lengths});
    return trace;
}

}  // namespace exa::loadgen
