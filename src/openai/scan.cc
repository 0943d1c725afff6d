#include "openai/scan.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

// What a chat template wraps a message in, in tokens.
constexpr std::size_t message_tokens_estimate = 4;

enum Slot : std::uint8_t {
    slot_model,
    slot_stream,
    slot_seed,
    slot_max_completion_tokens,
    slot_max_tokens,
    slot_max_output_tokens,
    slot_n,
    slot_user,
    slot_prompt_cache_key,
    slots,
};
constexpr std::array<std::string_view, slots> slot_names = {
    "model", "stream",          "seed", "max_completion_tokens", "max_tokens", "max_output_tokens", "n",
    "user",  "prompt_cache_key"};

// Members that make up the prompt, in the order in which their text leads.
constexpr std::array<std::string_view, 4> prompt_names = {"instructions", "messages", "prompt", "input"};

// The text of one member as far as it can be seen without judging it: a string, ids, messages, or arrays of these.
class PromptSketch {
  public:
    static constexpr int levels_max = 8;

    explicit PromptSketch(std::size_t leading_bytes_max) : leading_bytes_max_(leading_bytes_max) {}

    // Deeper arrays than any prompt has say nothing.
    bool take(JsonCursor& cursor, int levels = levels_max) {
        switch (cursor.peek()) {
            case JsonKind::array:
                if (levels == 0) return cursor.skip();
                return cursor.elements([&] { return take(cursor, levels - 1); });
            case JsonKind::object:
                return take_message(cursor);
            default:
                break;
        }
        JsonValue value;
        if (!cursor.take(value)) return false;
        if (value.kind == JsonKind::string) {
            bytes_ += value.text.bytes;
            lead(leading_, value.text);
        } else if (value.kind == JsonKind::number) {
            add_id(value.raw);
        }
        return true;
    }

    std::string& leading() { return leading_; }
    std::size_t tokens() const { return tokens_ + bytes_ / 4; }

  private:
    // Role and content may come in any order and more than once.
    bool take_message(JsonCursor& cursor) {
        JsonText role;
        JsonText content;
        std::string parts;  // what leads of them, where content is a list of such
        std::size_t bytes = 0;
        const bool taken = cursor.members([&](const JsonText& key) {
            const bool is_content = key.is("content");
            if (is_content) {
                content = {};
                parts.clear();
                bytes = 0;
                if (cursor.peek() == JsonKind::array)
                    return cursor.elements([&] { return take_part(cursor, parts, bytes); });
            }
            JsonValue value;
            if (!cursor.take(value)) return false;
            if (is_content) content = value.text;
            if (key.is("role")) role = value.text;
            return true;
        });
        tokens_ += message_tokens_estimate;
        bytes_ += bytes + content.bytes;
        lead(leading_, role);
        lead(leading_, "\n");
        lead(leading_, content);
        lead(leading_, parts);
        lead(leading_, "\n");
        return taken;
    }

    bool take_part(JsonCursor& cursor, std::string& parts, std::size_t& bytes) const {
        if (cursor.peek() != JsonKind::object) return cursor.skip();
        JsonText text;
        const bool taken = cursor.members([&](const JsonText& key) {
            JsonValue value;
            if (!cursor.take(value)) return false;
            if (key.is("text")) text = value.text;
            return true;
        });
        bytes += text.bytes;
        lead(parts, text);
        return taken;
    }

    void add_id(std::string_view number) {
        std::int64_t id = 0;
        const auto [end, errc] = std::from_chars(number.data(), number.data() + number.size(), id);
        if (errc != std::errc() || end != number.data() + number.size()) return;
        ++tokens_;
        if (leading_.size() < leading_bytes_max_) lead(leading_, std::to_string(id) + " ");
    }

    void lead(std::string& leading, const JsonText& text) const {
        if (leading_.size() < leading_bytes_max_) text.append_to(leading, leading_bytes_max_ - leading.size());
    }
    void lead(std::string& leading, std::string_view text) const {
        leading += text.substr(0, leading_bytes_max_ - leading.size());
    }

    std::size_t leading_bytes_max_;
    std::string leading_;
    std::size_t bytes_ = 0;
    std::size_t tokens_ = 0;
};

std::optional<std::uint64_t> integer(const JsonValue& value) {
    if (value.kind != JsonKind::number) return std::nullopt;
    std::uint64_t small = 0;
    const auto [end, errc] = std::from_chars(value.raw.data(), value.raw.data() + value.raw.size(), small);
    if (errc == std::errc() && end == value.raw.data() + value.raw.size()) return small;
    // Rare forms such as 3.0 or -1 are read as the target reads them.
    boost::system::error_code unread;
    boost::json::object object;
    object["value"] = boost::json::parse({value.raw.data(), value.raw.size()}, unread);
    const auto read = Fields(object, {}).wrapped_integer("value");
    return read ? read.value() : std::nullopt;
}

std::optional<std::uint32_t> count(const JsonValue& value) {
    const auto number = integer(value);
    if (!number || *number < 1 || *number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

}  // namespace

ApiResult<Scan> scan(std::string_view body, const Limits& limits, std::size_t leading_bytes_max) {
    if (body.size() > limits.body_bytes_max) return body_too_large(limits.body_bytes_max);
    std::array<JsonValue, slots> values;
    std::array<PromptSketch, prompt_names.size()> sketches = {
        PromptSketch(leading_bytes_max), PromptSketch(leading_bytes_max), PromptSketch(leading_bytes_max),
        PromptSketch(leading_bytes_max)};
    JsonCursor cursor(body);
    const auto take_member = [&](const JsonText& key) {
        const auto slot = std::ranges::find_if(slot_names, [&](std::string_view name) { return key.is(name); });
        if (slot != slot_names.end()) return cursor.take(values[static_cast<std::size_t>(slot - slot_names.begin())]);
        const auto part = std::ranges::find_if(prompt_names, [&](std::string_view name) { return key.is(name); });
        if (part == prompt_names.end()) return cursor.skip();
        PromptSketch& sketch = sketches[static_cast<std::size_t>(part - prompt_names.begin())];
        sketch = PromptSketch(leading_bytes_max);
        return sketch.take(cursor);
    };
    const JsonKind kind = cursor.peek();
    const bool read = kind == JsonKind::object ? cursor.members(take_member) : cursor.skip();
    if (!read || !cursor.finish()) return cursor.error();
    if (kind != JsonKind::object) return wrong_type("body", "a JSON object", kind_name(kind));
    if (cursor.is_for_the_parser()) {
        BOOST_OUTCOME_TRY(parse_object(body, limits.body_bytes_max));
    }

    const JsonValue& model = values[slot_model];
    if (model.kind != JsonKind::null && model.kind != JsonKind::string)
        return wrong_type("model", "a string", kind_name(model.kind));
    Scan found;
    found.model = model.text;
    found.stream = values[slot_stream].raw == "true";
    found.seed = integer(values[slot_seed]);
    for (const Slot slot : {slot_max_completion_tokens, slot_max_tokens, slot_max_output_tokens})
        if (!found.max_tokens) found.max_tokens = count(values[slot]);
    found.n = count(values[slot_n]);
    found.user = values[slot_user].text;
    found.prompt_cache_key = values[slot_prompt_cache_key].text;
    std::size_t tokens = 0;
    for (PromptSketch& sketch : sketches) {
        if (found.leading.empty())
            found.leading = std::move(sketch.leading());
        else
            found.leading.append(sketch.leading(), 0, leading_bytes_max - found.leading.size());
        tokens += sketch.tokens();
    }
    found.prompt_tokens_estimate =
        static_cast<std::uint32_t>(std::min<std::size_t>(tokens, std::numeric_limits<std::uint32_t>::max()));
    return found;
}

}  // namespace exa::openai
