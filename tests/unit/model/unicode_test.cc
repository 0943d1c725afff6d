#include "model/unicode.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>

namespace {

using exa::model::char_class;
using exa::model::CharClass;
using exa::model::first_code_point;

void check_malformed(const std::string& text) {
    const auto found = first_code_point(text);
    BOOST_TEST(found.value == 0xfffdU);
    BOOST_TEST(found.size == 1U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unicode)

BOOST_AUTO_TEST_CASE(classes_are_those_of_the_regular_expressions) {
    for (const std::uint32_t letter : {0x41U, 0x7aU, 0xaaU, 0xdfU, 0x2b0U, 0x3b1U, 0x5d0U, 0x905U, 0xe01U, 0x3042U,
                                       0x4e00U, 0x9fffU, 0xac00U, 0xd7a3U, 0x1d400U, 0x2ebf0U, 0x323afU})
        BOOST_TEST(char_class(letter) == CharClass::letter, letter);
    for (const std::uint32_t number : {0x30U, 0x39U, 0xb2U, 0xbcU, 0x660U, 0x966U, 0x2160U, 0x2460U, 0x3007U, 0x1d7ffU})
        BOOST_TEST(char_class(number) == CharClass::number, number);
    for (const std::uint32_t space : {0x9U, 0xaU, 0xbU, 0xcU, 0xdU, 0x20U, 0x85U, 0xa0U, 0x1680U, 0x2000U, 0x200aU,
                                      0x2028U, 0x2029U, 0x202fU, 0x205fU, 0x3000U})
        BOOST_TEST(char_class(space) == CharClass::space, space);
    // Combining marks are no letters, a zero-width space is no space, and Chinese 'four' is no number.
    for (const std::uint32_t other :
         {0x0U,  0x8U,  0xeU,   0x1fU,  0x21U,   0x2fU,   0x3aU,    0x40U,   0x5bU,   0x60U,
          0x7bU, 0x7fU, 0x301U, 0x93eU, 0x200bU, 0x200dU, 0x1f600U, 0xfe0fU, 0xfffdU, 0x378U})
        BOOST_TEST(char_class(other) == CharClass::other, other);
    BOOST_TEST(char_class(0x56db) == CharClass::letter);
}

BOOST_AUTO_TEST_CASE(beyond_unicode_everything_is_other) {
    for (const std::uint32_t code_point : {0x10ffffU, 0x110000U, 0x40000041U, 0xffffffffU})
        BOOST_TEST(char_class(code_point) == CharClass::other, code_point);
}

BOOST_AUTO_TEST_CASE(well_formed_sequences_decode) {
    const auto check = [](const std::string& text, std::uint32_t value) {
        const auto found = first_code_point(text + "tail");
        BOOST_TEST(found.value == value);
        BOOST_TEST(found.size == text.size());
    };
    check("a", 'a');
    check(std::string(1, '\0'), 0);
    check("\xc2\x80", 0x80);
    check("\xdf\xbf", 0x7ff);
    check("\xe0\xa0\x80", 0x800);
    check("\xed\x9f\xbf", 0xd7ff);
    check("\xee\x80\x80", 0xe000);
    check("\xef\xbf\xbf", 0xffff);
    check("\xf0\x90\x80\x80", 0x10000);
    check("\xf4\x8f\xbf\xbf", 0x10ffff);
}

BOOST_AUTO_TEST_CASE(malformed_bytes_count_one_by_one) {
    check_malformed("\x80");              // a trail byte alone
    check_malformed("\xc0\xaf");          // overlong
    check_malformed("\xc1\xbf");          // overlong
    check_malformed("\xe0\x9f\xbf");      // overlong
    check_malformed("\xf0\x8f\xbf\xbf");  // overlong
    check_malformed("\xed\xa0\x80");      // a surrogate
    check_malformed("\xf4\x90\x80\x80");  // above U+10FFFF
    check_malformed("\xf5\x80\x80\x80");
    check_malformed("\xff");
    check_malformed("\xe4\xbd");      // cut
    check_malformed("\xf0\x9f\x98");  // cut
    check_malformed("\xe4(\xa0");     // broken inside
}

BOOST_AUTO_TEST_SUITE_END()
