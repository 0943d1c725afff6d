#include "io/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace exa::io {

void fill_random(std::span<std::uint8_t> out) {
    while (!out.empty()) {
        const ssize_t got = getrandom(out.data(), out.size(), 0);
        if (got < 0) {
            EXA_CHECK(errno == EINTR);
            continue;
        }
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

std::uint64_t random_u64() {
    std::uint64_t value = 0;
    while (value == 0) {
        std::uint8_t bytes[sizeof value];
        fill_random(bytes);
        std::memcpy(&value, bytes, sizeof value);
    }
    return value;
}

}  // namespace exa::io
