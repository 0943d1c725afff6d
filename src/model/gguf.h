// Gguf: the metadata and tensors of a GGUF file (versions 2 and 3, little endian), borrowed from its bytes.
// The file is untrusted: every count and length is checked against the bytes that are left before anything is
// allocated or read, so memory use is a small multiple of the header whatever it claims. Layout: magic, version,
// counts, key-values, tensor infos, padding to general.alignment, tensor data, in the order of the infos and each
// tensor's at the next multiple of the alignment. A file laid out otherwise is refused: tensors that overlap or changed
// places would answer nonsense in good health. Specification: ggml's docs/gguf.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace exa::model {

// The numbers are the file format's.
enum class TensorType : std::uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    bf16 = 30,
};

// Rows are stored as whole blocks; an unquantised type has blocks of one element.
struct BlockShape {
    std::uint32_t elements = 0;
    std::uint32_t bytes = 0;
};

// Nothing for a number that is none of TensorType.
std::optional<BlockShape> block_shape(TensorType type);
std::string_view to_string(TensorType type);

// Bytes of one row of `row_length` elements, which must be a multiple of the type's block and below 2^56.
std::uint64_t row_bytes(TensorType type, std::uint64_t row_length);

struct Tensor {
    std::string name;
    TensorType type = TensorType::f32;
    std::vector<std::uint64_t> shape;  // 1 to 4 dimensions, none 0; shape[0] = row length, rows follow one another
    ByteView data;  // row_bytes(type, shape[0]) * product(shape[1..]); starts at the file's alignment
};

class Gguf {
  public:
    // Borrows `file`, which must outlive the result. Errors (errc::gguf_*) name the byte offset and the thing:
    // "offset 0x1234: tensor 'x': ...".
    static Result<Gguf> parse(ByteView file);

    // In the file's order.
    const std::vector<Tensor>& tensors() const { return tensors_; }
    // Null when there is none. O(log n).
    const Tensor* find(std::string_view name) const;

    bool has(std::string_view key) const { return entry(key) != nullptr; }

    // Metadata by key; nothing when the key is absent or its value is of another kind. Integers of every width and
    // sign convert when the value fits.
    std::optional<std::uint64_t> get_uint(std::string_view key) const;
    std::optional<std::int64_t> get_int(std::string_view key) const;
    std::optional<double> get_float(std::string_view key) const;
    std::optional<bool> get_bool(std::string_view key) const;
    std::optional<std::string_view> get_string(std::string_view key) const;  // any bytes; borrowed from the file

    // How many elements the array has; nothing for what is none.
    std::optional<std::uint64_t> array_size(std::string_view key) const;
    std::optional<std::vector<std::string_view>> get_strings(std::string_view key) const;
    std::optional<std::vector<float>> get_floats(std::string_view key) const;
    std::optional<std::vector<std::int64_t>> get_ints(std::string_view key) const;

  private:
    // The numbers are the file format's.
    enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

    struct Entry {
        std::string_view key;
        Kind kind = Kind::u8;  // of the value, or of the elements when is_array
        bool is_array = false;
        std::uint64_t count = 1;
        ByteView payload;  // the value, or the elements one after another; already checked
    };

    class Parser;

    static std::optional<std::int64_t> integer(Kind kind, const std::uint8_t* at);
    const Entry* entry(std::string_view key) const;
    const Entry* scalar(std::string_view key) const;
    const Entry* array(std::string_view key) const;

    std::vector<Entry> entries_;  // sorted by key
    std::vector<Tensor> tensors_;
    std::vector<std::uint32_t> by_name_;  // indices of tensors_, sorted by name
};

}  // namespace exa::model
