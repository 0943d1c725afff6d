// Whether weights are numbers: a NaN or an infinity in a file makes every answer of its model fail, long after the
// load.
#pragma once

#include "base/bytes.h"
#include "model/gguf.h"

namespace exa::model {

// Whether all values of `data`, whole blocks of `type`, are finite. A quantised block's are when its scales are, so
// only these are read: about 10 GB/s from memory, 5 GB/s of other types, beside the hash of the same bytes that every
// load takes.
bool all_finite(TensorType type, ByteView data);

}  // namespace exa::model
