#include "resp/inline_words.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "support/print.h"

using namespace exa::resp;

using Words = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(inline_words)

BOOST_AUTO_TEST_CASE(white_space_parts_words) {
    BOOST_TEST(*split_inline("  SET\ta  b ") == (Words{"SET", "a", "b"}));
    BOOST_TEST(split_inline("")->empty());
    BOOST_TEST(split_inline("   ")->empty());
}

BOOST_AUTO_TEST_CASE(quotes_are_taken_as_redis_takes_them) {
    BOOST_TEST(*split_inline("SET \"a b\" 'c \\' d'") == (Words{"SET", "a b", "c ' d"}));
    BOOST_TEST(*split_inline("\"\\x41\\n\\q\\x4\" \"\" ''") == (Words{"A\nqx4", "", ""}));
    BOOST_TEST(*split_inline("a\"b c\"") == Words{"ab c"});
    BOOST_TEST(*split_inline("'a\\nb'") == Words{"a\\nb"});
}

BOOST_AUTO_TEST_CASE(unbalanced_quotes_are_no_words) {
    for (const char* text : {"SET \"a", "SET 'a", "SET \"a\"b c", "SET \"\"\"test-key\"\"\" v", "\"a\\\"", "\""})
        BOOST_TEST(!split_inline(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
