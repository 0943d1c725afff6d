// Option: one value of a configuration struct that an operator can set, described once.
//
// A folder that has a struct Config lists its options as std::vector<Option<Config>>. Everything else is made from that
// list: the type that a TOML file must use, the command line's flags, the range check, the help text and the reference
// page. A default stands only in the struct (it is read from a default-constructed one), a range only in the list.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace exa {

// What a TOML file writes.
enum class OptionType : std::uint8_t { text, integer, decimal, boolean, list };

template <class Config>
struct Option {
    std::string name;  // "probe_interval_ms"; with its table "membership.probe_interval_ms"
    OptionType type = OptionType::text;
    std::string placeholder;   // stands for a value in help: "HOST:PORT"
    std::string unit;          // "milliseconds"; empty: none
    std::string range;         // "0 to 64", "full or hash"; empty: not limited
    std::string help;          // what it means, for a reader who reads nothing else; full sentences
    std::string default_note;  // how a default comes about that depends on other things; empty: it is the struct's
    bool is_live = false;      // whether it can change while the peer runs
    // Returns what is wrong with the text ("'65' is not a whole number from 0 to 64"), and then changes nothing; empty:
    // set.
    std::function<std::string(Config&, std::string_view)> set;
    // Text that set() takes.
    std::function<std::string(const Config&)> get;

    Option live() && {
        is_live = true;
        return std::move(*this);
    }
    Option defaults_to(std::string_view note) && {
        default_note = note;
        return std::move(*this);
    }
};

// "'TEXT' is not ACCEPTED".
inline std::string bad_value(std::string_view text, std::string_view accepted) {
    return "'" + std::string(text) + "' is not " + std::string(accepted);
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), number);
    return errc == std::errc{} && end == text.data() + text.size();
}

// Any value that has a text of its own. `parse` returns what is wrong, or an empty string and the value.
template <class Config, class Value>
Option<Config> parsed(std::string_view name, OptionType type, std::string_view placeholder, Value Config::* field,
                      std::function<std::string(std::string_view, Value&)> parse,
                      std::function<std::string(const Value&)> print, std::string_view help) {
    Option<Config> option;
    option.name = name;
    option.type = type;
    option.placeholder = placeholder;
    option.help = help;
    option.set = [field, parse = std::move(parse)](Config& config, std::string_view text) {
        Value value = config.*field;
        std::string problem = parse(text, value);
        if (problem.empty()) config.*field = std::move(value);
        return problem;
    };
    option.get = [field, print = std::move(print)](const Config& config) { return print(config.*field); };
    return option;
}

// `unit` is "MiB", "percent"; empty: a count. `step`: only multiples of it.
template <class Config, class Number>
Option<Config> whole_number(std::string_view name, std::string_view placeholder, std::string_view unit,
                            Number Config::* field, std::uint64_t least, std::uint64_t most, std::string_view help,
                            std::uint64_t step = 1) {
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    const std::string accepted =
        step == 1 ? "a whole number from " + range : "a multiple of " + std::to_string(step) + " from " + range;
    auto option = parsed<Config, Number>(
        name, OptionType::integer, placeholder, field,
        [=](std::string_view text, Number& value) {
            std::uint64_t number = 0;
            if (!parse_number(text, number) || number < least || number > most || number % step != 0)
                return bad_value(text, accepted);
            value = static_cast<Number>(number);
            return std::string();
        },
        [](const Number& value) { return std::to_string(value); }, help);
    option.unit = unit;
    option.range = step == 1 ? range : range + ", a multiple of " + std::to_string(step);
    return option;
}

template <class Unit>
constexpr std::pair<std::string_view, std::string_view> unit_and_placeholder() {
    if constexpr (std::is_same_v<Unit, std::chrono::microseconds>) return {"microseconds", "US"};
    if constexpr (std::is_same_v<Unit, std::chrono::milliseconds>) return {"milliseconds", "MS"};
    if constexpr (std::is_same_v<Unit, std::chrono::seconds>) return {"seconds", "S"};
    if constexpr (std::is_same_v<Unit, std::chrono::hours>) return {"hours", "H"};
}

// The unit is that of `least`, and stands at the end of the name.
template <class Config, class Time, class Unit>
Option<Config> duration(std::string_view name, Time Config::* field, Unit least, std::type_identity_t<Unit> most,
                        std::string_view help) {
    const auto [unit, placeholder] = unit_and_placeholder<Unit>();
    const std::string range = std::to_string(least.count()) + " to " + std::to_string(most.count());
    auto option = parsed<Config, Time>(
        name, OptionType::integer, placeholder, field,
        [=](std::string_view text, Time& value) {
            std::int64_t number = 0;
            if (!parse_number(text, number) || Unit(number) < least || Unit(number) > most)
                return bad_value(text, "a whole number from " + range);
            value = std::chrono::duration_cast<Time>(Unit(number));
            return std::string();
        },
        [](const Time& value) { return std::to_string(std::chrono::duration_cast<Unit>(value).count()); }, help);
    option.unit = unit;
    option.range = range;
    return option;
}

template <class Config>
Option<Config> decimal(std::string_view name, double Config::* field, double least, double most,
                       std::string_view help) {
    const auto text_of = [](double value) {
        char text[32];
        return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
    };
    const std::string range = text_of(least) + " to " + text_of(most);
    auto option = parsed<Config, double>(
        name, OptionType::decimal, "N", field,
        [=](std::string_view text, double& value) {
            double number = 0;
            if (!parse_number(text, number) || !(number >= least && number <= most))
                return bad_value(text, "a number from " + range);
            value = number;
            return std::string();
        },
        text_of, help);
    option.range = range;
    return option;
}

template <class Config>
Option<Config> flag(std::string_view name, bool Config::* field, std::string_view help) {
    auto option = parsed<Config, bool>(
        name, OptionType::boolean, "BOOL", field,
        [](std::string_view text, bool& value) {
            if (text != "true" && text != "false") return bad_value(text, "true or false");
            value = text == "true";
            return std::string();
        },
        [](const bool& value) { return std::string(value ? "true" : "false"); }, help);
    option.range = "true or false";
    return option;
}

// One of a few words.
template <class Config, class Enum>
Option<Config> choice(std::string_view name, std::string_view placeholder, Enum Config::* field,
                      std::vector<std::pair<std::string_view, std::type_identity_t<Enum>>> words,
                      std::string_view help) {
    std::string accepted;
    for (const auto& [word, value] : words) {
        if (!accepted.empty()) accepted += &word == &words.back().first ? " or " : ", ";
        accepted += word;
    }
    auto option = parsed<Config, Enum>(
        name, OptionType::text, placeholder, field,
        [words, accepted](std::string_view text, Enum& value) {
            for (const auto& [word, meaning] : words)
                if (word == text) {
                    value = meaning;
                    return std::string();
                }
            return bad_value(text, accepted);
        },
        [words](const Enum& value) {
            for (const auto& [word, meaning] : words)
                if (meaning == value) return std::string(word);
            return std::string();
        },
        help);
    option.range = accepted;
    return option;
}

// The default as it is told; empty: there is none.
template <class Config>
std::string default_text(const Option<Config>& option) {
    return option.default_note.empty() ? option.get(Config{}) : option.default_note;
}

// What --help and the reference page say of an option: meaning, unit, range, default, and whether it can change live.
template <class Config>
std::string describe(const Option<Config>& option) {
    std::string text = option.help;
    const auto add = [&text](std::string sentence) { text += (text.empty() ? "" : " ") + std::move(sentence) + "."; };
    if (!option.unit.empty()) {
        std::string unit = option.unit;
        if (unit[0] >= 'a' && unit[0] <= 'z') unit[0] = static_cast<char>(unit[0] - 'a' + 'A');
        add(std::move(unit) + (option.range.empty() ? "" : ", " + option.range));
    } else if (!option.range.empty()) {
        add("Range: " + option.range);
    }
    const std::string standard = default_text(option);
    add("Default: " + (standard.empty() ? "none" : standard));
    if (option.is_live) add("Can change live");
    return text;
}

// Adds the options of a part of a configuration to those of the whole, each named after its table.
template <class Outer, class Inner>
void append_table(std::vector<Option<Outer>>& all, std::string_view table, Inner Outer::* part,
                  const std::vector<Option<Inner>>& options) {
    for (const Option<Inner>& inner : options) {
        Option<Outer> outer;
        outer.name = std::string(table) + "." + inner.name;
        outer.type = inner.type;
        outer.placeholder = inner.placeholder;
        outer.unit = inner.unit;
        outer.range = inner.range;
        outer.help = inner.help;
        outer.default_note = inner.default_note;
        outer.is_live = inner.is_live;
        outer.set = [part, set = inner.set](Outer& config, std::string_view text) { return set(config.*part, text); };
        outer.get = [part, get = inner.get](const Outer& config) { return get(config.*part); };
        all.push_back(std::move(outer));
    }
}

// The first value out of its range, as "NAME: 'VALUE' is not ..."; empty: all are within theirs. For values that did
// not come from text.
template <class Config>
std::string find_out_of_range(const std::vector<Option<Config>>& options, const Config& config) {
    Config scratch = config;
    for (const Option<Config>& option : options)
        if (const std::string problem = option.set(scratch, option.get(config)); !problem.empty())
            return option.name + ": " + problem;
    return {};
}

}  // namespace exa
