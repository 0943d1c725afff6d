// The parsers do what the rows say, whatever the rows say.
#include "openai/field_table.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "openai/embeddings.h"
#include "openai/json.h"
#include "openai/request.h"
#include "openai/responses_request.h"
#include "openai/tokenize.h"
#include "support/print.h"

namespace {

namespace openai = exa::openai;
using openai::Endpoint;
using openai::FieldRow;
using openai::Treatment;

constexpr Endpoint endpoints[] = {Endpoint::chat,     Endpoint::completions, Endpoint::responses, Endpoint::embeddings,
                                  Endpoint::tokenize, Endpoint::detokenize,  Endpoint::messages};

// The error of a request that is good but for `more` (", ..." or empty); nothing when it is taken.
std::optional<openai::ApiError> verdict(Endpoint endpoint, const std::string& more) {
    const auto error_of = [](const auto& parsed) {
        return parsed ? std::nullopt : std::optional<openai::ApiError>(parsed.error());
    };
    switch (endpoint) {
        case Endpoint::chat:
            return error_of(openai::parse_chat(
                R"({"model":"m","messages":[{"role":"user","content":"a"}])" + more + "}", {}, openai::features_all));
        case Endpoint::messages:
            return error_of(
                openai::parse_chat(R"({"model":"m","messages":[{"role":"assistant","content":"a")" + more + "}]}", {},
                                   openai::features_all));
        case Endpoint::completions:
            return error_of(
                openai::parse_completion(R"({"model":"m","prompt":"a")" + more + "}", {}, openai::features_all));
        case Endpoint::responses:
            return error_of(
                openai::parse_responses(R"({"model":"m","input":"a")" + more + "}", {}, openai::features_all));
        case Endpoint::embeddings:
            return error_of(openai::parse_embeddings(R"({"model":"m","input":"a")" + more + "}"));
        case Endpoint::tokenize:
            return error_of(openai::parse_tokenize(R"({"messages":[{"role":"user","content":"a"}])" + more + "}"));
        case Endpoint::detokenize:
            return error_of(openai::parse_detokenize(R"({"tokens":[1])" + more + "}"));
    }
    return std::nullopt;
}

std::string member(const FieldRow& row, const std::string& value) {
    return ",\"" + std::string(row.name) + "\":" + value;
}

// Ranges that are bounded here also by what they are beside.
bool has_own_range(const FieldRow& row) {
    return row.range.is_set() && row.name != "best_of" && row.name != "min_tokens" && row.name != "top_logprobs" &&
           row.name != "truncate_prompt_tokens";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(field_rows)

BOOST_AUTO_TEST_CASE(a_name_has_one_row_for_an_endpoint) {
    std::map<std::pair<std::string_view, Endpoint>, int> rows;
    for (const FieldRow& row : openai::field_rows()) {
        BOOST_TEST(row.endpoints != 0, row.name);
        BOOST_TEST(!row.help.empty(), row.name);
        BOOST_TEST(row.type.empty() == (row.treatment != Treatment::honoured), row.name);
        for (const Endpoint endpoint : endpoints)
            if (row.is_of(endpoint)) BOOST_TEST((++rows[{row.name, endpoint}]) == 1, row.name);
    }
}

BOOST_AUTO_TEST_CASE(a_refused_field_is_a_400_that_names_it_and_says_why) {
    for (const FieldRow& row : openai::field_rows()) {
        if (row.treatment != Treatment::refused) continue;
        for (const Endpoint endpoint : endpoints) {
            if (!row.is_of(endpoint)) continue;
            for (const char* value : {"true", "\"x\"", "[1]", "{\"type\":\"x\"}", "17"}) {
                const auto error = verdict(endpoint, member(row, value));
                BOOST_TEST_REQUIRE(error.has_value(), row.name << " at " << to_string(endpoint) << ": " << value);
                BOOST_TEST(error->status == 400, row.name);
                BOOST_TEST(error->code.value() == "unsupported_parameter", row.name);
                BOOST_TEST(error->param.value().ends_with(row.name), row.name);
                BOOST_TEST(error->message.find(row.help) != std::string::npos, row.name);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_refused_field_that_asks_for_nothing_is_accepted) {
    for (const FieldRow& row : openai::field_rows()) {
        if (row.treatment != Treatment::refused) continue;
        std::vector<std::string> values = {"null", "false", "\"\"", "[]", "{}"};
        if (row.neutral.number) values.push_back(std::to_string(*row.neutral.number));
        if (!row.neutral.texts.empty())
            values.push_back("\"" + std::string(row.neutral.texts.substr(0, row.neutral.texts.find('|'))) + "\"");
        if (row.neutral.is_text_type) values.push_back(R"({"type":"text"})");
        if (row.neutral.is_text_list) values.push_back(R"(["text"])");
        if (!row.neutral.beside.empty()) values.push_back("[{}],\"" + std::string(row.neutral.beside) + "\":\"none\"");
        for (const Endpoint endpoint : endpoints)
            for (const std::string& value : values)
                if (row.is_of(endpoint))
                    BOOST_TEST(!verdict(endpoint, member(row, value)).has_value(),
                               row.name << " at " << to_string(endpoint) << ": " << value);
    }
}

BOOST_AUTO_TEST_CASE(an_ignored_field_may_say_anything) {
    for (const FieldRow& row : openai::field_rows())
        for (const Endpoint endpoint : endpoints)
            for (const char* value : {"true", "\"x\"", "[1]", "{\"a\":1}", "-7"})
                if (row.treatment == Treatment::ignored && row.is_of(endpoint) && row.name != "text")
                    BOOST_TEST(!verdict(endpoint, member(row, value)).has_value(),
                               row.name << " at " << to_string(endpoint) << ": " << value);
}

BOOST_AUTO_TEST_CASE(a_range_of_the_table_is_the_range_that_is_parsed) {
    for (const FieldRow& row : openai::field_rows()) {
        if (!has_own_range(row)) continue;
        const bool is_integer = row.type == "integer";
        const auto text = [&](double value) {
            return is_integer ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
        };
        const double step = is_integer ? 1 : 0.01;
        for (const Endpoint endpoint : endpoints) {
            if (!row.is_of(endpoint)) continue;
            for (const double value : {row.range.above_min ? row.range.min + step : row.range.min, row.range.max})
                BOOST_TEST(!verdict(endpoint, member(row, text(value))).has_value(), row.name << " " << value);
            for (const double value :
                 {row.range.above_min ? row.range.min : row.range.min - step, row.range.max + step}) {
                const auto error = verdict(endpoint, member(row, text(value)));
                BOOST_TEST_REQUIRE(error.has_value(), row.name << " " << value);
                BOOST_TEST(error->code.value() == "invalid_value", row.name);
                BOOST_TEST(error->message.find(to_string(row.range)) != std::string::npos, error->message);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_honoured_field_of_a_wrong_type_is_named) {
    for (const FieldRow& row : openai::field_rows())
        for (const Endpoint endpoint : endpoints) {
            if (row.treatment != Treatment::honoured || !row.is_of(endpoint)) continue;
            // Of equal keys the last one counts.
            const bool is_object = row.type == "object";
            const auto error = verdict(endpoint, member(row, is_object ? "7" : R"({"type":"x"})"));
            BOOST_TEST_REQUIRE(error.has_value(), row.name << " at " << to_string(endpoint));
            BOOST_TEST(error->param.value_or("").ends_with(row.name), row.name << ": " << error->message);
        }
}

BOOST_AUTO_TEST_CASE(an_unknown_field_is_nobodys) {
    for (const Endpoint endpoint : endpoints) BOOST_TEST(!verdict(endpoint, R"(,"made_up":[1])").has_value());
}

BOOST_AUTO_TEST_CASE(tools_beside_tool_choice_none_ask_for_nothing) {
    const std::string tools = R"(,"tools":[{"type":"function"}])";
    for (const Endpoint endpoint : {Endpoint::chat, Endpoint::responses}) {
        BOOST_TEST(!verdict(endpoint, tools + R"(,"tool_choice":"none")").has_value());
        BOOST_TEST(verdict(endpoint, tools + R"(,"tool_choice":"auto")").value().param.value() == "tools");
        BOOST_TEST(verdict(endpoint, tools).value().param.value() == "tools");
    }
}

BOOST_AUTO_TEST_SUITE_END()
