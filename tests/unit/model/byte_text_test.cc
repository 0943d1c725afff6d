#include "model/byte_text.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(byte_text)

BOOST_AUTO_TEST_CASE(every_byte_has_its_own_spelling_and_comes_back) {
    std::set<std::string> spellings;
    std::string all;
    for (unsigned byte = 0; byte < 256; ++byte) {
        spellings.emplace(exa::model::byte_text(static_cast<std::uint8_t>(byte)));
        all.push_back(static_cast<char>(byte));
    }
    BOOST_TEST(spellings.size() == 256U);
    BOOST_TEST(exa::model::from_byte_text(exa::model::to_byte_text(all)) == all);
}

BOOST_AUTO_TEST_CASE(spellings_are_gpt2s) {
    BOOST_TEST(exa::model::byte_text(' ') == "\u0120");
    BOOST_TEST(exa::model::byte_text('\n') == "\u010a");
    BOOST_TEST(exa::model::byte_text('A') == "A");
    BOOST_TEST(exa::model::byte_text(0) == "\u0100");
    BOOST_TEST(exa::model::byte_text(0xad) == "\u0143");
    BOOST_TEST(exa::model::byte_text(0xff) == "\u00ff");
}

BOOST_AUTO_TEST_CASE(text_that_spells_no_bytes_is_refused) {
    for (const char* text : {" ", "a b", "\u0144", "\u4f60", "\xc4", "\x80", "\xc4(", "\u00ad"})
        BOOST_TEST(!exa::model::from_byte_text(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
