#include "base/base64.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(base64)

BOOST_AUTO_TEST_CASE(texts_are_those_of_rfc_4648) {
    const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                           {"f", "Zg=="},
                                                           {"fo", "Zm8="},
                                                           {"foo", "Zm9v"},
                                                           {"foob", "Zm9vYg=="},
                                                           {"fooba", "Zm9vYmE="},
                                                           {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, text] : vectors) {
        BOOST_TEST(exa::to_base64(exa::as_bytes(plain)) == text);
        BOOST_TEST(exa::as_text(exa::from_base64(text).value()) == plain);
    }
}

BOOST_AUTO_TEST_CASE(any_bytes_come_back) {
    exa::Rng rng(3);
    for (std::size_t size = 0; size < 70; ++size) {
        exa::Bytes bytes(size);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
        BOOST_TEST(exa::from_base64(exa::to_base64(bytes)) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(other_texts_are_refused) {
    for (const char* text :
         {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v\n", "Zm-v", "Zm 9", "=m9v"})
        BOOST_TEST(!exa::from_base64(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
