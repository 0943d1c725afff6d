#include "app/attach/event_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace exa::app::attach {

namespace {

// As much of a line as tells what it is.
constexpr std::size_t line_bytes_max = 64;

constexpr std::array<std::string_view, 4> last_types = {"response.completed", "response.incomplete", "response.failed",
                                                        "error"};

// What follows the field's name and one blank; nothing: it is another field.
bool take_field(std::string_view& line, std::string_view name) {
    if (!line.starts_with(name)) return false;
    line.remove_prefix(name.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    return true;
}

bool is_last(std::string_view line) {
    if (take_field(line, "event:")) return std::ranges::find(last_types, line) != last_types.end();
    if (!take_field(line, "data:")) return false;
    if (line == "[DONE]" || line.starts_with("{\"error\"")) return true;
    return std::ranges::any_of(
        last_types, [&](std::string_view type) { return line.starts_with("{\"type\":\"" + std::string(type) + "\""); });
}

}  // namespace

void EventStream::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view part = bytes.substr(0, end);
        line_.append(part.substr(0, line_bytes_max - std::min(line_bytes_max, line_.size())));
        has_line_ = has_line_ || !part.empty();
        if (end == bytes.npos) {
            is_cut_ = has_line_;
            return;
        }
        end_line();
        bytes.remove_prefix(end + 1);
    }
}

void EventStream::end_line() {
    if (line_.ends_with('\r')) line_.pop_back();
    if (line_.empty()) {
        if (is_inside_) was_end_ = is_end_;
        is_inside_ = is_end_ = false;
    } else if (!line_.starts_with(':')) {  // a comment, such as those that keep a connection open
        is_inside_ = true;
        is_end_ = is_end_ || is_last(line_);
    }
    line_.clear();
    has_line_ = is_cut_ = false;
}

}  // namespace exa::app::attach
