#include "app/memory.h"

#include <malloc.h>

namespace exa::app {

void keep_freed_memory() {
    // The largest block that still comes from a heap, and what a heap keeps at its end.
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace exa::app
