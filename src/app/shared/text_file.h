// Small text files, read whole and replaced whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace exa::app::shared {

// errc::data_dir when it cannot be read or holds more than `bytes_max`.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

// After a power cut either the old or the new text is there, on the disk when this returns. The new file has the old
// one's mode and, as far as this process may give it, owner; mode 0600 when there was none. errc::data_dir: the old
// text is still there.
Result<void> replace_text_file(const std::string& path, std::string_view text);

}  // namespace exa::app::shared
