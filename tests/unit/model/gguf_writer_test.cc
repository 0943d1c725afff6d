#include "model/gguf_writer.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "model/gguf.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(gguf_writer)

BOOST_AUTO_TEST_CASE(the_smallest_file_has_the_specifications_bytes) {
    exa::model::GgufWriter writer;
    writer.set_bool("k", true);
    BOOST_TEST(exa::to_hex(writer.finish()) ==
               "47475546"          // GGUF
               "03000000"          // version
               "0000000000000000"  // tensors
               "0100000000000000"  // key-values
               "0100000000000000"
               "6b"        // key
               "07000000"  // bool
               "01");
}

BOOST_AUTO_TEST_CASE(tensor_data_is_aligned_and_nothing_follows_the_last) {
    exa::model::GgufWriter writer;
    writer.add_tensor("a", exa::model::TensorType::f32, {3}, std::vector<float>{1, 2, 3});
    writer.add_tensor("b", exa::model::TensorType::f16, {1, 3}, std::vector<float>{1, 2, 3});
    const exa::Bytes file = writer.finish();
    const auto parsed = exa::model::Gguf::parse(file);
    BOOST_REQUIRE(parsed.has_value());
    const auto* const a = parsed.value().find("a");
    const auto* const b = parsed.value().find("b");
    BOOST_TEST_REQUIRE(a != nullptr);
    BOOST_TEST_REQUIRE(b != nullptr);
    BOOST_TEST((a->data.data() - file.data()) % 32 == 0);
    BOOST_TEST(b->data.data() - a->data.data() == 32);
    BOOST_TEST(b->data.data() + b->data.size() == file.data() + file.size());
    BOOST_TEST(exa::to_hex(b->data) == "003c00400042");
}

BOOST_AUTO_TEST_SUITE_END()
