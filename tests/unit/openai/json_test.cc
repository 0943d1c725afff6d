#include "openai/json.h"

#include <boost/test/unit_test.hpp>

namespace {

using exa::openai::Fields;
using exa::openai::parse_object;

constexpr std::size_t bytes_max = 4096;

std::string message_of(std::string_view body) {
    const auto parsed = parse_object(body, bytes_max);
    BOOST_TEST_REQUIRE(!parsed.has_value(), body);
    return parsed.error().message;
}

std::string nested(std::size_t levels) {
    return "{\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(malformed_bodies_are_refused_with_a_reason) {
    for (const char* body : {"", " ", "{", "{\"a\":1", "{a:1}", "{\"a\":1,}", "{\"a\":1}}", "{} x", "{\"a\":\"\xFF\"}",
                             "{\"a\":\"\x01\"}", "{\"a\":01}", "{\"a\":nan}", "{'a':1}", "{\"a\":\"\\ud800\"}"}) {
        const auto parsed = parse_object(body, bytes_max);
        BOOST_TEST(!parsed.has_value(), body);
        if (!parsed) BOOST_TEST(parsed.error().code.value() == "invalid_json", body);
    }
}

BOOST_AUTO_TEST_CASE(the_place_of_the_mistake_is_named) {
    BOOST_TEST(message_of("{\"a\":1,}").find("at byte 7") != std::string::npos, message_of("{\"a\":1,}"));
    BOOST_TEST(message_of("{} x").find("at byte 3") != std::string::npos, message_of("{} x"));
    BOOST_TEST(message_of("{\"a\":1").find("ends too early at byte 6") != std::string::npos, message_of("{\"a\":1"));
}

BOOST_AUTO_TEST_CASE(only_an_object_is_a_request) {
    for (const char* body : {"[]", "1", "\"{}\"", "null", "true"})
        BOOST_TEST(message_of(body).find("a JSON object") != std::string::npos, body);
}

BOOST_AUTO_TEST_CASE(depth_ends_at_the_limit) {
    BOOST_TEST(parse_object(nested(exa::openai::json_depth_max), bytes_max).has_value());
    BOOST_TEST(message_of(nested(exa::openai::json_depth_max + 1)).find("512 levels") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(size_ends_at_the_limit) {
    BOOST_TEST(parse_object("{\"a\":1}", 7).has_value());
    BOOST_TEST(parse_object("{\"a\":1}", 6).error().status == 413);
}

BOOST_AUTO_TEST_CASE(null_counts_as_absent) {
    const auto value = parse_object(R"({"a":null})", bytes_max).value();
    const Fields fields(value.get_object(), "");
    BOOST_TEST(fields.find("a") == nullptr);
    BOOST_TEST(!fields.text("a").value().has_value());
    BOOST_TEST(!fields.boolean("a").value().has_value());
    BOOST_TEST(!fields.number("a").value().has_value());
    BOOST_TEST(!fields.wrapped_integer("b").value().has_value());
    BOOST_TEST(!fields.count("b").value().has_value());
}

BOOST_AUTO_TEST_CASE(errors_carry_the_path_of_the_object) {
    const auto value = parse_object(R"({"a":[]})", bytes_max).value();
    const Fields fields(value.get_object(), "messages[1]");
    BOOST_TEST(fields.text("a").error().param.value() == "messages[1].a");
    BOOST_TEST(fields.boolean("a").error().message.find("an array") != std::string::npos);
    BOOST_TEST(fields.number("a").error().code.value() == "invalid_type");
    BOOST_TEST(fields.count("a").error().code.value() == "invalid_type");
}

BOOST_AUTO_TEST_CASE(integers_keep_all_their_bits) {
    const auto value =
        parse_object(
            R"({"max":18446744073709551615,"min":-9223372036854775808,"float":3.0,"part":3.5,"big":1e20,"small":-1})",
            bytes_max)
            .value();
    const Fields fields(value.get_object(), "");
    BOOST_TEST(fields.wrapped_integer("max").value().value() == ~std::uint64_t{0});
    BOOST_TEST(fields.wrapped_integer("min").value().value() == std::uint64_t{1} << 63);
    BOOST_TEST(fields.wrapped_integer("small").value().value() == ~std::uint64_t{0});
    BOOST_TEST(fields.wrapped_integer("float").value().value() == 3u);
    BOOST_TEST(fields.wrapped_integer("part").error().code.value() == "invalid_value");
    BOOST_TEST(fields.wrapped_integer("big").error().code.value() == "invalid_value");
}

BOOST_AUTO_TEST_CASE(counts_are_positive_and_of_31_bits) {
    const auto value = parse_object(R"({"a":0,"b":-1,"c":2147483648,"d":2147483647,"e":1})", bytes_max).value();
    const Fields fields(value.get_object(), "");
    for (const char* key : {"a", "b", "c"}) BOOST_TEST(!fields.count(key).has_value(), key);
    BOOST_TEST(fields.count("b").error().message.find("got -1") != std::string::npos);
    BOOST_TEST(fields.count("d").value().value() == 2147483647u);
    BOOST_TEST(fields.count("e").value().value() == 1u);
}

BOOST_AUTO_TEST_CASE(an_infinite_number_is_refused) {
    const auto parsed = parse_object(R"({"a":1e999})", bytes_max);
    BOOST_TEST((!parsed.has_value() || !Fields(parsed.value().get_object(), "").number("a").has_value()));
}

BOOST_AUTO_TEST_CASE(long_values_are_shown_by_their_size) {
    const auto value = parse_object(R"({"a":[1,2,3,4,5,6,7,8,9],"b":[1]})", bytes_max).value();
    BOOST_TEST(exa::openai::show(value.at("a")) == "an array of 9");
    BOOST_TEST(exa::openai::show(value.at("b")) == "[1]");
}

BOOST_AUTO_TEST_SUITE_END()
