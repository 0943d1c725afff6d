#include "base/check.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace exa {

void check_failed(const char* condition, const char* file, int line) {
    std::array<char, 512> text{};
    const int size = std::snprintf(text.data(), text.size(), "%s:%d: check failed: %s\n", file, line, condition);
    // A reader that stands still does not keep a process that must end.
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (size > 0 && ::poll(&ready, 1, 1000) > 0) {
        const auto fits = static_cast<std::size_t>(size) < text.size() ? static_cast<std::size_t>(size) : text.size();
        [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text.data(), fits);
    }
    std::abort();
}

}  // namespace exa
