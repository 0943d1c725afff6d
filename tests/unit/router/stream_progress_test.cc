#include "router/stream_progress.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(stream_progress)

using exa::router::StreamProgress;
using Tokens = StreamProgress::Tokens;

BOOST_AUTO_TEST_CASE(tokens_that_follow_are_taken_and_others_change_nothing) {
    StreamProgress progress(4);
    BOOST_TEST(!progress.begin(7));
    progress.commit();
    BOOST_TEST(progress.take(0, 0, Tokens{5, 6}));
    BOOST_TEST(progress.take(0, 2, Tokens{7}));
    BOOST_TEST(!progress.take(0, 4, Tokens{9}));  // one is lost
    BOOST_TEST(!progress.take(0, 2, Tokens{7}));  // told again
    BOOST_TEST(!progress.take(0, 0, Tokens{5}));
    BOOST_TEST(progress.choices() == (std::vector<Tokens>{{5, 6, 7}}));
    BOOST_TEST(progress.tokens() == 3U);
}

BOOST_AUTO_TEST_CASE(each_choice_counts_from_0_and_there_is_a_bound_on_them) {
    StreamProgress progress(2);
    progress.begin(7);
    progress.commit();
    BOOST_TEST(!progress.take(1, 1, Tokens{8}));
    BOOST_TEST(progress.choices().size() == 1U);
    BOOST_TEST(progress.take(1, 0, Tokens{8}));
    BOOST_TEST(!progress.take(2, 0, Tokens{8}));
    BOOST_TEST(progress.choices() == (std::vector<Tokens>{{}, {8}}));
}

BOOST_AUTO_TEST_CASE(a_stream_goes_on_from_what_the_client_has) {
    StreamProgress progress(4);
    progress.begin(7);
    progress.commit();
    progress.take(0, 0, Tokens{5, 6});
    BOOST_TEST(progress.begin(7));
    BOOST_TEST(progress.progress() == 0U);
    BOOST_TEST(!progress.take(0, 0, Tokens{5}));
    BOOST_TEST(progress.take(0, 2, Tokens{7}));
    BOOST_TEST(progress.progress() == 1U);
}

BOOST_AUTO_TEST_CASE(what_no_client_has_seen_goes_on_under_equal_numerics_only) {
    StreamProgress progress(4);
    progress.begin(7);
    progress.take(1, 0, Tokens{5, 6});
    BOOST_TEST(progress.begin(7));
    BOOST_TEST(progress.tokens() == 2U);
    BOOST_TEST(!progress.begin(8));
    BOOST_TEST(progress.choices() == std::vector<Tokens>{{}});
    progress.take(0, 0, Tokens{5});
    BOOST_TEST(!progress.begin(0));
    BOOST_TEST(progress.tokens() == 0U);
}

BOOST_AUTO_TEST_CASE(a_replica_may_begin_anew_what_no_client_has_seen) {
    StreamProgress progress(4);
    progress.begin(7);
    progress.take(0, 0, Tokens{5, 6});
    progress.begin(7);
    BOOST_TEST(progress.take(0, 0, Tokens{5}));
    BOOST_TEST(progress.tokens() == 1U);
    BOOST_TEST(progress.progress() == 1U);
    progress.commit();
    BOOST_TEST(!progress.take(0, 0, Tokens{5}));
}

BOOST_AUTO_TEST_SUITE_END()
