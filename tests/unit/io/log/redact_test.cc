#include "io/log/redact.h"

#include <boost/test/unit_test.hpp>

#include "io/log/log.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::log;

BOOST_AUTO_TEST_SUITE(redact)

BOOST_AUTO_TEST_CASE(keys_and_credentials_are_cut_wherever_they_stand) {
    BOOST_TEST(redacted("sk-exa-1a2b3c4d-0123456789abcdef") == "sk-...");
    BOOST_TEST(redacted("key 'sk-proj-AbC_0123456789xyz' is wrong") == "key 'sk-...' is wrong");
    BOOST_TEST(redacted("Authorization: Bearer abcdefghijklmnop.qrst==, next") == "Authorization: Bearer ..., next");
    BOOST_TEST(redacted("basic dXNlcjpwYXNzd29yZA==") == "basic ...");
    BOOST_TEST(redacted("?api_key=sk-0123456789abcdefgh&x=1") == "?api_key=sk-...&x=1");
}

BOOST_AUTO_TEST_CASE(words_that_only_look_alike_stay) {
    for (const char* text : {"", "sk-", "sk-short", "a risk-assessment-of-the-network", "disk-0123456789abcdefgh",
                             "the bearer of bad news", "Basic usage", "bearer "})
        BOOST_TEST(redacted(text) == text);
}

BOOST_AUTO_TEST_CASE(fields_with_a_secrets_name_show_nothing_in_either_format) {
    BOOST_TEST(is_secret_name("Authorization"));
    BOOST_TEST(is_secret_name("x-api-key"));
    BOOST_TEST(is_secret_name("root_secret"));
    BOOST_TEST(!is_secret_name("api_keys"));
    BOOST_TEST(!is_secret_name("tokens"));
    const auto line = [](LogFormat format) {
        return format_log_line(format, "T", "", LogLevel::warn, "http", "got sk-0123456789abcdefgh",
                               {{"authorization", "anything"}, {"url", "http://h/?k=sk-0123456789abcdefgh"}});
    };
    BOOST_TEST(line(LogFormat::text) == "T warn  http got sk-... authorization=... url=\"http://h/?k=sk-...\"");
    BOOST_TEST(line(LogFormat::json) ==
               R"({"time":"T","level":"warn","module":"http","message":"got sk-...","authorization":"...",)"
               R"("url":"http://h/?k=sk-..."})");
}

BOOST_AUTO_TEST_SUITE_END()
