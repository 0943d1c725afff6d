#include "resp/session.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

using namespace exa;
using namespace exa::resp;

namespace {

constexpr WallTime now{1'800'000'000'000'000};

struct Client {
    explicit Client(bool needs_auth = false)
        : session({"exaserve 0.1.0", 7, needs_auth}, [](std::string_view user, std::string_view password) {
              return password == "secret" ? std::optional(std::string(user)) : std::nullopt;
          }) {}

    // The answer; empty when a keyspace is asked first.
    std::string ask(std::vector<std::string> words, std::uint64_t body = 0, bool refused = false) {
        Request request;
        request.arguments = std::move(words);
        request.body_bytes = body;
        request.refused = refused;
        operation = session.handle(now, std::move(request), out);
        return sent();
    }
    std::string finish(const Outcome& outcome) {
        session.finish(outcome, out);
        return sent();
    }
    std::string sent() {
        std::string text;
        for (const Piece& piece : out.take()) text += as_text(piece.bytes);
        return text;
    }

    Session session;
    ReplyWriter out;
    std::optional<Operation> operation;
};

Value value_of(const std::string& text) {
    const auto memory = std::make_shared<std::string>(text);
    return {{{memory, as_bytes(*memory)}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session)

BOOST_AUTO_TEST_CASE(plain_commands_answer_as_redis_does) {
    Client client;
    BOOST_TEST(client.ask({"PING"}) == "+PONG\r\n");
    BOOST_TEST(client.ask({"ping", "hi"}) == "$2\r\nhi\r\n");
    BOOST_TEST(client.ask({"ECHO", "hi"}) == "$2\r\nhi\r\n");
    BOOST_TEST(client.ask({"SELECT", "0"}) == "+OK\r\n");
    BOOST_TEST(client.ask({"SELECT", "1"}) == "-ERR DB index is out of range\r\n");
    BOOST_TEST(client.ask({"CLIENT", "SETNAME", "me"}) == "+OK\r\n");
    BOOST_TEST(client.ask({"CLIENT", "GETNAME"}) == "$2\r\nme\r\n");
    BOOST_TEST(client.ask({"CLIENT", "ID"}) == ":7\r\n");
    BOOST_TEST(client.ask({"CLIENT", "SETINFO", "LIB-NAME", "x"}) == "+OK\r\n");
    BOOST_TEST(client.ask({"COMMAND"}) == "*0\r\n");
    BOOST_TEST(client.ask({"INFO"}).starts_with("$"));
    BOOST_TEST(client.ask({"FLUSHALL"}) == "-ERR unknown command 'FLUSHALL'\r\n");
    BOOST_TEST(client.ask({"GET"}) == "-ERR wrong number of arguments for 'GET' command\r\n");
    BOOST_TEST(!client.session.closing());
    BOOST_TEST(client.ask({"QUIT"}) == "+OK\r\n");
    BOOST_TEST(client.session.closing());
}

BOOST_AUTO_TEST_CASE(hello_changes_the_version_of_what_follows) {
    Client client;
    BOOST_TEST(client.ask({"HELLO"}).starts_with("*14\r\n"));
    BOOST_TEST(client.ask({"HELLO", "3"}).starts_with("%7\r\n"));
    client.ask({"GET", "a"});
    BOOST_TEST(client.finish({.values = {std::nullopt}}) == "_\r\n");
    BOOST_TEST(client.ask({"HELLO", "4"}).starts_with("-NOPROTO"));
    BOOST_TEST(client.ask({"HELLO", "2"}).starts_with("*14\r\n"));
}

BOOST_AUTO_TEST_CASE(nothing_is_told_before_authentication_and_the_tenant_comes_from_it) {
    Client client(true);
    BOOST_TEST(client.ask({"GET", "a"}).starts_with("-NOAUTH"));
    BOOST_TEST(client.ask({"SET", "a", "b"}).starts_with("-NOAUTH"));
    BOOST_TEST(client.ask({"HELLO", "3"}).starts_with("-NOAUTH"));
    BOOST_TEST(!client.session.may_store());
    BOOST_TEST(client.ask({"PING"}) == "+PONG\r\n");
    BOOST_TEST(client.ask({"AUTH", "wrong"}).starts_with("-WRONGPASS"));
    BOOST_TEST(client.ask({"AUTH", "acme", "secret"}) == "+OK\r\n");
    BOOST_TEST(client.ask({"GET", "a"}).empty());
    BOOST_TEST(client.operation->tenant == "acme");
    BOOST_TEST(client.ask({"AUTH", "other", "wrong"}).starts_with("-WRONGPASS"));
    BOOST_TEST(client.session.tenant() == "acme");

    Client another(true);
    BOOST_TEST(another.ask({"HELLO", "3", "AUTH", "acme", "secret", "SETNAME", "n"}).starts_with("%7"));
    BOOST_TEST(another.session.tenant() == "acme");
}

BOOST_AUTO_TEST_CASE(gets_answer_exact_sizes_and_nulls) {
    Client client;
    BOOST_TEST(client.ask({"GET", "a"}).empty());
    BOOST_TEST(client.operation->verb == Verb::get);
    BOOST_TEST(client.finish({.values = {value_of("hello")}}) == "$5\r\nhello\r\n");
    client.ask({"GET", "a"});
    BOOST_TEST(client.finish({.values = {std::nullopt}}) == "$-1\r\n");
    client.ask({"MGET", "a", "b"});
    BOOST_TEST(client.operation->keys == (std::vector<std::string>{"a", "b"}));
    BOOST_TEST(client.finish({.values = {value_of("x"), std::nullopt}}) == "*2\r\n$1\r\nx\r\n$-1\r\n");
    client.ask({"EXISTS", "a"});
    BOOST_TEST(client.finish({.number = 1}) == ":1\r\n");
    client.ask({"UNLINK", "a", "b"});
    BOOST_TEST(client.operation->verb == Verb::remove);
    BOOST_TEST(client.finish({.number = 0}) == ":0\r\n");
}

BOOST_AUTO_TEST_CASE(options_of_set_become_conditions_and_a_time) {
    Client client;
    BOOST_TEST(client.ask({"SET", "a", "b"}).empty());
    BOOST_TEST(!client.operation->expires_ms.has_value());
    BOOST_TEST(client.finish({}) == "+OK\r\n");
    client.ask({"SET", "a", "b", "EX", "5", "NX"});
    BOOST_TEST(*client.operation->expires_ms == 1'800'000'005'000);
    BOOST_TEST(client.operation->only_if_absent);
    BOOST_TEST(client.finish({.done = false}) == "$-1\r\n");
    client.ask({"SET", "a", "b", "pxat", "123", "xx", "get"});
    BOOST_TEST(*client.operation->expires_ms == 123);
    BOOST_TEST(client.operation->only_if_present);
    BOOST_TEST(client.finish({.values = {value_of("old")}}) == "$3\r\nold\r\n");
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"SET", "a", "b", "EX"},
                                               {"SET", "a", "b", "NX", "XX"},
                                               {"SET", "a", "b", "EX", "1", "PX", "1"},
                                               {"SET", "a", "b", "what"}})
        BOOST_TEST(client.ask(words) == "-ERR syntax error\r\n");
    for (const std::string time : {"0", "-1", "99999999999999999"})
        BOOST_TEST(client.ask({"SET", "a", "b", "EX", time}).starts_with("-ERR invalid expire time"));
}

BOOST_AUTO_TEST_CASE(a_value_for_which_there_is_no_memory_counts_as_evicted_at_once) {
    Client client;
    BOOST_TEST(client.ask({"SET", "a", ""}, 100'000, true) == "+OK\r\n");
    BOOST_TEST(!client.operation.has_value());
}

BOOST_AUTO_TEST_CASE(what_a_browser_sends_closes_without_an_answer) {
    for (const char* word : {"POST", "post", "Host:", "HOST:"}) {
        Client client;
        BOOST_TEST(client.ask({word, "/", "HTTP/1.1"}).empty());
        BOOST_TEST(!client.operation.has_value());
        BOOST_TEST(client.session.closing());
    }
}

BOOST_AUTO_TEST_CASE(a_transaction_is_refused_before_it_writes) {
    Client client;
    BOOST_TEST(client.ask({"MULTI"}).starts_with("-ERR MULTI is not supported"));
    BOOST_TEST(client.ask({"SET", "a", "b"}).starts_with("-ERR not carried out"));
    BOOST_TEST(!client.operation.has_value());
    BOOST_TEST(client.ask({"EXEC"}).starts_with("-EXECABORT"));
    BOOST_TEST(client.ask({"SET", "a", "b"}).empty());
    BOOST_TEST(client.operation.has_value());
    BOOST_TEST(client.ask({"EXEC"}) == "-ERR EXEC without MULTI\r\n");
}

BOOST_AUTO_TEST_CASE(names_of_clients_have_no_spaces) {
    Client client;
    BOOST_TEST(client.ask({"CLIENT", "SETNAME", "a b"}).starts_with("-ERR Client names cannot contain spaces"));
    BOOST_TEST(client.ask({"HELLO", "3", "SETNAME", "a\n"}).starts_with("-ERR Client names cannot contain spaces"));
    BOOST_TEST(client.ask({"CLIENT", "GETNAME"}) == "$0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(info_names_the_software) {
    Client client;
    BOOST_TEST(client.ask({"INFO"}).find("server_name:exaserve\r\nserver_version:0.1.0\r\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(scan_gives_a_cursor_and_keys) {
    Client client;
    BOOST_TEST(client.ask({"SCAN", "0", "MATCH", "a*", "COUNT", "7"}).empty());
    BOOST_TEST(client.operation->pattern == "a*");
    BOOST_TEST(client.operation->count == 7u);
    BOOST_TEST(client.finish({.cursor = 5, .keys = {"ab"}}) == "*2\r\n$1\r\n5\r\n*1\r\n$2\r\nab\r\n");
    BOOST_TEST(!client.operation->none);
    client.ask({"SCAN", "0", "TYPE", "String"});
    BOOST_TEST(!client.operation->none);
    client.ask({"SCAN", "0", "TYPE", "zset"});
    BOOST_TEST(client.operation->none);
    BOOST_TEST(client.ask({"SCAN", "0", "TYPE"}) == "-ERR syntax error\r\n");
    BOOST_TEST(client.ask({"SCAN", "18446744073709551615"}).empty());
    BOOST_TEST(client.ask({"SCAN", "-1"}) == "-ERR invalid cursor\r\n");
    BOOST_TEST(client.ask({"SCAN", "0", "COUNT", "0"}) == "-ERR syntax error\r\n");
}

BOOST_AUTO_TEST_CASE(patterns_match_as_redis_matches) {
    for (const auto& [pattern, text] : std::vector<std::pair<std::string, std::string>>{{"*", ""},
                                                                                        {"*", "abc"},
                                                                                        {"a?c", "abc"},
                                                                                        {"a*", "a"},
                                                                                        {"*c", "abc"},
                                                                                        {"a*b*c", "aXXbYYc"},
                                                                                        {"[ab]c", "bc"},
                                                                                        {"[a-c]x", "bx"},
                                                                                        {"[^a]x", "bx"},
                                                                                        {"\\*", "*"},
                                                                                        {"a[", "a["}})
        BOOST_TEST(matches(pattern, text), pattern + " " + text);
    for (const auto& [pattern, text] : std::vector<std::pair<std::string, std::string>>{{"", "a"},
                                                                                        {"a", ""},
                                                                                        {"a?c", "ac"},
                                                                                        {"*c", "ab"},
                                                                                        {"[ab]c", "cc"},
                                                                                        {"[^a]x", "ax"},
                                                                                        {"\\*", "a"},
                                                                                        {"[a-c]x", "dx"}})
        BOOST_TEST(!matches(pattern, text), pattern + " " + text);
    std::string stars;
    for (int i = 0; i < 200; ++i) stars += "*a";
    BOOST_TEST(!matches(stars + "b", std::string(5000, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()
