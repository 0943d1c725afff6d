// Who only scans and who parses agree: on what is a request at all, and on what stands in it.
#include "openai/scan.h"

#include <rapidcheck.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "base/rng.h"
#include "openai/json.h"
#include "openai/request.h"

namespace {

namespace openai = exa::openai;
namespace json = boost::json;

constexpr std::array<std::string_view, 14> keys = {"model",
                                                   "stream",
                                                   "seed",
                                                   "max_tokens",
                                                   "max_completion_tokens",
                                                   "max_output_tokens",
                                                   "n",
                                                   "user",
                                                   "prompt_cache_key",
                                                   "messages",
                                                   "prompt",
                                                   "role",
                                                   "content",
                                                   "text"};

// Writes JSON as odd clients may: any white space, escapes where none are needed, equal keys, deep nesting.
class Writer {
  public:
    explicit Writer(std::uint64_t seed) : rng_(seed) {}

    std::string body() {
        object(3 + below(4));
        return std::move(out_);
    }

    // One to four edits of any kind at any place.
    std::string mangled(std::string text) {
        for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) {
            const std::size_t at = below(text.size() + 1);
            switch (below(4)) {
                case 0:
                    text.insert(at, 1, static_cast<char>(below(256)));
                    break;
                case 1:
                    text.insert(at, std::string(pick(snippets)));
                    break;
                case 2:
                    text.erase(at, below(3));
                    break;
                default:
                    if (at < text.size()) text[at] = static_cast<char>(below(256));
            }
        }
        return text;
    }

  private:
    static constexpr std::array<std::string_view, 18> snippets = {
        "\"",           "\\", "\\u", "\\uD83D", "\\uDE00",      "{", "}", "[", "]", ",", ":", "e9",
        "1e2147483647", "-",  ".",   "null",    "\xF0\x9F\x98", "0"};
    static constexpr std::array<std::string_view, 20> numbers = {"0",
                                                                 "-0",
                                                                 "1",
                                                                 "-1",
                                                                 "9",
                                                                 "16",
                                                                 "3.0",
                                                                 "2.5",
                                                                 "1e2",
                                                                 "1E-2",
                                                                 "-1e0",
                                                                 "9007199254740993",
                                                                 "9223372036854775807",
                                                                 "9223372036854775808",
                                                                 "18446744073709551615",
                                                                 "18446744073709551616",
                                                                 "-9223372036854775809",
                                                                 "1e400",
                                                                 "2147483647",
                                                                 "2147483648"};
    static constexpr std::array<std::string_view, 12> pieces = {"a",        "model",
                                                                " ",        "\\n",
                                                                "\\\"",     "\\u0000",
                                                                "\\u00e9",  "\\uD83D\\uDE00",
                                                                "\xC3\xA9", "\xF0\x9F\x98\x80",
                                                                "/",        "longer than eight bytes"};

    std::size_t below(std::uint64_t bound) { return static_cast<std::size_t>(rng_.below(bound)); }
    template <std::size_t N>
    std::string_view pick(const std::array<std::string_view, N>& of) {
        return of[below(N)];
    }
    void space() {
        while (below(6) == 0) out_ += " \t\r\n"[below(4)];
    }
    void string(std::string_view text) {
        out_ += '"';
        static constexpr std::string_view digits = "0123456789abcdef";
        for (const char letter : text) {
            if (below(8) == 0) {
                out_ += "\\u00";
                out_ += digits[static_cast<std::uint8_t>(letter) >> 4];
                out_ += digits[static_cast<std::uint8_t>(letter) & 15];
            } else {
                out_ += letter;
            }
        }
        out_ += '"';
    }
    void object(std::size_t levels) {
        out_ += '{';
        space();
        for (std::size_t members = below(6), i = 0; i < members; ++i) {
            if (i > 0) out_ += ',';
            space();
            string(below(8) == 0 ? "other" : pick(keys));
            space();
            out_ += ':';
            value(levels);
        }
        out_ += '}';
    }
    void value(std::size_t levels) {
        space();
        switch (below(levels == 0 ? 5 : 8)) {
            case 0:
                out_ += pick(numbers);
                break;
            case 1:
                out_ += below(2) == 0 ? "true" : "false";
                break;
            case 2:
                out_ += "null";
                break;
            case 3:
            case 4:
                out_ += '"';
                for (std::size_t left = below(5); left > 0; --left) out_ += pick(pieces);
                out_ += '"';
                break;
            case 5:
                object(levels - 1);
                break;
            default:
                out_ += '[';
                for (std::size_t elements = below(4), i = 0; i < elements; ++i) {
                    if (i > 0) out_ += ',';
                    value(levels - 1);
                }
                out_ += ']';
        }
        space();
    }

    exa::Rng rng_;
    std::string out_;
};

// The definition, the slow way: the parsed value.
class Reference {
  public:
    explicit Reference(const json::object& object) : object_(object), fields_(object, {}) {}

    std::string text(std::string_view key) const {
        const auto read = fields_.text(key);
        return read && read.value() ? *read.value() : std::string();
    }
    bool stream() const {
        const auto read = fields_.boolean("stream");
        return read && read.value().value_or(false);
    }
    std::optional<std::uint64_t> seed() const {
        const auto read = fields_.wrapped_integer("seed");
        return read ? read.value() : std::nullopt;
    }
    std::optional<std::uint32_t> count(std::string_view key) const {
        const auto read = fields_.count(key);
        return read ? read.value() : std::nullopt;
    }
    std::optional<std::uint32_t> max_tokens() const {
        for (const char* key : {"max_completion_tokens", "max_tokens", "max_output_tokens"})
            if (const auto read = count(key)) return read;
        return std::nullopt;
    }
    std::string leading() {
        for (const char* key : {"messages", "prompt"})
            if (const auto* value = object_.if_contains(key)) add(*value);
        return leading_.substr(0, openai::leading_bytes_default);
    }
    std::size_t estimate() const { return tokens_ + sum(); }

  private:
    std::size_t sum() const {
        std::size_t tokens = 0;
        for (const std::size_t bytes : bytes_) tokens += bytes / 4;
        return tokens;
    }
    void add_text(const json::value& value) {
        leading_ += std::string_view(value.get_string());
        bytes_.back() += value.get_string().size();
    }
    void add(const json::value& value) {
        bytes_.push_back(0);
        add_inner(value);
    }
    void add_inner(const json::value& value) {
        if (value.is_string()) {
            add_text(value);
        } else if (value.is_array()) {
            for (const json::value& item : value.get_array()) add_inner(item);
        } else if (value.is_object()) {
            const json::object& message = value.get_object();
            tokens_ += 4;
            if (const auto* role = message.if_contains("role"); role != nullptr && role->is_string())
                leading_ += std::string_view(role->get_string());
            leading_ += '\n';
            if (const auto* content = message.if_contains("content")) {
                if (content->is_string()) add_text(*content);
                if (content->is_array())
                    for (const json::value& part : content->get_array())
                        if (const auto* object = part.if_object())
                            if (const auto* text = object->if_contains("text"); text != nullptr && text->is_string())
                                add_text(*text);
            }
            leading_ += '\n';
        } else if (value.is_int64()) {
            ++tokens_;
            leading_ += std::to_string(value.get_int64()) + " ";
        }
    }

    const json::object& object_;
    openai::Fields fields_;
    std::string leading_;
    std::vector<std::size_t> bytes_;
    std::size_t tokens_ = 0;
};

bool is_taken(const openai::ApiResult<json::value>& parsed) {
    if (!parsed) return false;
    const auto* model = parsed.value().get_object().if_contains("model");
    return model == nullptr || model->is_null() || model->is_string();
}

void agree(const std::string& body) {
    const auto parsed = openai::parse_object(body, 1 << 24);
    const auto found = openai::scan(body);
    RC_LOG() << "body: " << body << "\n";
    // What is nested deeper than the parser reads may be for somebody else.
    if (!parsed && parsed.error().code == "nested_too_deep") return;
    RC_ASSERT(found.has_value() == is_taken(parsed));
    if (!found) {
        RC_ASSERT(found.error().status == 400);
        if (!parsed) RC_ASSERT(found.error().code == parsed.error().code);
        return;
    }
    Reference reference(parsed.value().get_object());
    RC_ASSERT(found.value().model.text() == reference.text("model"));
    RC_ASSERT(found.value().stream == reference.stream());
    RC_ASSERT(found.value().seed == reference.seed());
    RC_ASSERT(found.value().max_tokens == reference.max_tokens());
    RC_ASSERT(found.value().n == reference.count("n"));
    RC_ASSERT(found.value().user.text() == reference.text("user"));
    RC_ASSERT(found.value().prompt_cache_key.text() == reference.text("prompt_cache_key"));
    RC_ASSERT(found.value().leading == reference.leading());
    RC_ASSERT(found.value().prompt_tokens_estimate == reference.estimate());
}

constexpr int bodies_a_seed = 40;

}  // namespace

BOOST_AUTO_TEST_SUITE(scan)

BOOST_AUTO_TEST_CASE(a_scan_finds_what_the_parser_finds) {
    BOOST_TEST(rc::check("scan equals parse", [] {
        Writer writer(*rc::gen::arbitrary<std::uint64_t>());
        for (int i = 0; i < bodies_a_seed; ++i) {
            const std::string body = writer.body();
            RC_ASSERT(openai::parse_object(body, body.size()).has_value());
            agree(body);
        }
    }));
}

BOOST_AUTO_TEST_CASE(a_scan_refuses_what_the_parser_refuses) {
    BOOST_TEST(rc::check("verdicts on mangled bodies", [] {
        Writer writer(*rc::gen::arbitrary<std::uint64_t>());
        for (int i = 0; i < bodies_a_seed; ++i) agree(writer.mangled(writer.body()));
    }));
}

// The parser's limit moves with the digits before the exponent, and with how much text is left behind it.
BOOST_AUTO_TEST_CASE(a_scan_judges_exponents_at_the_parsers_limit_alike) {
    BOOST_TEST(rc::check("exponents", [] {
        const auto digits = *rc::gen::inRange<std::size_t>(1, 40);
        const auto fraction = *rc::gen::inRange<std::size_t>(0, 40);
        const auto below = *rc::gen::inRange<std::int64_t>(-3, 45);
        const auto behind = *rc::gen::inRange<std::size_t>(0, 40);
        std::string body = R"({"x":)" + std::string(*rc::gen::arbitrary<bool>() ? "-" : "");
        body += std::string(digits, *rc::gen::element('1', '9')) +
                (fraction == 0 ? "" : "." + std::string(fraction, *rc::gen::element('0', '7')));
        body += *rc::gen::element("e", "e-", "E+") + std::to_string(std::int64_t{2147483647} - below);
        agree(body + "}" + std::string(behind, ' '));
    }));
}

// A schema of any depth goes through to whoever reads it, at a bit a level.
BOOST_AUTO_TEST_CASE(a_scan_takes_any_depth_and_the_parser_what_it_reads) {
    for (const std::size_t levels : {31u, 128u, 511u, 512u, 4000000u})
        for (const std::string_view key : {"messages", "input", "tools"}) {
            for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
                std::string body = "{\"" + std::string(key) + "\":";
                for (std::size_t i = 0; i < levels; ++i) body += open;
                body += "1";
                BOOST_TEST(!openai::scan(body).has_value());
                for (std::size_t i = 0; i < levels; ++i) body += close;
                body += "}";
                if (body.size() > openai::Limits().body_bytes_max) continue;
                BOOST_TEST(openai::scan(body).has_value(), levels);
                BOOST_TEST(openai::parse_object(body, body.size()).has_value() == (levels < openai::json_depth_max));
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
