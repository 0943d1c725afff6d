#include "base/bytes.h"
#include "support/print.h"

#include <array>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(bytes)

BOOST_AUTO_TEST_CASE(hexadecimal_is_two_lower_case_digits_a_byte_and_comes_back) {
    exa::Bytes all;
    for (int i = 0; i < 256; ++i) all.push_back(static_cast<std::uint8_t>(i));
    const std::string text = exa::to_hex(all);
    BOOST_TEST(text.size() == 512u);
    BOOST_TEST(text.substr(0, 8) == "00010203");
    BOOST_TEST(text.substr(506) == "fdfeff");
    exa::Bytes back(256);
    BOOST_TEST(exa::from_hex(text, back));
    BOOST_TEST(back == all, boost::test_tools::per_element());
    BOOST_TEST(exa::to_hex({}).empty());
}

BOOST_AUTO_TEST_CASE(a_number_keeps_its_leading_zeros) {
    std::string text = "id-";
    exa::append_hex(text, 0x00ab'cdef'0123'4567);
    BOOST_TEST(text == "id-00abcdef01234567");
    BOOST_TEST(exa::parse_hex(text.substr(3)) == 0x00ab'cdef'0123'4567);
    for (const char* wrong : {"", "id-00abcdef01234567", "0abcdef01234567", "00abcdef0123456g"})
        BOOST_TEST(!exa::parse_hex(wrong), wrong);
}

BOOST_AUTO_TEST_CASE(upper_case_digits_are_read) {
    std::array<std::uint8_t, 2> out{};
    BOOST_TEST(exa::from_hex("aBcD", out));
    BOOST_TEST(out[0] == 0xab);
    BOOST_TEST(out[1] == 0xcd);
}

BOOST_AUTO_TEST_CASE(refused_text_leaves_the_output_alone) {
    for (const char* text : {"", "a", "abc", "abcde", "abcg", "g000", "0x00", " 000", "000 ",
                             "ab\xff"
                             "0"}) {
        std::array<std::uint8_t, 2> out{7, 9};
        BOOST_TEST(!exa::from_hex(text, out), text);
        BOOST_TEST(out[0] == 7);
        BOOST_TEST(out[1] == 9);
    }
}

BOOST_AUTO_TEST_CASE(views_of_text_and_bytes_see_the_same_memory) {
    const std::string text("a\0b", 3);
    const exa::ByteView view = exa::as_bytes(text);
    BOOST_TEST(view.size() == 3u);
    BOOST_TEST(view[1] == 0);
    BOOST_TEST(exa::as_text(view) == text);
    BOOST_TEST(static_cast<const void*>(exa::as_text(view).data()) == static_cast<const void*>(text.data()));
}

BOOST_AUTO_TEST_SUITE_END()
