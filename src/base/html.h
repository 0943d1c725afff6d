// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace exa {

// For element text and for attributes in double quotes. Control characters that no document may hold are left out.
std::string html_escaped(std::string_view text);

}  // namespace exa
