// Table: aligned columns for people. Not for scripts; those have --json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace exa::cli {

enum class Style : std::uint8_t { plain, color };

enum class Align : std::uint8_t { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // One cell a column. Control characters become '?': a name from the network must not steer a terminal.
    void add_row(std::vector<std::string> cells);

    // Lines end with a newline and have no spaces at their end. Titles are bold in color.
    std::string render(Style style) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// Columns a terminal needs for `text`: one a code point, which is right for the names and numbers shown here.
std::size_t display_width(std::string_view text);

// `text` with control characters as '?'.
std::string printable(std::string_view text);

// "450 ms", "5 s", "3 min 20 s", "2 h 5 min", "4 d 1 h".
std::string human_seconds(double seconds);

// "1.5 MiB".
std::string human_bytes(double bytes);

// "25.1 %".
std::string human_share(double share);

}  // namespace exa::cli
