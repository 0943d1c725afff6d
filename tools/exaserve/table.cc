#include "exaserve/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/check.h"

namespace exa::cli {

namespace {

constexpr std::string_view gap = "  ";
constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view reset = "\x1b[0m";

void append_cell(std::string& line, std::string_view text, std::size_t width, Align align) {
    const std::string padding(width - std::min(width, display_width(text)), ' ');
    if (align == Align::right) line += padding;
    line += text;
    if (align == Align::left) line += padding;
}

std::string two_units(long long whole, long long unit, const char* large, const char* small, long long small_unit) {
    std::string text = std::to_string(whole / unit) + " " + large;
    const long long rest = whole % unit / small_unit;
    if (rest > 0) text += " " + std::to_string(rest) + " " + small;
    return text;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
    EXA_CHECK(cells.size() == columns_.size());
    for (std::string& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::render(Style style) const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = display_width(columns_[c].title);
        for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
        widths.push_back(width);
    }
    std::string out;
    const auto append_line = [&](auto&& cell, bool is_title) {
        std::string line;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (c > 0) line += gap;
            append_cell(line, cell(c), widths[c], columns_[c].align);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        if (is_title && style == Style::color) line = std::string(bold) + line + std::string(reset);
        out += line + "\n";
    };
    append_line([&](std::size_t c) { return columns_[c].title; }, true);
    for (const auto& row : rows_) append_line([&](std::size_t c) { return row[c]; }, false);
    return out;
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string printable(std::string_view text) {
    std::string out(text);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto byte = static_cast<unsigned char>(out[i]);
        if (byte < 0x20 || byte == 0x7F) out[i] = '?';
        // The C1 controls, U+0080 to U+009F, steer terminals too.
        if (byte == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0) {
            out.replace(i, 2, "?");
        }
    }
    return out;
}

std::string human_seconds(double seconds) {
    if (!(seconds >= 0)) return "-";
    if (seconds < 1) return std::to_string(std::lround(seconds * 1000)) + " ms";
    // Beyond every uptime; keeps the conversion defined.
    const long long whole = std::llround(std::min(seconds, 1e12));
    if (whole < 60) return std::to_string(whole) + " s";
    if (whole < 3600) return two_units(whole, 60, "min", "s", 1);
    if (whole < 86400) return two_units(whole, 3600, "h", "min", 60);
    return two_units(whole, 86400, "d", "h", 3600);
}

std::string human_bytes(double bytes) {
    if (!(bytes >= 0)) return "-";
    constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f %s", unit == 0 ? 0 : 1, bytes, units[unit]);
    return text.data();
}

std::string human_share(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", std::clamp(share, 0.0, 1.0) * 100);
    return text;
}

}  // namespace exa::cli
