#include "app/attach/failure_reporter.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace exa;
using namespace exa::app;
using namespace exa::app::attach;
using std::chrono::seconds;

namespace {

struct Lines final : Log {
    void write(LogLevel level, std::string_view, std::string_view message,
               std::initializer_list<LogField> fields) override {
        std::string line = level == LogLevel::warn ? "warn" : "info";
        line += ": " + std::string(message);
        for (const LogField& field : fields)
            if (field.key != "replica") line += " " + std::string(field.key) + "=" + field.value;
        written.push_back(std::move(line));
    }
    std::vector<std::string> written;
};

struct Fixture {
    Lines log;
    FailureReporter failures{ReplicaId{PeerId{1}, DeploymentId{2}, 0}, "http://a:1", log};
    FailureReporter::Clock::time_point start{seconds(1'000)};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(failure_reporter, Fixture)

BOOST_AUTO_TEST_CASE(a_server_that_answers_is_not_worth_a_line) {
    for (int i = 0; i < 100; ++i) failures.handle_answer(start + seconds(i));
    BOOST_TEST(log.written.empty());
}

BOOST_AUTO_TEST_CASE(failures_are_one_line_with_url_and_reason_and_their_end_is_another) {
    for (int i = 0; i < 100; ++i) failures.handle_failure(start + seconds(i), "refused");
    BOOST_TEST_REQUIRE(log.written.size() == 1U);
    BOOST_TEST(log.written[0] == "warn: requests to the server fail url=http://a:1 error=refused");
    failures.handle_answer(start + seconds(101));
    failures.handle_answer(start + seconds(102));
    BOOST_TEST_REQUIRE(log.written.size() == 2U);
    BOOST_TEST(log.written[1] == "info: the server answers requests again url=http://a:1 failed=100");
    failures.handle_failure(start + seconds(200), "500");
    BOOST_TEST(log.written.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_server_that_fails_now_and_then_does_not_fill_the_log) {
    for (int i = 0; i < 600; ++i) {
        failures.handle_failure(start + seconds(i / 10), "500");
        failures.handle_answer(start + seconds(i / 10));
    }
    BOOST_TEST(log.written.size() == 6U);  // of a minute
}

BOOST_AUTO_TEST_SUITE_END()
