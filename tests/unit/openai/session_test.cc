#include "openai/session.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

namespace {

using exa::openai::pick_session;
using exa::openai::Session;
using exa::openai::SessionSource;

Session pick(std::string_view header, const char* body) {
    return pick_session(header, exa::openai::scan(body).value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(the_header_beats_the_key_and_the_key_beats_the_user) {
    BOOST_TEST(pick("h", R"({"prompt_cache_key":"k","user":"u"})").id == "h");
    BOOST_TEST((pick("h", R"({"prompt_cache_key":"k","user":"u"})").source) == SessionSource::header);
    BOOST_TEST(pick("", R"({"prompt_cache_key":"k\n","user":"u"})").id == "k\n");
    BOOST_TEST((pick("", R"({"prompt_cache_key":"k","user":"u"})").source) == SessionSource::prompt_cache_key);
    BOOST_TEST(pick("", R"({"user":"u"})").id == "u");
    BOOST_TEST((pick("", R"({"user":"u"})").source) == SessionSource::user);
}

BOOST_AUTO_TEST_CASE(an_empty_id_counts_as_absent) {
    BOOST_TEST(pick("", R"({"prompt_cache_key":"","user":"u"})").id == "u");
    BOOST_TEST((pick("", R"({"prompt_cache_key":"","user":""})").source) == SessionSource::none);
}

BOOST_AUTO_TEST_CASE(sources_are_named_as_clients_write_them) {
    BOOST_TEST(to_string(SessionSource::header) == "x-session-id");
    BOOST_TEST(to_string(SessionSource::prompt_cache_key) == "prompt_cache_key");
    BOOST_TEST(to_string(SessionSource::user) == "user");
    BOOST_TEST(to_string(SessionSource::none) == "none");
}

BOOST_AUTO_TEST_SUITE_END()
