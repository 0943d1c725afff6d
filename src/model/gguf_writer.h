// GgufWriter: builds a GGUF file (version 3, little endian, alignment 32) in memory.
//
// For models we make ourselves: tests, and the tiny-model tool. Keys and tensor names must be unique; the order of
// calls is the order in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/gguf.h"

namespace exa::model {

class GgufWriter {
  public:
    void set_uint(std::string_view key, std::uint32_t value);
    void set_float(std::string_view key, float value);
    void set_bool(std::string_view key, bool value);
    void set_string(std::string_view key, std::string_view value);
    void set_strings(std::string_view key, std::span<const std::string> values);
    void set_floats(std::string_view key, std::span<const float> values);
    void set_ints(std::string_view key, std::span<const std::int32_t> values);

    // `values` has product(shape) elements, rows of shape[0] one after another, and is stored as `type`
    // (can_quantize(type), rows of whole blocks).
    void add_tensor(std::string_view name, TensorType type, std::vector<std::uint64_t> shape,
                    std::span<const float> values);

    // The file ends with the last tensor's last byte.
    Bytes finish() const;

  private:
    std::uint64_t entries_ = 0;
    std::uint64_t tensors_ = 0;
    Bytes metadata_;
    Bytes infos_;
    Bytes data_;
};

}  // namespace exa::model
