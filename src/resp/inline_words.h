// An inline command in words, with quotes as Redis takes them (sdssplitargs in its sds.c).
//
// "..." knows \n \r \t \b \a \xHH and \ before any other byte; '...' knows only \'. A closing quote ends its word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exa::resp {

// Nothing if a quote is not closed, or is followed by anything but white space.
std::optional<std::vector<std::string>> split_inline(std::string_view line);

}  // namespace exa::resp
