#include "io/log/log.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/errc.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::log;
using exa::LogLevel;

namespace {

// A file of this test's own, gone with it.
struct TemporaryFile {
    TemporaryFile() {
        std::string name = (std::filesystem::temp_directory_path() / "exaserve_log_XXXXXX").string();
        const int file = mkstemp(name.data());
        BOOST_TEST_REQUIRE(file >= 0);
        std::fclose(fdopen(file, "w"));
        path = name;
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream file(path);
        std::ostringstream out;
        out << file.rdbuf();
        return out.str();
    }
    std::string path;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(log_sink)

BOOST_AUTO_TEST_CASE(text_line_reads_from_left_to_right) {
    BOOST_TEST(format_log_line(LogFormat::text, "T", "a", LogLevel::warn, "membership", "suspect: no answer",
                               {{"target", "b"}, {"rtt_ms", "12"}}) ==
               "T warn  membership peer=a suspect: no answer target=b rtt_ms=12");
    BOOST_TEST(format_log_line(LogFormat::text, "T", "", LogLevel::debug, "io", "x", {}) == "T debug io x");
}

BOOST_AUTO_TEST_CASE(json_line_escapes_what_json_must) {
    BOOST_TEST(
        format_log_line(LogFormat::json, "T", "a", LogLevel::error, "io", "say \"hi\"\n", {{"path", "C:\\x\t\x01"}}) ==
        R"({"time":"T","level":"error","module":"io","peer":"a","message":"say \"hi\"\n","path":"C:\\x\u0009\u0001"})");
}

BOOST_AUTO_TEST_CASE(line_stays_one_line_whatever_a_field_holds) {
    const auto line = format_log_line(LogFormat::text, "T", "", LogLevel::info, "io", "bad\nline",
                                      {{"name", "evil\nT error io forged"}, {"empty", ""}, {"eq", "a=b"}});
    BOOST_TEST(line.find('\n') == std::string::npos);
    BOOST_TEST(line == R"(T info  io bad line name="evil\nT error io forged" empty="" eq="a=b")");
}

BOOST_AUTO_TEST_CASE(levels_have_names_and_back) {
    for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error})
        BOOST_TEST(parse_log_level(to_string(level)) == level);
    BOOST_TEST(!parse_log_level("loud").has_value());
}

BOOST_AUTO_TEST_CASE(lines_below_the_level_are_not_written) {
    const TemporaryFile file;
    {
        const auto log = make_log({LogLevel::warn, LogFormat::json, file.path, "a"});
        BOOST_TEST_REQUIRE(log.has_value());
        log.value()->info("io", "quiet");
        log.value()->warn("io", "loud", {{"key", "value"}});
    }
    const std::string text = file.text();
    BOOST_TEST(text.find("quiet") == std::string::npos);
    BOOST_TEST(text.find(R"("level":"warn","module":"io","peer":"a","message":"loud","key":"value"})") !=
               std::string::npos);
    // 2026-03-01T12:00:00.123456Z
    BOOST_TEST(text.starts_with(R"({"time":"2)"));
    BOOST_TEST(text.substr(9 + 26, 3) == "Z\",");
}

BOOST_AUTO_TEST_CASE(a_new_level_holds_for_the_lines_after_it) {
    const TemporaryFile file;
    {
        const auto log = make_log({LogLevel::warn, LogFormat::json, file.path, "a"});
        BOOST_TEST_REQUIRE(log.has_value());
        log.value()->info("io", "before");
        log.value()->set_level(LogLevel::info);
        log.value()->info("io", "after");
    }
    BOOST_TEST(file.text().find("before") == std::string::npos);
    BOOST_TEST(file.text().find("after") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(line_is_in_the_file_when_the_log_has_ended) {
    const TemporaryFile file;
    make_log({LogLevel::info, LogFormat::text, file.path, ""}).value()->info("io", "the last");
    BOOST_TEST(file.text().find("info  io the last\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(file_that_cannot_be_opened_is_named) {
    const auto log = make_log({LogLevel::info, LogFormat::text, "/proc/no/such/file", ""});
    BOOST_TEST_REQUIRE(!log.has_value());
    BOOST_TEST(log.error().code == make_error_code(errc::system));
    BOOST_TEST(log.error().message().find("/proc/no/such/file") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
