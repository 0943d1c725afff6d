// EXA_CHECK: what must be true of our own code. It aborts in every build; bytes from outside never reach one.
#pragma once

namespace exa {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace exa

#define EXA_CHECK(condition) \
    (static_cast<bool>(condition) ? static_cast<void>(0) : ::exa::check_failed(#condition, __FILE__, __LINE__))
