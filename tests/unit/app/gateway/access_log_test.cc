#include "app/gateway/access_log.h"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

using namespace exa;
using namespace exa::app;
using namespace exa::app::gateway;

namespace {

std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

struct Folder {
    std::string path = std::tmpnam(nullptr);
    Folder() { std::filesystem::create_directory(path); }
    ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(access_log)

BOOST_AUTO_TEST_CASE(line_is_json_with_what_is_known) {
    const std::vector<std::pair<std::string_view, std::string>> noted{{"tenant", "acme"}, {"attempts", "2"}};
    io::http::HttpOutcome outcome;
    outcome.id = "r-1";
    outcome.method = "POST";
    outcome.path = "/v1/completions";
    outcome.remote = *parse_endpoint("10.0.0.9:51012");
    outcome.status = 200;
    outcome.body_bytes = 4711;
    outcome.took = Duration(812'250);
    outcome.first_byte = Duration(35'500);
    outcome.complete = true;
    outcome.annotations = noted;
    BOOST_TEST(access_line(outcome, WallTime{1'772'366'400'123'456}) ==
               R"({"time":"2026-03-01T12:00:00.123Z","id":"r-1","remote":"10.0.0.9:51012","method":"POST",)"
               R"("path":"/v1/completions","status":200,"bytes":4711,"duration_ms":812.250,"ttft_ms":35.500,)"
               R"("complete":true,"tenant":"acme","attempts":2})");
    BOOST_TEST(access_line({}, WallTime{}).find("status") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_path_breaks_the_line) {
    io::http::HttpOutcome outcome;
    const std::string path = "/\"}\n\x01\xff\\" + std::string(100'000, 'x');
    outcome.path = path;
    outcome.id = "\"";
    const std::string line = access_line(outcome, WallTime{});
    BOOST_TEST(line.find('\n') == std::string::npos);
    BOOST_TEST(line.size() < 1'000U);
    const auto parsed = boost::json::parse(line);
    BOOST_TEST(parsed.at("path").as_string().starts_with("/\"}???\\xxx"));
    BOOST_TEST(parsed.at("id").as_string() == "\"");
}

BOOST_AUTO_TEST_CASE(lines_are_on_the_disk_when_it_is_closed_and_go_to_a_new_file_when_told) {
    const Folder folder;
    const std::string path = folder.path + "/access";
    {
        const auto log = open_access_log(path).value();
        for (int i = 0; i < 1'000; ++i) log->write("one");
    }
    BOOST_TEST(content(path).size() == 4'000U);
    {
        const auto log = open_access_log(path).value();
        std::filesystem::rename(path, path + ".1");
        log->reopen();
        log->write("two");
        BOOST_TEST(log->dropped() == 0U);
    }
    BOOST_TEST(content(path + ".1").size() == 4'000U);
    BOOST_TEST(content(path) == "two\n");
}

BOOST_AUTO_TEST_CASE(file_that_cannot_be_opened_is_named) {
    const auto log = open_access_log("/nowhere/access");
    BOOST_TEST_REQUIRE(!log.has_value());
    BOOST_TEST(log.error().detail.starts_with("http.access_log: /nowhere/access: "));
}

BOOST_AUTO_TEST_CASE(keys_in_what_a_client_chose_are_cut) {
    io::http::HttpOutcome outcome;
    const std::string path = "/v1/models/sk-exa-1a2b3c4d-0123456789abcdef";
    // One that the bound of a field would shorten.
    const std::string id = std::string(500, 'x') + " sk-exa-1a2b3c4d-0123456789abcdef";
    outcome.path = path;
    outcome.id = id;
    const std::string line = access_line(outcome, WallTime{});
    BOOST_TEST(line.find("1a2b3c4d") == std::string::npos);
    BOOST_TEST(line.find("\"/v1/models/sk-...\"") != std::string::npos);
    BOOST_TEST(line.find("xx sk-...\"") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
