// Two passes in one walk: the header is read front to back with a cursor that cannot leave the file, and only then are
// tensor ranges computed, because where the data begins depends on a metadata key. Arrays of strings are walked once to
// check them and again by each getter; nothing of the file is copied before that.
#include "model/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/errc.h"

namespace exa::model {

namespace {

constexpr std::uint32_t version_min = 2;
constexpr std::uint32_t version_max = 3;
constexpr std::uint64_t alignment_default = 32;
constexpr std::uint64_t alignment_max = 1U << 20;
constexpr std::uint32_t dimensions_max = 4;
constexpr std::uint64_t name_bytes_max = 65'535;  // the specification's bound on keys; tensor names have 64

constexpr std::uint64_t entry_bytes_min = 8 + 4 + 1;           // empty key, kind, one byte
constexpr std::uint64_t tensor_bytes_min = 8 + 4 + 8 + 4 + 8;  // empty name, one dimension

// The value at `at` of a little-endian file; every machine we build for is little endian.
template <class T>
T load(const std::uint8_t* at) {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::string hex(std::uint64_t value) {
    std::array<char, 24> text;
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
    return text.data();
}

// Names go to terminals and logs, so they are cut and made printable: the file is untrusted.
std::string printable(std::string_view name) {
    constexpr std::size_t shown_max = 64;
    std::string text;
    for (const char c : name.substr(0, shown_max)) text += c >= ' ' && c < 0x7f ? c : '?';
    if (name.size() > shown_max) text += "...";
    return "'" + text + "'";
}

Error failure(errc code, std::uint64_t offset, const std::string& what) {
    return error(code, "offset " + hex(offset) + ": " + what);
}

// Types of ggml that nothing here computes with, by their number; empty for a number that is none.
std::string_view foreign_type(std::uint32_t number) {
    switch (number) {
        case 10:
            return "Q2_K";
        case 11:
            return "Q3_K";
        case 15:
            return "Q8_K";
        case 16:
            return "IQ2_XXS";
        case 17:
            return "IQ2_XS";
        case 18:
            return "IQ3_XXS";
        case 19:
            return "IQ1_S";
        case 20:
            return "IQ4_NL";
        case 21:
            return "IQ3_S";
        case 22:
            return "IQ2_S";
        case 23:
            return "IQ4_XS";
        case 24:
            return "I8";
        case 25:
            return "I16";
        case 26:
            return "I32";
        case 27:
            return "I64";
        case 28:
            return "F64";
        case 29:
            return "IQ1_M";
        case 34:
            return "TQ1_0";
        case 35:
            return "TQ2_0";
        case 39:
            return "MXFP4";
        default:
            return {};
    }
}

// Walks bytes that were checked before.
std::string_view take_string(ByteView& rest) {
    const auto size = static_cast<std::size_t>(load<std::uint64_t>(rest.data()));
    const std::string_view text = as_text(rest.subspan(8, size));
    rest = rest.subspan(8 + size);
    return text;
}

}  // namespace

std::optional<BlockShape> block_shape(TensorType type) {
    switch (type) {
        case TensorType::f32:
            return BlockShape{1, 4};
        case TensorType::f16:
        case TensorType::bf16:
            return BlockShape{1, 2};
        case TensorType::q4_0:
            return BlockShape{32, 18};
        case TensorType::q4_1:
            return BlockShape{32, 20};
        case TensorType::q5_0:
            return BlockShape{32, 22};
        case TensorType::q5_1:
            return BlockShape{32, 24};
        case TensorType::q8_0:
            return BlockShape{32, 34};
        case TensorType::q4_k:
            return BlockShape{256, 144};
        case TensorType::q5_k:
            return BlockShape{256, 176};
        case TensorType::q6_k:
            return BlockShape{256, 210};
    }
    return std::nullopt;
}

std::string_view to_string(TensorType type) {
    switch (type) {
        case TensorType::f32:
            return "F32";
        case TensorType::f16:
            return "F16";
        case TensorType::bf16:
            return "BF16";
        case TensorType::q4_0:
            return "Q4_0";
        case TensorType::q4_1:
            return "Q4_1";
        case TensorType::q5_0:
            return "Q5_0";
        case TensorType::q5_1:
            return "Q5_1";
        case TensorType::q8_0:
            return "Q8_0";
        case TensorType::q4_k:
            return "Q4_K";
        case TensorType::q5_k:
            return "Q5_K";
        case TensorType::q6_k:
            return "Q6_K";
    }
    return "unknown";
}

std::uint64_t row_bytes(TensorType type, std::uint64_t row_length) {
    const auto block = block_shape(type);
    EXA_CHECK(block && row_length % block->elements == 0 && row_length < std::uint64_t{1} << 56);
    return row_length / block->elements * block->bytes;
}

class Gguf::Parser {
  public:
    explicit Parser(ByteView file) : file_(file) {}

    Result<Gguf> run() {
        EXA_TRY(auto counts, read_preamble());
        EXA_TRY(read_entries(counts.entries));
        EXA_TRY(refuse_parts());
        EXA_TRY(auto alignment, read_alignment());
        EXA_TRY(read_tensor_infos(counts.tensors));
        EXA_TRY(place_tensors(alignment));
        EXA_TRY(index_tensors());
        return std::move(out_);
    }

  private:
    struct Counts {
        std::uint64_t tensors = 0;
        std::uint64_t entries = 0;
    };

    // A tensor whose data is not placed yet.
    struct Info {
        std::uint64_t at = 0;      // of its info in the file
        std::uint64_t offset = 0;  // of its data from where data begins
        std::uint64_t bytes = 0;
    };

    std::uint64_t left() const { return file_.size() - at_; }

    template <class T>
    Result<T> read(const std::string& what) {
        if (left() < sizeof(T))
            return failure(errc::gguf_truncated, at_,
                           what + ": needs " + std::to_string(sizeof(T)) + " bytes, the file has " +
                               std::to_string(left()) + " more");
        const T value = load<T>(file_.data() + at_);
        at_ += sizeof(T);
        return value;
    }

    Result<std::string_view> read_string(const std::string& what, std::uint64_t bytes_max) {
        const std::uint64_t start = at_;
        EXA_TRY(auto size, read<std::uint64_t>(what));
        if (size > bytes_max)
            return failure(errc::gguf_invalid, start,
                           what + ": length " + std::to_string(size) + " above " + std::to_string(bytes_max));
        if (size > left())
            return failure(
                errc::gguf_truncated, start,
                what + ": length " + std::to_string(size) + ", the file has " + std::to_string(left()) + " more");
        const std::string_view text = as_text(file_.subspan(at_, size));
        at_ += size;
        return text;
    }

    Result<Counts> read_preamble() {
        if (file_.size() >= 4 && as_text(file_.first(4)) != "GGUF")
            return failure(errc::gguf_invalid, 0, "magic: not 'GGUF'");
        EXA_TRY(read<std::uint32_t>("magic"));
        EXA_TRY(auto version, read<std::uint32_t>("version"));
        if (const std::uint32_t swapped = __builtin_bswap32(version); swapped >= version_min && swapped <= version_max)
            return failure(errc::gguf_unsupported, 4, "a big-endian file: convert it to little endian");
        if (version < version_min || version > version_max)
            return failure(errc::gguf_unsupported, 4,
                           "version " + std::to_string(version) + ": known are " + std::to_string(version_min) +
                               " to " + std::to_string(version_max) + ", little endian");
        Counts counts;
        EXA_TRY(counts.tensors, read<std::uint64_t>("tensor count"));
        EXA_TRY(counts.entries, read<std::uint64_t>("metadata count"));
        if (counts.entries > left() / entry_bytes_min)
            return failure(errc::gguf_truncated, 16,
                           "metadata count " + std::to_string(counts.entries) + ": more than the file has room for");
        if (counts.tensors > left() / tensor_bytes_min)
            return failure(errc::gguf_truncated, 8,
                           "tensor count " + std::to_string(counts.tensors) + ": more than the file has room for");
        return counts;
    }

    // 0 for kinds without a fixed size.
    static std::uint64_t fixed_bytes(Kind kind) {
        switch (kind) {
            case Kind::u8:
            case Kind::i8:
            case Kind::boolean:
                return 1;
            case Kind::u16:
            case Kind::i16:
                return 2;
            case Kind::u32:
            case Kind::i32:
            case Kind::f32:
                return 4;
            case Kind::u64:
            case Kind::i64:
            case Kind::f64:
                return 8;
            case Kind::string:
            case Kind::array:
                return 0;
        }
        return 0;
    }

    Result<Kind> read_kind(const std::string& what) {
        const std::uint64_t start = at_;
        EXA_TRY(auto number, read<std::uint32_t>(what));
        if (number > static_cast<std::uint32_t>(Kind::f64))
            return failure(errc::gguf_invalid, start, what + ": unknown value kind " + std::to_string(number));
        return static_cast<Kind>(number);
    }

    Result<void> read_entries(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            EXA_TRY(read_entry(i));
        }
        std::ranges::sort(out_.entries_, {}, &Entry::key);
        const auto twin = std::ranges::adjacent_find(out_.entries_, {}, &Entry::key);
        if (twin != out_.entries_.end())
            return failure(errc::gguf_invalid, offset_of(std::next(twin)->key),
                           "metadata " + printable(twin->key) + ": appears twice");
        return success();
    }

    Result<void> read_entry(std::uint64_t index) {
        Entry entry;
        EXA_TRY(entry.key, read_string("key of metadata " + std::to_string(index), name_bytes_max));
        const std::string what = "metadata " + printable(entry.key);
        EXA_TRY(entry.kind, read_kind(what));
        if (entry.kind == Kind::array) {
            entry.is_array = true;
            const std::uint64_t start = at_;
            EXA_TRY(entry.kind, read_kind(what));
            if (entry.kind == Kind::array) return failure(errc::gguf_unsupported, start, what + ": an array of arrays");
            EXA_TRY(entry.count, read<std::uint64_t>(what));
        }
        const std::uint64_t start = at_;
        if (const std::uint64_t each = fixed_bytes(entry.kind); each != 0) {
            if (entry.count > left() / each)
                return failure(errc::gguf_truncated, start,
                               what + ": " + std::to_string(entry.count) + " values of " + std::to_string(each) +
                                   " bytes, the file has " + std::to_string(left()) + " more");
            at_ += entry.count * each;
        } else {
            for (std::uint64_t i = 0; i < entry.count; ++i) {
                EXA_TRY(read_string(what, std::numeric_limits<std::uint64_t>::max()));
            }
        }
        entry.payload = file_.subspan(start, at_ - start);
        out_.entries_.push_back(entry);
        return success();
    }

    // Of a model that was split into several files.
    Result<void> refuse_parts() const {
        const std::uint64_t parts = out_.get_uint("split.count").value_or(1);
        if (parts <= 1) return success();
        const std::uint64_t part = out_.get_uint("split.no").value_or(0) + 1;
        return failure(errc::gguf_unsupported, offset_of(out_.entry("split.count")->key),
                       "part " + std::to_string(part) + " of a model in " + std::to_string(parts) +
                           " files, which the built-in engine does not join: 'llama-gguf-split --merge' does, and " +
                           std::string(other_engine));
    }

    Result<std::uint64_t> read_alignment() {
        constexpr std::string_view key = "general.alignment";
        const Entry* const entry = out_.entry(key);
        if (entry == nullptr) return alignment_default;
        const auto alignment = out_.get_uint(key);
        if (!alignment || !std::has_single_bit(*alignment) || *alignment > alignment_max)
            return failure(
                errc::gguf_invalid, offset_of(entry->key),
                "metadata 'general.alignment': not a power of two from 1 to " + std::to_string(alignment_max));
        return *alignment;
    }

    Result<void> read_tensor_infos(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            EXA_TRY(read_tensor_info(i));
        }
        return success();
    }

    Result<void> read_tensor_info(std::uint64_t index) {
        Info info;
        Tensor tensor;
        info.at = at_;
        EXA_TRY(auto name, read_string("name of tensor " + std::to_string(index), name_bytes_max));
        tensor.name = name;
        const std::string what = "tensor " + printable(name);
        EXA_TRY(auto dimensions, read<std::uint32_t>(what));
        if (dimensions == 0 || dimensions > dimensions_max)
            return failure(errc::gguf_invalid, at_ - 4,
                           what + ": " + std::to_string(dimensions) + " dimensions, known are 1 to " +
                               std::to_string(dimensions_max));
        for (std::uint32_t d = 0; d < dimensions; ++d) {
            EXA_TRY(auto extent, read<std::uint64_t>(what));
            if (extent == 0) return failure(errc::gguf_invalid, at_ - 8, what + ": a dimension of 0");
            tensor.shape.push_back(extent);
        }
        EXA_TRY(auto type, read<std::uint32_t>(what));
        tensor.type = static_cast<TensorType>(type);
        const auto block = block_shape(tensor.type);
        if (!block && !foreign_type(type).empty())
            return failure(errc::gguf_unsupported, at_ - 4,
                           what + ": tensor type " + std::string(foreign_type(type)) +
                               ", which the built-in engine does not compute with; " + std::string(other_engine));
        if (!block) return failure(errc::gguf_unsupported, at_ - 4, what + ": tensor type " + std::to_string(type));
        EXA_TRY(info.offset, read<std::uint64_t>(what));

        if (tensor.shape[0] % block->elements != 0)
            return failure(errc::gguf_invalid, info.at,
                           what + ": rows of " + std::to_string(tensor.shape[0]) + " are not whole blocks of " +
                               std::to_string(block->elements) + " (" + std::string(to_string(tensor.type)) + ")");
        info.bytes = tensor.shape[0] / block->elements;
        bool overflow = __builtin_mul_overflow(info.bytes, std::uint64_t{block->bytes}, &info.bytes);
        for (std::size_t d = 1; d < tensor.shape.size(); ++d)
            overflow = __builtin_mul_overflow(info.bytes, tensor.shape[d], &info.bytes) || overflow;
        if (overflow) return failure(errc::gguf_invalid, info.at, what + ": its size overflows");
        infos_.push_back(info);
        out_.tensors_.push_back(std::move(tensor));
        return success();
    }

    Result<void> place_tensors(std::uint64_t alignment) {
        if (infos_.empty()) return success();
        const std::uint64_t base = (at_ + alignment - 1) / alignment * alignment;
        const std::uint64_t room = file_.size() > base ? file_.size() - base : 0;
        std::uint64_t next = 0;
        for (std::size_t i = 0; i < infos_.size(); ++i) {
            const Info& info = infos_[i];
            Tensor& tensor = out_.tensors_[i];
            const std::string what = "tensor " + printable(tensor.name);
            if (info.offset % alignment != 0)
                return failure(
                    errc::gguf_invalid, info.at,
                    what + ": data offset " + hex(info.offset) + " is no multiple of " + std::to_string(alignment));
            if (info.offset > room || info.bytes > room - info.offset)
                return failure(errc::gguf_truncated, info.at,
                               what + ": " + std::to_string(info.bytes) + " bytes of data at " + hex(info.offset) +
                                   ", the file has " + std::to_string(room));
            if (info.offset != next)
                return failure(errc::gguf_invalid, info.at,
                               what + ": data offset " + hex(info.offset) + ", where the tensors before it end is " +
                                   hex(next) + ": tensors overlap, changed places or leave a gap");
            next = (info.offset + info.bytes + alignment - 1) / alignment * alignment;
            tensor.data = file_.subspan(base + info.offset, info.bytes);
        }
        return success();
    }

    Result<void> index_tensors() {
        out_.by_name_.resize(out_.tensors_.size());
        std::iota(out_.by_name_.begin(), out_.by_name_.end(), 0U);
        const auto name_of = [this](std::uint32_t i) -> std::string_view { return out_.tensors_[i].name; };
        std::ranges::sort(out_.by_name_, {}, name_of);
        const auto twin = std::ranges::adjacent_find(out_.by_name_, {}, name_of);
        if (twin != out_.by_name_.end())
            return failure(errc::gguf_invalid, infos_[*std::next(twin)].at,
                           "tensor " + printable(name_of(*twin)) + ": appears twice");
        return success();
    }

    std::uint64_t offset_of(std::string_view part) const {
        return static_cast<std::uint64_t>(part.data() - as_text(file_).data());
    }

    ByteView file_;
    std::uint64_t at_ = 0;
    std::vector<Info> infos_;  // beside out_.tensors_
    Gguf out_;
};

Result<Gguf> Gguf::parse(ByteView file) {
    return Parser(file).run();
}

const Tensor* Gguf::find(std::string_view name) const {
    const auto name_of = [this](std::uint32_t i) -> std::string_view { return tensors_[i].name; };
    const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
    return at != by_name_.end() && name_of(*at) == name ? &tensors_[*at] : nullptr;
}

const Gguf::Entry* Gguf::entry(std::string_view key) const {
    const auto at = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
    return at != entries_.end() && at->key == key ? &*at : nullptr;
}

const Gguf::Entry* Gguf::scalar(std::string_view key) const {
    const Entry* const found = entry(key);
    return found != nullptr && !found->is_array ? found : nullptr;
}

const Gguf::Entry* Gguf::array(std::string_view key) const {
    const Entry* const found = entry(key);
    return found != nullptr && found->is_array ? found : nullptr;
}

std::optional<std::uint64_t> Gguf::get_uint(std::string_view key) const {
    const Entry* const found = scalar(key);
    if (found != nullptr && found->kind == Kind::u64) return load<std::uint64_t>(found->payload.data());
    const auto value = get_int(key);
    if (!value || *value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::optional<std::int64_t> Gguf::get_int(std::string_view key) const {
    const Entry* const found = scalar(key);
    if (found == nullptr) return std::nullopt;
    return integer(found->kind, found->payload.data());
}

std::optional<double> Gguf::get_float(std::string_view key) const {
    const Entry* const found = scalar(key);
    if (found == nullptr) return std::nullopt;
    if (found->kind == Kind::f32) return static_cast<double>(load<float>(found->payload.data()));
    if (found->kind == Kind::f64) return load<double>(found->payload.data());
    return std::nullopt;
}

std::optional<bool> Gguf::get_bool(std::string_view key) const {
    const Entry* const found = scalar(key);
    if (found == nullptr || found->kind != Kind::boolean) return std::nullopt;
    return found->payload[0] != 0;
}

std::optional<std::string_view> Gguf::get_string(std::string_view key) const {
    const Entry* const found = scalar(key);
    if (found == nullptr || found->kind != Kind::string) return std::nullopt;
    ByteView rest = found->payload;
    return take_string(rest);
}

std::optional<std::uint64_t> Gguf::array_size(std::string_view key) const {
    const Entry* const found = array(key);
    return found != nullptr ? std::optional(found->count) : std::nullopt;
}

std::optional<std::vector<std::string_view>> Gguf::get_strings(std::string_view key) const {
    const Entry* const found = array(key);
    if (found == nullptr || found->kind != Kind::string) return std::nullopt;
    std::vector<std::string_view> strings;
    strings.reserve(found->count);
    for (ByteView rest = found->payload; !rest.empty();) strings.push_back(take_string(rest));
    return strings;
}

std::optional<std::vector<float>> Gguf::get_floats(std::string_view key) const {
    const Entry* const found = array(key);
    if (found == nullptr || found->kind != Kind::f32) return std::nullopt;
    std::vector<float> floats(found->count);
    if (!floats.empty()) std::memcpy(floats.data(), found->payload.data(), found->payload.size());
    return floats;
}

std::optional<std::vector<std::int64_t>> Gguf::get_ints(std::string_view key) const {
    const Entry* const found = array(key);
    if (found == nullptr) return std::nullopt;
    std::vector<std::int64_t> ints;
    ints.reserve(found->count);
    const std::size_t each = found->count == 0 ? 0 : found->payload.size() / found->count;
    for (std::uint64_t i = 0; i < found->count; ++i) {
        const auto value = integer(found->kind, found->payload.data() + i * each);
        if (!value) return std::nullopt;
        ints.push_back(*value);
    }
    return ints;
}

std::optional<std::int64_t> Gguf::integer(Kind kind, const std::uint8_t* at) {
    switch (kind) {
        case Kind::u8:
            return load<std::uint8_t>(at);
        case Kind::i8:
            return load<std::int8_t>(at);
        case Kind::u16:
            return load<std::uint16_t>(at);
        case Kind::i16:
            return load<std::int16_t>(at);
        case Kind::u32:
            return load<std::uint32_t>(at);
        case Kind::i32:
            return load<std::int32_t>(at);
        case Kind::u64: {
            const auto value = load<std::uint64_t>(at);
            if (!std::in_range<std::int64_t>(value)) return std::nullopt;
            return static_cast<std::int64_t>(value);
        }
        case Kind::i64:
            return load<std::int64_t>(at);
        case Kind::f32:
        case Kind::f64:
        case Kind::boolean:
        case Kind::string:
        case Kind::array:
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace exa::model
