// AlignedBytes: a block of memory that starts on a cache line, for the kernels' widest loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace exa::model {

class AlignedBytes {
  public:
    static constexpr std::size_t alignment = 64;

    AlignedBytes() = default;
    // Contents are undefined.
    explicit AlignedBytes(std::size_t size)
        : data_(static_cast<std::uint8_t*>(::operator new(size, std::align_val_t{alignment}))) {}

    std::uint8_t* data() { return data_.get(); }
    const std::uint8_t* data() const { return data_.get(); }

  private:
    struct Free {
        void operator()(std::uint8_t* bytes) const { ::operator delete(bytes, std::align_val_t{alignment}); }
    };

    std::unique_ptr<std::uint8_t, Free> data_;
};

}  // namespace exa::model
