#include "loadgen/trace.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "loadgen/errc.h"
#include "support/print.h"

using namespace exa;
using namespace exa::loadgen;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(trace)

BOOST_AUTO_TEST_CASE(rows_of_burstgpt_are_read_and_failed_ones_left_out) {
    const auto rows = parse_trace(
                          "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                          "5,ChatGPT,472,18,490,Conversation log\n"
                          "45,ChatGPT,1087,230,1317,Conversation log\r\n"
                          "118,GPT-4,417,0,417,API log\n"
                          "120.5,GPT-4,10,1.0,11,API log\n")
                          .value();
    BOOST_TEST_REQUIRE(rows.size() == 3u);
    BOOST_TEST(rows[0].at == 0s);
    BOOST_TEST(rows[0].lengths.prompt_tokens == 472u);
    BOOST_TEST(rows[0].lengths.output_tokens == 18u);
    BOOST_TEST(rows[1].at == 40s);
    BOOST_TEST(rows[2].at == 115'500ms);
}

BOOST_AUTO_TEST_CASE(later_editions_with_more_columns_are_read_too) {
    const auto rows =
        parse_trace(
            "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            "1,abc,0.5,GPT-4,7,8,15,API log\n")
            .value();
    BOOST_TEST(rows.front().lengths.prompt_tokens == 7u);
    BOOST_TEST(rows.front().lengths.output_tokens == 8u);
}

BOOST_AUTO_TEST_CASE(rows_of_azure_are_read_across_midnight_and_in_both_editions) {
    const auto first = parse_trace(
                           "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                           "2023-11-16 23:59:59.9000000,374,44\n"
                           "2023-11-17 00:00:00.4,396,109\n")
                           .value();
    BOOST_TEST(first[1].at == 500ms);
    const auto second = parse_trace(
                            "\xEF\xBB\xBFTIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                            "2024-05-10T00:01:00.009930Z,2399,6\n")
                            .value();
    BOOST_TEST(second[1].at == 60s);
    BOOST_TEST(second[1].lengths.prompt_tokens == 2399u);
}

BOOST_AUTO_TEST_CASE(rows_out_of_order_are_sorted_and_equal_times_keep_theirs) {
    const auto rows = parse_trace("Timestamp,Request tokens,Response tokens\n9,1,1\n3,2,1\n9,3,1\n").value();
    BOOST_TEST(rows[0].lengths.prompt_tokens == 2u);
    BOOST_TEST(rows[1].lengths.prompt_tokens == 1u);
    BOOST_TEST(rows[2].lengths.prompt_tokens == 3u);
    BOOST_TEST(rows[2].at == 6s);
}

BOOST_AUTO_TEST_CASE(a_bad_row_is_named_by_its_line) {
    for (const char* row : {"x,1,1", "1,-1,1", "1,1,many", "1,1", "2023-13-01 00:00:00,1,1", "2023-01-01 25:00:00,1,1",
                            "1,99999999999,1", "nan,1,1", "-5,1,1", "1e300,1,1", "2023-01-01,1,1"}) {
        const auto parsed =
            parse_trace("Timestamp,Request tokens,Response tokens\n1,1,1\n\n" + std::string(row) + "\n");
        BOOST_TEST_REQUIRE(!parsed.has_value());
        BOOST_TEST(parsed.error().code == errc::bad_trace);
        BOOST_TEST(parsed.error().detail.starts_with("line 4: "));
    }
}

BOOST_AUTO_TEST_CASE(a_file_of_something_else_is_refused) {
    for (const char* csv :
         {"", "a,b\n1,2\n", "Timestamp,Request tokens\n1,1\n", "Timestamp,Request tokens,Response tokens\n",
          "Timestamp,Request tokens,Response tokens\n1,1,0\n"})
        BOOST_TEST(!parse_trace(csv).has_value());
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused_and_nothing_worse) {
    Rng rng(1);
    for (int round = 0; round < 500; ++round) {
        std::string csv = "Timestamp,Request tokens,Response tokens\n";
        for (int i = 0; i < 60; ++i) csv += "0123456789,-:. \n\"TZ+\xff\x80"[rng.below(22)];
        const auto parsed = parse_trace(csv);
        if (parsed) BOOST_TEST(!parsed.value().empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
