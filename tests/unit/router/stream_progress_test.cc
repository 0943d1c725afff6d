#include "router/answer_ledger.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(answer_ledger)

using exa::router::AnswerLedger;
using Tokens = AnswerLedger::Tokens;

BOOST_AUTO_TEST_CASE(tokens_that_follow_are_taken_and_others_change_nothing) {
    AnswerLedger ledger(4);
    BOOST_TEST(!ledger.begin(7));
    ledger.promise();
    BOOST_TEST(ledger.take(0, 0, Tokens{5, 6}));
    BOOST_TEST(ledger.take(0, 2, Tokens{7}));
    BOOST_TEST(!ledger.take(0, 4, Tokens{9}));  // one is lost
    BOOST_TEST(!ledger.take(0, 2, Tokens{7}));  // told again
    BOOST_TEST(!ledger.take(0, 0, Tokens{5}));
    BOOST_TEST((ledger.choices() == std::vector<Tokens>{{5, 6, 7}}));
    BOOST_TEST(ledger.tokens() == 3U);
}

BOOST_AUTO_TEST_CASE(each_choice_counts_from_0_and_there_is_a_bound_on_them) {
    AnswerLedger ledger(2);
    ledger.begin(7);
    ledger.promise();
    BOOST_TEST(!ledger.take(1, 1, Tokens{8}));
    BOOST_TEST(ledger.choices().size() == 1U);
    BOOST_TEST(ledger.take(1, 0, Tokens{8}));
    BOOST_TEST(!ledger.take(2, 0, Tokens{8}));
    BOOST_TEST((ledger.choices() == std::vector<Tokens>{{}, {8}}));
}

BOOST_AUTO_TEST_CASE(a_stream_goes_on_from_what_the_client_has) {
    AnswerLedger ledger(4);
    ledger.begin(7);
    ledger.promise();
    ledger.take(0, 0, Tokens{5, 6});
    BOOST_TEST(ledger.begin(7));
    BOOST_TEST(ledger.progress() == 0U);
    BOOST_TEST(!ledger.take(0, 0, Tokens{5}));
    BOOST_TEST(ledger.take(0, 2, Tokens{7}));
    BOOST_TEST(ledger.progress() == 1U);
}

BOOST_AUTO_TEST_CASE(what_no_client_has_seen_goes_on_under_equal_numerics_only) {
    AnswerLedger ledger(4);
    ledger.begin(7);
    ledger.take(1, 0, Tokens{5, 6});
    BOOST_TEST(ledger.begin(7));
    BOOST_TEST(ledger.tokens() == 2U);
    BOOST_TEST(!ledger.begin(8));
    BOOST_TEST((ledger.choices() == std::vector<Tokens>{{}}));
    ledger.take(0, 0, Tokens{5});
    BOOST_TEST(!ledger.begin(0));
    BOOST_TEST(ledger.tokens() == 0U);
}

BOOST_AUTO_TEST_CASE(a_replica_may_begin_anew_what_no_client_has_seen) {
    AnswerLedger ledger(4);
    ledger.begin(7);
    ledger.take(0, 0, Tokens{5, 6});
    ledger.begin(7);
    BOOST_TEST(ledger.take(0, 0, Tokens{5}));
    BOOST_TEST(ledger.tokens() == 1U);
    BOOST_TEST(ledger.progress() == 1U);
    ledger.promise();
    BOOST_TEST(!ledger.take(0, 0, Tokens{5}));
}

BOOST_AUTO_TEST_SUITE_END()
