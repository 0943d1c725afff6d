#include "base/errc_category.h"

#include <boost/test/unit_test.hpp>

namespace {

enum class fruit_errc { rotten = 1, eaten };

const exa::ErrcCategory<fruit_errc> fruit("fruit", [](fruit_errc code) -> const char* {
    switch (code) {
        case fruit_errc::rotten:
            return "it is rotten";
        case fruit_errc::eaten:
            return "somebody ate it";
    }
    return nullptr;
});

}  // namespace

BOOST_AUTO_TEST_SUITE(errc_category)

BOOST_AUTO_TEST_CASE(code_has_its_message_and_its_category) {
    BOOST_TEST(fruit(fruit_errc::eaten).message() == "somebody ate it");
    BOOST_TEST(fruit(fruit_errc::eaten).category().name() == "fruit");
    BOOST_TEST(fruit(fruit_errc::eaten) != fruit(fruit_errc::rotten));
}

BOOST_AUTO_TEST_CASE(number_that_is_no_code_is_named) {
    BOOST_TEST(fruit.message(9) == "unknown fruit error");
}

BOOST_AUTO_TEST_SUITE_END()
