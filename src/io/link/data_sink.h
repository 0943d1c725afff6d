// DataSink: where the data of an outbound stream goes when it need not pass through frames of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace exa::io::link {

// Takes the data of a stream as it comes off the network, to where it stays.
class DataSink {
  public:
    virtual ~DataSink() = default;
    // Where the next bytes go: at least one; valid until filled() has returned.
    virtual std::span<std::uint8_t> room() = 0;
    // This many of them have arrived. An error cancels the stream.
    virtual Result<void> filled(std::size_t count) = 0;
};

}  // namespace exa::io::link
