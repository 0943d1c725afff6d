#include "model/gguf_writer.h"

#include <bit>

#include "base/check.h"
#include "model/quantize.h"

namespace exa::model {

namespace {

constexpr std::size_t alignment = 32;

// Value kinds of the file format.
constexpr std::uint32_t kind_u32 = 4;
constexpr std::uint32_t kind_i32 = 5;
constexpr std::uint32_t kind_f32 = 6;
constexpr std::uint32_t kind_bool = 7;
constexpr std::uint32_t kind_string = 8;
constexpr std::uint32_t kind_array = 9;

template <class T>
void put(T value, Bytes& out) {
    for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_string(std::string_view text, Bytes& out) {
    put(std::uint64_t{text.size()}, out);
    const ByteView bytes = as_bytes(text);
    out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_array_header(std::string_view key, std::uint32_t kind, std::uint64_t count, Bytes& out) {
    put_string(key, out);
    put(kind_array, out);
    put(kind, out);
    put(count, out);
}

void pad(Bytes& out) {
    out.resize((out.size() + alignment - 1) / alignment * alignment);
}

}  // namespace

void GgufWriter::set_uint(std::string_view key, std::uint32_t value) {
    ++entries_;
    put_string(key, metadata_);
    put(kind_u32, metadata_);
    put(value, metadata_);
}

void GgufWriter::set_float(std::string_view key, float value) {
    ++entries_;
    put_string(key, metadata_);
    put(kind_f32, metadata_);
    put(std::bit_cast<std::uint32_t>(value), metadata_);
}

void GgufWriter::set_bool(std::string_view key, bool value) {
    ++entries_;
    put_string(key, metadata_);
    put(kind_bool, metadata_);
    metadata_.push_back(value ? 1 : 0);
}

void GgufWriter::set_string(std::string_view key, std::string_view value) {
    ++entries_;
    put_string(key, metadata_);
    put(kind_string, metadata_);
    put_string(value, metadata_);
}

void GgufWriter::set_strings(std::string_view key, std::span<const std::string> values) {
    ++entries_;
    put_array_header(key, kind_string, values.size(), metadata_);
    for (const std::string& value : values) put_string(value, metadata_);
}

void GgufWriter::set_floats(std::string_view key, std::span<const float> values) {
    ++entries_;
    put_array_header(key, kind_f32, values.size(), metadata_);
    for (const float value : values) put(std::bit_cast<std::uint32_t>(value), metadata_);
}

void GgufWriter::set_ints(std::string_view key, std::span<const std::int32_t> values) {
    ++entries_;
    put_array_header(key, kind_i32, values.size(), metadata_);
    for (const std::int32_t value : values) put(static_cast<std::uint32_t>(value), metadata_);
}

void GgufWriter::add_tensor(std::string_view name, TensorType type, std::vector<std::uint64_t> shape,
                            std::span<const float> values) {
    EXA_CHECK(!shape.empty() && shape.size() <= 4);
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : shape) elements *= extent;
    EXA_CHECK(elements == values.size() && shape[0] % block_shape(type)->elements == 0);

    pad(data_);
    ++tensors_;
    put_string(name, infos_);
    put(static_cast<std::uint32_t>(shape.size()), infos_);
    for (const std::uint64_t extent : shape) put(extent, infos_);
    put(static_cast<std::uint32_t>(type), infos_);
    put(std::uint64_t{data_.size()}, infos_);
    quantize(type, values, data_);
}

Bytes GgufWriter::finish() const {
    Bytes file = {'G', 'G', 'U', 'F'};
    put(std::uint32_t{3}, file);
    put(tensors_, file);
    put(entries_, file);
    file.insert(file.end(), metadata_.begin(), metadata_.end());
    file.insert(file.end(), infos_.begin(), infos_.end());
    if (tensors_ > 0) pad(file);
    file.insert(file.end(), data_.begin(), data_.end());
    return file;
}

}  // namespace exa::model
