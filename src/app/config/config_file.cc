#include "app/config/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "app/config/options.h"
#include "app/shared/errc.h"

namespace exa::app::config {

namespace {

std::string_view expected(OptionType type) {
    switch (type) {
        case OptionType::text:
            return "a string in quotes";
        case OptionType::integer:
            return "a whole number without quotes";
        case OptionType::decimal:
            return "a number without quotes";
        case OptionType::boolean:
            return "true or false without quotes";
        case OptionType::list:
            return "a list of strings";
    }
    return "";
}

std::optional<std::string> joined(const toml::array& list) {
    std::string text;
    for (const toml::node& item : list) {
        if (!item.is_string()) return std::nullopt;
        text += (text.empty() ? "" : ",") + item.as_string()->get();
    }
    return text;
}

// The text of a TOML value, as the option's set() reads it; nothing when it is of another type.
std::optional<std::string> text_of(const toml::node& node, OptionType type) {
    const auto* const text = node.as_string();
    const auto* const list = node.as_array();
    switch (type) {
        case OptionType::text:
            return text != nullptr ? std::optional(text->get()) : std::nullopt;
        case OptionType::decimal:
            if (node.is_floating_point()) return fmt::format("{}", node.as_floating_point()->get());
            [[fallthrough]];
        case OptionType::integer:
            return node.is_integer() ? std::optional(std::to_string(node.as_integer()->get())) : std::nullopt;
        case OptionType::boolean:
            if (!node.is_boolean()) return std::nullopt;
            return node.as_boolean()->get() ? "true" : "false";
        case OptionType::list:
            // A list of one member may be written without brackets, or as on the command line.
            if (text != nullptr) return text->get();
            return list != nullptr ? joined(*list) : std::nullopt;
    }
    return std::nullopt;
}

// As it stands in the file, shortened.
std::string shown(const toml::node& node) {
    std::ostringstream out;
    node.visit([&out](const auto& value) { out << value; });
    const std::string text = out.str();
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

Result<void> read_table(std::vector<Setting>& settings, const toml::table& table, const std::string& prefix,
                        const std::string& path) {
    for (const auto& [key, node] : table) {
        const std::string name = prefix + std::string(key.str());
        if (const auto* inner = node.as_table()) {
            EXA_TRY(read_table(settings, *inner, name + ".", path));
            continue;
        }
        const std::string place = fmt::format("{}:{}", path, node.source().begin.line);
        const PeerOption* const option = find_option(name);
        if (option == nullptr) return error(shared::errc::usage, fmt::format("{}: unknown key '{}'", place, name));
        auto text = text_of(node, option->type);
        if (!text)
            return error(shared::errc::usage,
                         fmt::format("{}: {}: {} is not {}", place, name, shown(node), expected(option->type)));
        settings.push_back({name, *std::move(text), place});
    }
    return success();
}

}  // namespace

Result<std::vector<Setting>> read_config_file(const std::string& path) {
    toml::table table;
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown) && !std::filesystem::is_fifo(path, unknown))
        return error(shared::errc::usage, path + ": not a file");
    try {
        table = toml::parse_file(path);
    } catch (const toml::parse_error& bad_toml) {
        return error(shared::errc::usage,
                     fmt::format("{}:{}: {}", path, bad_toml.source().begin.line, bad_toml.description()));
    }
    std::vector<Setting> settings;
    EXA_TRY(read_table(settings, table, "", path));
    return settings;
}

}  // namespace exa::app::config
