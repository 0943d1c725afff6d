#include "model/gguf.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "model/errc.h"
#include "model/gguf_writer.h"
#include "support/print.h"

namespace {

using exa::Bytes;
using exa::model::errc;
using exa::model::Gguf;
using exa::model::GgufWriter;
using exa::model::TensorType;

// A file with every kind of value the writer knows and two tensors, the last of which ends the file.
Bytes small_file() {
    GgufWriter writer;
    writer.set_string("general.architecture", "llama");
    writer.set_uint("a.uint", 7);
    writer.set_float("a.float", 0.5F);
    writer.set_bool("a.bool", true);
    writer.set_strings("a.strings", std::vector<std::string>{"one", "", "three"});
    writer.set_floats("a.floats", std::vector<float>{1, -2});
    writer.set_ints("a.ints", std::vector<std::int32_t>{3, -4});
    writer.add_tensor("first", TensorType::q8_0, {32, 2}, std::vector<float>(64, 1.0F));
    writer.add_tensor("second", TensorType::f32, {4}, std::vector<float>{1, 2, 3, 4});
    return writer.finish();
}

template <class T>
void put(T value, Bytes& out) {
    for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_string(std::string_view text, Bytes& out) {
    put(std::uint64_t{text.size()}, out);
    for (const char c : text) out.push_back(static_cast<std::uint8_t>(c));
}

Bytes preamble(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    Bytes file = {'G', 'G', 'U', 'F'};
    put(version, file);
    put(tensors, file);
    put(entries, file);
    return file;
}

// One tensor info and room for `data` bytes behind it.
Bytes one_tensor(const std::vector<std::uint64_t>& shape, std::uint32_t type, std::uint64_t offset, std::size_t data) {
    Bytes file = preamble(1, 0);
    put_string("w", file);
    put(static_cast<std::uint32_t>(shape.size()), file);
    for (const std::uint64_t extent : shape) put(extent, file);
    put(type, file);
    put(offset, file);
    file.resize((file.size() + 31) / 32 * 32 + data);
    return file;
}

void check_refused(const Bytes& file, errc code, std::string_view part) {
    const auto parsed = Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_error());
    BOOST_TEST(parsed.error().code == code, parsed.error().message());
    BOOST_TEST(parsed.error().detail.find(part) != std::string::npos, parsed.error().message());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back) {
    const Bytes file = small_file();
    const auto parsed = Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    const Gguf& gguf = parsed.value();
    BOOST_TEST(gguf.get_string("general.architecture") == "llama");
    BOOST_TEST(gguf.get_uint("a.uint") == 7U);
    BOOST_TEST(gguf.get_int("a.uint") == 7);
    BOOST_TEST(gguf.get_float("a.float") == 0.5);
    BOOST_TEST(gguf.get_bool("a.bool") == true);
    BOOST_TEST(gguf.get_strings("a.strings") == (std::vector<std::string_view>{"one", "", "three"}));
    BOOST_TEST(gguf.get_floats("a.floats") == (std::vector<float>{1, -2}));
    BOOST_TEST(gguf.get_ints("a.ints") == (std::vector<std::int64_t>{3, -4}));
    BOOST_TEST(gguf.array_size("a.strings") == 3U);
    BOOST_TEST(!gguf.array_size("a.uint").has_value());

    BOOST_TEST_REQUIRE(gguf.tensors().size() == 2U);
    const auto* const first = gguf.find("first");
    BOOST_TEST_REQUIRE(first != nullptr);
    BOOST_TEST(first->type == TensorType::q8_0);
    BOOST_TEST(first->shape == (std::vector<std::uint64_t>{32, 2}));
    BOOST_TEST(first->data.size() == 68U);
    const auto* const second = gguf.find("second");
    BOOST_TEST_REQUIRE(second != nullptr);
    BOOST_TEST((second->data.data() - file.data()) % 32 == 0);
    float last = 0;
    std::memcpy(&last, second->data.data() + 12, sizeof last);
    BOOST_TEST(last == 4.0F);
}

BOOST_AUTO_TEST_CASE(a_getter_gives_nothing_for_another_kind_or_an_absent_key) {
    const Bytes file = small_file();
    const auto parsed = Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    const Gguf& gguf = parsed.value();
    BOOST_TEST(!gguf.has("b"));
    BOOST_TEST(!gguf.get_uint("b"));
    BOOST_TEST(!gguf.get_uint("a.float"));
    BOOST_TEST(!gguf.get_uint("a.ints"));
    BOOST_TEST(!gguf.get_float("a.uint"));
    BOOST_TEST(!gguf.get_bool("a.uint"));
    BOOST_TEST(!gguf.get_string("a.strings"));
    BOOST_TEST(!gguf.get_strings("general.architecture"));
    BOOST_TEST(!gguf.get_floats("a.ints"));
    BOOST_TEST(!gguf.get_ints("a.floats"));
    BOOST_TEST(gguf.find("third") == nullptr);
    BOOST_TEST(gguf.find("") == nullptr);
}

BOOST_AUTO_TEST_CASE(integers_of_every_width_convert_when_they_fit) {
    Bytes file = preamble(0, 4);
    put_string("i8", file);
    put(std::uint32_t{1}, file);
    file.push_back(0xff);
    put_string("u16", file);
    put(std::uint32_t{2}, file);
    put(std::uint16_t{65'535}, file);
    put_string("u64", file);
    put(std::uint32_t{10}, file);
    put(~std::uint64_t{0}, file);
    put_string("i64", file);
    put(std::uint32_t{11}, file);
    put(static_cast<std::uint64_t>(-5), file);
    const auto parsed = Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    BOOST_TEST(parsed.value().get_int("i8") == -1);
    BOOST_TEST(!parsed.value().get_uint("i8"));
    BOOST_TEST(parsed.value().get_uint("u16") == 65'535U);
    BOOST_TEST(parsed.value().get_uint("u64") == ~std::uint64_t{0});
    BOOST_TEST(!parsed.value().get_int("u64"));
    BOOST_TEST(parsed.value().get_int("i64") == -5);
}

BOOST_AUTO_TEST_CASE(a_file_cut_at_any_byte_is_an_error_that_names_an_offset) {
    const Bytes whole = small_file();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // A copy of just this size, so that a sanitizer sees a read past the cut.
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto parsed = Gguf::parse(cut);
        BOOST_REQUIRE_MESSAGE(parsed.has_error(), "cut at " << size << " was accepted");
        BOOST_TEST(parsed.error().detail.starts_with("offset 0x"), parsed.error().message());
        BOOST_TEST(parsed.error().code == errc::gguf_truncated, parsed.error().message());
    }
}

BOOST_AUTO_TEST_CASE(errors_name_the_offset_and_the_thing) {
    Bytes file = small_file();
    file.resize(file.size() - 1);
    check_refused(file, errc::gguf_truncated, ": tensor 'second': 16 bytes of data at 0x");
}

BOOST_AUTO_TEST_CASE(other_files_and_versions_are_refused) {
    check_refused({'G', 'G', 'M', 'L', 3, 0, 0, 0}, errc::gguf_invalid, "offset 0x0: magic");
    check_refused(preamble(0, 0, 1), errc::gguf_unsupported, "offset 0x4: version 1");
    check_refused(preamble(0, 0, 4), errc::gguf_unsupported, "version 4");
    BOOST_TEST(Gguf::parse(preamble(0, 0, 2)).has_value());
}

BOOST_AUTO_TEST_CASE(claimed_counts_beyond_the_file_are_refused_before_any_allocation) {
    check_refused(preamble(0, ~std::uint64_t{0}), errc::gguf_truncated, "offset 0x10: metadata count");
    check_refused(preamble(~std::uint64_t{0}, 0), errc::gguf_truncated, "offset 0x8: tensor count");

    Bytes long_key = preamble(0, 1);
    put(std::uint64_t{1} << 40, long_key);
    long_key.resize(long_key.size() + 64);
    check_refused(long_key, errc::gguf_invalid, "key of metadata 0: length");

    Bytes huge_array = preamble(0, 1);
    put_string("k", huge_array);
    put(std::uint32_t{9}, huge_array);
    put(std::uint32_t{4}, huge_array);
    put(std::uint64_t{1} << 62, huge_array);
    huge_array.resize(huge_array.size() + 64);
    check_refused(huge_array, errc::gguf_truncated, "metadata 'k'");

    Bytes huge_string = preamble(0, 1);
    put_string("k", huge_string);
    put(std::uint32_t{8}, huge_string);
    put(~std::uint64_t{0}, huge_string);
    huge_string.resize(huge_string.size() + 64);
    check_refused(huge_string, errc::gguf_truncated, "metadata 'k': length");
}

BOOST_AUTO_TEST_CASE(unknown_value_kinds_and_nested_arrays_are_refused) {
    Bytes file = preamble(0, 1);
    put_string("k", file);
    put(std::uint32_t{13}, file);
    put(std::uint64_t{0}, file);
    check_refused(file, errc::gguf_invalid, "unknown value kind 13");

    Bytes nested = preamble(0, 1);
    put_string("k", nested);
    put(std::uint32_t{9}, nested);
    put(std::uint32_t{9}, nested);
    put(std::uint64_t{0}, nested);
    check_refused(nested, errc::gguf_unsupported, "an array of arrays");
}

BOOST_AUTO_TEST_CASE(tensor_sizes_that_overflow_are_refused) {
    check_refused(one_tensor({std::uint64_t{1} << 61, 1}, 0, 0, 64), errc::gguf_truncated, "tensor 'w'");
    check_refused(one_tensor({std::uint64_t{1} << 63}, 0, 0, 64), errc::gguf_invalid, "overflows");
    check_refused(one_tensor({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0, 64), errc::gguf_invalid,
                  "tensor 'w': its size overflows");
    // Wraps to a size that would fit.
    check_refused(one_tensor({4, std::uint64_t{1} << 60, 16}, 0, 0, 64), errc::gguf_invalid, "overflows");
}

BOOST_AUTO_TEST_CASE(tensors_outside_the_file_are_refused) {
    BOOST_TEST(Gguf::parse(one_tensor({16}, 0, 0, 64)).has_value());
    check_refused(one_tensor({16}, 0, 32, 64), errc::gguf_truncated, "64 bytes of data at 0x20");
    check_refused(one_tensor({16}, 0, ~std::uint64_t{31}, 64), errc::gguf_truncated, "tensor 'w'");
    check_refused(one_tensor({16}, 0, 4, 96), errc::gguf_invalid, "no multiple of 32");
}

// Two tensors of 4 floats with their data at these offsets, and enough data for both.
Bytes two_tensors(std::uint64_t first, std::uint64_t second) {
    Bytes file = preamble(2, 0);
    for (const auto& [name, offset] : {std::pair("a", first), std::pair("b", second)}) {
        put_string(name, file);
        put(std::uint32_t{1}, file);
        put(std::uint64_t{4}, file);
        put(std::uint32_t{0}, file);
        put(offset, file);
    }
    file.resize((file.size() + 31) / 32 * 32 + 128);
    return file;
}

BOOST_AUTO_TEST_CASE(tensors_lie_behind_one_another_in_the_order_of_the_file) {
    BOOST_TEST(Gguf::parse(two_tensors(0, 32)).has_value());
    check_refused(two_tensors(0, 0), errc::gguf_invalid, "tensor 'b': data offset 0x0");
    check_refused(two_tensors(32, 0), errc::gguf_invalid, "tensor 'a': data offset 0x20");
    check_refused(two_tensors(0, 64), errc::gguf_invalid, "tensor 'b': data offset 0x40");
}

BOOST_AUTO_TEST_CASE(what_another_engine_could_read_is_named_with_a_hint) {
    check_refused(one_tensor({32}, 20, 0, 64), errc::gguf_unsupported, "tensor type IQ4_NL");
    check_refused(one_tensor({32}, 20, 0, 64), errc::gguf_unsupported, "docs/attach.md");
    GgufWriter parts;
    parts.set_uint("split.no", 1);
    parts.set_uint("split.count", 3);
    check_refused(parts.finish(), errc::gguf_unsupported, "part 2 of a model in 3 files");
    GgufWriter whole;
    whole.set_uint("split.count", 1);
    BOOST_TEST(Gguf::parse(whole.finish()).has_value());
    Bytes swapped = {'G', 'G', 'U', 'F', 0, 0, 0, 3};
    swapped.resize(24);
    check_refused(swapped, errc::gguf_unsupported, "big-endian");
}

BOOST_AUTO_TEST_CASE(malformed_shapes_and_types_are_refused) {
    check_refused(one_tensor({}, 0, 0, 64), errc::gguf_invalid, "0 dimensions");
    check_refused(one_tensor({1, 1, 1, 1, 1}, 0, 0, 64), errc::gguf_invalid, "5 dimensions");
    check_refused(one_tensor({4, 0}, 0, 0, 64), errc::gguf_invalid, "a dimension of 0");
    check_refused(one_tensor({16}, 99, 0, 64), errc::gguf_unsupported, "tensor type 99");
    check_refused(one_tensor({33}, 8, 0, 64), errc::gguf_invalid, "whole blocks of 32 (Q8_0)");
}

BOOST_AUTO_TEST_CASE(alignment_must_be_a_power_of_two) {
    for (const std::uint32_t bad : {0U, 3U, 24U, 1U << 21}) {
        GgufWriter writer;
        writer.set_uint("general.alignment", bad);
        check_refused(writer.finish(), errc::gguf_invalid, "metadata 'general.alignment'");
    }
    GgufWriter text;
    text.set_string("general.alignment", "32");
    check_refused(text.finish(), errc::gguf_invalid, "metadata 'general.alignment'");
    GgufWriter writer;
    writer.set_uint("general.alignment", 8);
    BOOST_TEST(Gguf::parse(writer.finish()).has_value());
}

BOOST_AUTO_TEST_CASE(names_that_appear_twice_are_refused) {
    GgufWriter keys;
    keys.set_uint("k", 1);
    keys.set_uint("k", 2);
    check_refused(keys.finish(), errc::gguf_invalid, "metadata 'k': appears twice");
    GgufWriter tensors;
    tensors.add_tensor("w", TensorType::f32, {1}, std::vector<float>{1});
    tensors.add_tensor("w", TensorType::f32, {1}, std::vector<float>{1});
    check_refused(tensors.finish(), errc::gguf_invalid, "tensor 'w': appears twice");
}

BOOST_AUTO_TEST_CASE(a_strangers_name_is_printable_and_short_in_an_error) {
    GgufWriter writer;
    const std::string name = "\x1b[31m" + std::string(200, 'x');
    writer.set_uint(name, 1);
    writer.set_uint(name, 2);
    const auto parsed = Gguf::parse(writer.finish());
    BOOST_REQUIRE(parsed.has_error());
    BOOST_TEST(parsed.error().detail.find('\x1b') == std::string::npos);
    BOOST_TEST(parsed.error().detail.size() < 150U);
}

BOOST_AUTO_TEST_CASE(row_bytes_are_whole_blocks) {
    BOOST_TEST(exa::model::row_bytes(TensorType::f32, 576) == 2304U);
    BOOST_TEST(exa::model::row_bytes(TensorType::q4_1, 576) == 360U);
    BOOST_TEST(exa::model::row_bytes(TensorType::q8_0, 576) == 612U);
    BOOST_TEST(exa::model::row_bytes(TensorType::q6_k, 512) == 420U);
    BOOST_TEST(!exa::model::block_shape(static_cast<TensorType>(4)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
