#include "io/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <utility>

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
    // A call of the system for each number would be a tenth of what a request costs.
    thread_local std::array<std::uint64_t, 256> fetched;
    thread_local std::size_t left = 0;
    std::uint64_t value = 0;
    while (value == 0) {
        if (left == 0) {
            fill_random({reinterpret_cast<std::uint8_t*>(fetched.data()), sizeof fetched});
            left = fetched.size();
        }
        // What was given out is nobody else's to read.
        value = std::exchange(fetched[--left], 0);
    }
    return value;
}

AeadNonce random_nonce() {
    AeadNonce nonce{};
    fill_random(nonce);
    return nonce;
}

}  // namespace exa::io
