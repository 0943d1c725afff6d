#include "resp/value_command.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/print.h"

using namespace exa;
using namespace exa::resp;

namespace {

constexpr WallTime now{1'800'000'000'000'000};

struct Client {
    // The error; empty when the keyspace is asked.
    std::string ask(std::vector<std::string> words) {
        const Command* known = find_command(words[0]);
        BOOST_REQUIRE(known != nullptr);
        Request request;
        request.arguments = std::move(words);
        auto parsed = parse_value_command(*known, now, "acme", std::move(request));
        if (const auto* error = std::get_if<std::string>(&parsed)) return "-" + *error + "\r\n";
        command = std::get<ValueCommand>(std::move(parsed));
        BOOST_TEST(command.operation.tenant == "acme");
        return "";
    }
    std::string finish(const Outcome& outcome) {
        ReplyWriter out;
        write_answer(command.answer, outcome, now.unix_us / 1000, out);
        std::string text;
        for (const Piece& piece : out.take()) text += as_text(piece.bytes);
        return text;
    }

    ValueCommand command;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(value_command)

BOOST_AUTO_TEST_CASE(commands_of_time_become_unix_milliseconds) {
    Client client;
    client.ask({"SETEX", "a", "5", "b"});
    BOOST_TEST(*client.command.operation.expires_ms == 1'800'000'005'000);
    client.ask({"PSETEX", "a", "5", "b"});
    BOOST_TEST(*client.command.operation.expires_ms == 1'800'000'000'005);
    client.ask({"EXPIRE", "a", "-1", "gt"});
    BOOST_TEST(*client.command.operation.expires_ms == 1'799'999'999'000);
    BOOST_TEST(client.command.operation.expiry_rule.only_if_later);
    BOOST_TEST(client.finish({.done = false}) == ":0\r\n");
    BOOST_TEST(client.ask({"EXPIRE", "a", "9223372036854775807"}).starts_with("-ERR invalid expire time in 'expire'"));
    BOOST_TEST(client.ask({"SET", "a", "b", "EX", "x"}).starts_with("-ERR value is not an integer"));
    client.ask({"TTL", "a"});
    BOOST_TEST(client.finish({.number = 1'800'000'001'600}) == ":2\r\n");
    client.ask({"PTTL", "a"});
    BOOST_TEST(client.finish({.number = 1'800'000'001'600}) == ":1600\r\n");
    client.ask({"TTL", "a"});
    BOOST_TEST(client.finish({}) == ":-1\r\n");
    client.ask({"TTL", "a"});
    BOOST_TEST(client.finish({.done = false}) == ":-2\r\n");
}

BOOST_AUTO_TEST_CASE(further_commands_answer_as_redis_does) {
    Client client;
    client.ask({"SETNX", "a", "b"});
    BOOST_TEST(client.command.operation.only_if_absent);
    BOOST_TEST(client.finish({.done = false}) == ":0\r\n");
    client.ask({"MSET", "a", "1", "b", "2"});
    BOOST_TEST(client.command.operation.values == (std::vector<std::string>{"1", "2"}));
    BOOST_TEST(client.finish({}) == "+OK\r\n");
    BOOST_TEST(client.ask({"MSET", "a", "1", "b"}).starts_with("-ERR wrong number of arguments"));
    client.ask({"TYPE", "a"});
    BOOST_TEST(client.finish({.number = 1}) == "+string\r\n");
    client.ask({"TYPE", "a"});
    BOOST_TEST(client.finish({}) == "+none\r\n");
    client.ask({"KEYS", "a*"});
    BOOST_TEST(client.finish({.keys = {"ab"}}) == "*1\r\n$2\r\nab\r\n");
    client.ask({"SET", "a", "b", "KEEPTTL"});
    BOOST_TEST(client.command.operation.keeps_expiry);
    BOOST_TEST(client.ask({"SET", "a", "b", "KEEPTTL", "EX", "1"}) == "-ERR syntax error\r\n");
    BOOST_TEST(client.ask({"SET", std::string(20'000, 'k'), "b"}).starts_with("-ERR a key of 16 KiB"));
}

BOOST_AUTO_TEST_CASE(getex_without_options_is_a_get) {
    Client client;
    client.ask({"GETEX", "a"});
    BOOST_TEST((client.command.operation.verb == Verb::get));
    client.ask({"GETEX", "a", "PERSIST"});
    BOOST_TEST((client.command.operation.verb == Verb::expire));
    BOOST_TEST(!client.command.operation.expires_ms.has_value());
    BOOST_TEST(client.ask({"GETEX", "a", "EX", "1", "PERSIST"}) == "-ERR syntax error\r\n");
}

BOOST_AUTO_TEST_CASE(options_of_expire_that_exclude_each_other_are_refused) {
    Client client;
    for (const char* other : {"XX", "GT", "LT"})
        BOOST_TEST(client.ask({"EXPIRE", "a", "1", "NX", other}).starts_with("-ERR NX and XX, GT or LT"));
    BOOST_TEST(client.ask({"EXPIRE", "a", "1", "GT", "LT"}).starts_with("-ERR GT and LT"));
    BOOST_TEST(client.ask({"EXPIRE", "a", "1", "AB"}).starts_with("-ERR Unsupported option AB"));
}

BOOST_AUTO_TEST_SUITE_END()
