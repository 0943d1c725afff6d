#include "openai/json_cursor.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

namespace openai = exa::openai;
using openai::JsonCursor;
using openai::JsonKind;
using openai::JsonText;
using openai::JsonValue;

// The one value of `text`; fails unless it is whole.
JsonValue one(std::string_view text) {
    JsonCursor cursor(text);
    JsonValue value;
    BOOST_TEST_REQUIRE((cursor.take(value) && cursor.finish()), text);
    return value;
}

std::string fault(std::string_view text) {
    JsonCursor cursor(text);
    BOOST_TEST_REQUIRE(!(cursor.skip() && cursor.finish()), text);
    return cursor.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json_cursor)

BOOST_AUTO_TEST_CASE(a_value_shows_its_kind_and_its_own_bytes) {
    const std::pair<const char*, JsonKind> cases[] = {
        {"null", JsonKind::null},      {"true", JsonKind::boolean},        {"false", JsonKind::boolean},
        {"-0", JsonKind::number},      {"1.5e-3", JsonKind::number},       {R"("a\"b")", JsonKind::string},
        {"[1, [2]]", JsonKind::array}, {R"({"a": {}})", JsonKind::object},
    };
    for (const auto& [text, kind] : cases) {
        const JsonValue value = one(" \t\r\n" + std::string(text) + " \n");
        BOOST_TEST(value.kind == kind, text);
        BOOST_TEST(one(text).raw == text);
    }
}

BOOST_AUTO_TEST_CASE(escapes_have_the_bytes_of_their_value) {
    const std::pair<const char*, std::string> cases[] = {
        {R"("")", ""},
        {R"("plain text of more than eight")", "plain text of more than eight"},
        {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
        {R"("\u0041\u00e9\u20AC")", "A\xC3\xA9\xE2\x82\xAC"},
        {R"("x\uD83D\uDE00y")", "x\xF0\x9F\x98\x80y"},
        {R"("\u0000")", std::string(1, '\0')},
    };
    for (const auto& [text, value] : cases) {
        const JsonText read = one(text).text;
        BOOST_TEST(read.text() == value, text);
        BOOST_TEST(read.bytes == value.size(), text);
        BOOST_TEST(read.is(value), text);
        BOOST_TEST(!read.is(value + "x"), text);
    }
}

BOOST_AUTO_TEST_CASE(a_text_may_be_taken_in_part) {
    const JsonText text = [] {
        static const std::string body = R"("ab\ncd\u20ACe")";
        return one(body).text;
    }();
    for (std::size_t bytes = 0; bytes <= 12; ++bytes) {
        std::string out = "-";
        text.append_to(out, bytes);
        BOOST_TEST(out == "-" + text.text().substr(0, bytes));
    }
}

BOOST_AUTO_TEST_CASE(members_come_in_order_with_their_values) {
    JsonCursor cursor(R"({"a":1,"b\u0063":[true],"a":{"x":null}})");
    std::vector<std::string> seen;
    const bool taken = cursor.members([&](const JsonText& key) {
        JsonValue value;
        if (!cursor.take(value)) return false;
        seen.push_back(key.text() + "=" + std::string(value.raw));
        return true;
    });
    BOOST_TEST(taken);
    BOOST_TEST(cursor.finish());
    BOOST_TEST(seen == (std::vector<std::string>{"a=1", "bc=[true]", R"(a={"x":null})"}));
}

BOOST_AUTO_TEST_CASE(nesting_has_no_bound_and_closes_as_it_opened) {
    const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    one(nested(33));
    one(nested(1000000));
    one(R"({"a":[{"b":[]},[],{},{"c":{"d":[1,{"e":null}]}}],"f":2})");
    BOOST_TEST(fault("[[[}]]").find("syntax error at byte 3") != std::string::npos);
    BOOST_TEST(fault(R"({"a":[1})").find("syntax error at byte 7") != std::string::npos);
    BOOST_TEST(fault(R"([{"a":1,2}])").find("syntax error at byte 8") != std::string::npos);
    BOOST_TEST(fault(R"([{"a":[]},)").find("too early") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(malformed_text_is_refused_where_it_goes_wrong) {
    const std::pair<std::string, const char*> cases[] = {
        {"", "too early at byte 0"},
        {"  ", "too early at byte 2"},
        {"nul", "too early"},
        {"nulx", "syntax error at byte 0"},
        {"truefalse", "extra data at byte 4"},
        {"1 2", "extra data at byte 2"},
        {"01", "extra data at byte 1"},
        {"1.", "too early"},
        {"1.x", "syntax error at byte 2"},
        {"-", "too early"},
        {"+1", "syntax error at byte 0"},
        {"1e", "too early"},
        {"1e+x", "syntax error"},
        {"1e2147483648", "exponent"},
        {"[1,]", "syntax error at byte 3"},
        {"[1 2]", "syntax error at byte 3"},
        {"[1", "too early"},
        {"{\"a\"}", "syntax error at byte 4"},
        {"{\"a\":1,}", "syntax error at byte 7"},
        {"{a:1}", "syntax error at byte 1"},
        {"{\"a\":1", "too early"},
        {"\"a", "too early"},
        {"\"\\", "too early"},
        {"\"\\x\"", "escape at byte 2"},
        {"\"\\u12\"", "too early"},
        {"\"\\u12g4\"", "four digits"},
        {"\"\\uDC00\"", "surrogate"},
        {"\"\\uD800\"", "surrogate"},
        {"\"\\uD800\\u0041\"", "surrogate"},
        {"\"abcdefghi\n\"", "control character in a string at byte 10"},
        {"\"\x80\"", "invalid UTF-8 at byte 1"},
        {"\"abcdefgh\xC0\xAF\"", "invalid UTF-8 at byte 9"},
        {"\"\xED\xA0\x80\"", "invalid UTF-8"},
        {"\xEF\xBB\xBF{}", "syntax error at byte 0"},
        {std::string("[1]\0", 4), "extra data at byte 3"},
    };
    for (const auto& [text, why] : cases) BOOST_TEST(fault(text).find(why) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_fault_is_final) {
    JsonCursor cursor("[x] 1");
    BOOST_TEST(!cursor.skip());
    BOOST_TEST(!cursor.skip());
    BOOST_TEST(!cursor.finish());
    BOOST_TEST(cursor.error().message.find("at byte 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_absurd_exponents_are_left_to_the_parser) {
    for (const char* text : {"1e308", "1e-400", "1e2000000000", "1e00000000000000009"}) {
        JsonCursor cursor(text);
        BOOST_TEST(cursor.skip());
        BOOST_TEST(!cursor.is_for_the_parser(), text);
    }
    JsonCursor cursor("1e2147483647");
    BOOST_TEST(cursor.skip());
    BOOST_TEST(cursor.is_for_the_parser());
}

BOOST_AUTO_TEST_SUITE_END()
