#include "openai/text.h"

#include <boost/test/unit_test.hpp>

using exa::openai::AnswerText;

BOOST_AUTO_TEST_SUITE(text)

BOOST_AUTO_TEST_CASE(plain_text_is_released_at_once) {
    AnswerText answer;
    BOOST_TEST(answer.push("hel") == "hel");
    BOOST_TEST(answer.push("lo") == "lo");
    BOOST_TEST(answer.finish() == "");
}

BOOST_AUTO_TEST_CASE(a_code_point_split_over_tokens_comes_whole) {
    AnswerText answer;
    BOOST_TEST(answer.push("caf\xC3") == "caf");
    BOOST_TEST(answer.push("\xA9!") == "\xC3\xA9!");
}

BOOST_AUTO_TEST_CASE(a_stop_string_over_three_tokens_never_shows) {
    AnswerText answer({"<end>"});
    BOOST_TEST(answer.push("bye <") == "bye ");
    BOOST_TEST(answer.push("en") == "");
    BOOST_TEST(!answer.stopped());
    BOOST_TEST(answer.push("d> more") == "");
    BOOST_TEST(answer.stopped());
    BOOST_TEST(answer.push("and more") == "");
    BOOST_TEST(answer.finish() == "");
}

BOOST_AUTO_TEST_CASE(a_false_start_of_a_stop_string_is_released) {
    AnswerText answer({"<end>"});
    BOOST_TEST(answer.push("a <e") == "a ");
    BOOST_TEST(answer.push("gg>") == "<egg>");
    BOOST_TEST(!answer.stopped());
}

// "aab" hides behind its own false start: what is held must shrink, not be dropped.
BOOST_AUTO_TEST_CASE(a_stop_string_that_overlaps_itself_is_found) {
    AnswerText answer({"aab"});
    BOOST_TEST(answer.push("a") == "");
    BOOST_TEST(answer.push("a") == "");
    BOOST_TEST(answer.push("a") == "a");
    BOOST_TEST(answer.push("b") == "");
    BOOST_TEST(answer.stopped());
}

BOOST_AUTO_TEST_CASE(the_stop_string_that_completes_first_cuts) {
    for (const bool at_once : {true, false}) {
        AnswerText answer({"abcd", "bc"});
        std::string text;
        if (at_once) {
            text = answer.push("xabcd");
        } else {
            for (const char* token : {"x", "a", "b", "c", "d"}) text += answer.push(token);
        }
        BOOST_TEST(text == "xa");
        BOOST_TEST(answer.stopped());
    }
}

BOOST_AUTO_TEST_CASE(of_stop_strings_that_end_together_the_longer_cuts) {
    AnswerText answer({"c", "abc"});
    BOOST_TEST(answer.push("xabc") == "x");
}

BOOST_AUTO_TEST_CASE(what_waits_is_released_at_the_end) {
    AnswerText answer({"<end>"});
    BOOST_TEST(answer.push("a<en\xE2\x82") == "a");
    BOOST_TEST(answer.finish() == "<en\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(a_stop_string_of_the_replacement_is_honoured_at_the_end) {
    AnswerText answer({"\xEF\xBF\xBD"});
    BOOST_TEST(answer.push("a\xE2\x82") == "a");
    BOOST_TEST(answer.finish() == "");
    BOOST_TEST(answer.stopped());
}

BOOST_AUTO_TEST_SUITE_END()
