// Cap'n Proto 0.9.2's generated code compares `const char*` with kj::StringPtr, for which C++20's rewritten operators
// find no candidate in that release. Forced in before generated headers by proto/meson.build.
#pragma once

#include <kj/string.h>

namespace kj {

inline bool operator==(const char* a, const StringPtr& b) {
    return b == StringPtr(a);
}

}  // namespace kj
