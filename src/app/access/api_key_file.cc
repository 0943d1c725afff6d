#include "app/access/api_key_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "app/shared/errc.h"

namespace exa::app::access {

namespace {

constexpr std::array priorities = {std::pair{std::string_view("high"), wire::Priority::high},
                                   std::pair{std::string_view("normal"), wire::Priority::normal},
                                   std::pair{std::string_view("low"), wire::Priority::low}};
constexpr std::uint64_t tokens_per_day_max = 1'000'000'000'000'000;
constexpr std::uint32_t burst_seconds_max = 3600;

Error wrong(const toml::node& node, std::string_view what) {
    return error(shared::errc::usage, fmt::format("line {}: {}", node.source().begin.line, what));
}

// One table of the file; its members are asked for by name.
class Section {
  public:
    Section(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

    // A misspelt limit must not be no limit.
    Result<void> check_names(std::span<const std::string_view> known) const {
        for (const auto& [key, node] : table_)
            if (std::ranges::find(known, key.str()) == known.end())
                return wrong(node, fmt::format("unknown key '{}.{}'", name_, key.str()));
        return success();
    }

    template <class Number>
    Result<void> read(std::string_view key, std::uint64_t least, std::uint64_t most, Number& out) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) return success();
        const auto* number = node->as_integer();
        if (number == nullptr || number->get() < 0 || static_cast<std::uint64_t>(number->get()) < least ||
            static_cast<std::uint64_t>(number->get()) > most)
            return wrong(*node, fmt::format("{}.{} is not a whole number from {} to {}", name_, key, least, most));
        out = static_cast<Number>(number->get());
        return success();
    }

    Result<void> read(std::string_view key, std::string& out) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) return success();
        if (!node->is_string()) return wrong(*node, fmt::format("{}.{} is not a string", name_, key));
        out = node->as_string()->get();
        return success();
    }

    Result<void> read(std::string_view key, bool& out) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) return success();
        if (!node->is_boolean()) return wrong(*node, fmt::format("{}.{} is not true or false", name_, key));
        out = node->as_boolean()->get();
        return success();
    }

    Result<void> read(std::string_view key, std::optional<std::vector<std::string>>& out) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) return success();
        const auto bad = [&] { return wrong(*node, fmt::format("{}.{} is not a list of strings", name_, key)); };
        if (!node->is_array()) return bad();
        out.emplace();
        for (const toml::node& item : *node->as_array()) {
            if (!item.is_string()) return bad();
            out->push_back(item.as_string()->get());
        }
        return success();
    }

    // Of a value that was read, or of the table when it is absent.
    Error wrong_value(std::string_view key, std::string_view what) const {
        const toml::node* node = table_.get(key);
        return wrong(node == nullptr ? static_cast<const toml::node&>(table_) : *node,
                     fmt::format("{}.{} {}", name_, key, what));
    }

  private:
    const toml::table& table_;
    std::string name_;
};

Result<Tenant> parse_tenant(const toml::key& name, const toml::table& table) {
    static constexpr std::array<std::string_view, 6> known = {
        "models", "requests_per_minute", "tokens_per_minute", "tokens_per_day", "burst_seconds", "priority"};
    Tenant tenant;
    tenant.name = name.str();
    if (!is_tenant_name(tenant.name))
        return wrong(
            table, fmt::format("tenant '{}' is not {}", std::string_view(tenant.name).substr(0, 64), tenant_name_rule));
    const Section section(table, "tenants." + tenant.name);
    EXA_TRY(section.check_names(known));
    EXA_TRY(section.read("models", tenant.models));
    router::TenantLimits& limits = tenant.limits;
    EXA_TRY(section.read("requests_per_minute", 1, router::RateMeter::per_minute_max, limits.requests_per_minute));
    EXA_TRY(section.read("tokens_per_minute", 1, router::RateMeter::per_minute_max, limits.tokens_per_minute));
    EXA_TRY(section.read("tokens_per_day", 1, tokens_per_day_max, limits.tokens_per_day));
    EXA_TRY(section.read("burst_seconds", 1, burst_seconds_max, limits.burst_seconds));
    std::string priority(to_string(tenant.priority));
    EXA_TRY(section.read("priority", priority));
    const auto* const found = std::ranges::find(priorities, priority, [](const auto& named) { return named.first; });
    if (found == priorities.end()) return section.wrong_value("priority", "is not high, normal or low");
    tenant.priority = found->second;
    return tenant;
}

Result<ApiKeyEntry> parse_key(const toml::table& table, const std::vector<Tenant>& tenants) {
    static constexpr std::array<std::string_view, 4> known = {"id", "tenant", "hash", "admin"};
    ApiKeyEntry key;
    const Section section(table, "keys");
    EXA_TRY(section.check_names(known));
    std::string id;
    std::string hash;
    EXA_TRY(section.read("id", id));
    EXA_TRY(section.read("tenant", key.tenant));
    EXA_TRY(section.read("hash", hash));
    EXA_TRY(section.read("admin", key.admin));
    const auto parsed_id = parse_api_key_id(id);
    if (!parsed_id) return section.wrong_value("id", "is not 8 hexadecimal digits in lower case");
    const auto parsed_hash = parse_api_key_hash(hash);
    // The text is not shown: it may be a key that somebody put there as it is.
    if (!parsed_hash) return section.wrong_value("hash", "is not sha256:<32 digits>:<64 digits>");
    key.id = *parsed_id;
    key.hash = *parsed_hash;
    if (key.tenant.empty() && !key.admin) return section.wrong_value("tenant", "is missing, and the key is no admin's");
    if (!key.tenant.empty() && !std::ranges::binary_search(tenants, key.tenant, {}, &Tenant::name))
        return section.wrong_value("tenant", fmt::format("'{}' is not in the file", key.tenant.substr(0, 64)));
    return key;
}

Result<ApiKeyFile> parse_tables(const toml::table& table) {
    ApiKeyFile file;
    for (const auto& [name, node] : table)
        if (name.str() != "tenants" && name.str() != "keys")
            return wrong(node, fmt::format("unknown key '{}'; [tenants.NAME] and [[keys]] are known", name.str()));
    if (const toml::node* tenants = table.get("tenants")) {
        if (!tenants->is_table()) return wrong(*tenants, "tenants is not a table");
        for (const auto& [name, node] : *tenants->as_table()) {
            if (!node.is_table()) return wrong(node, fmt::format("tenants.{} is not a table", name.str()));
            EXA_TRY(auto tenant, parse_tenant(name, *node.as_table()));
            file.tenants.push_back(std::move(tenant));
        }
        std::ranges::sort(file.tenants, {}, &Tenant::name);
    }
    if (const toml::node* keys = table.get("keys")) {
        if (!keys->is_array()) return wrong(*keys, "keys is not a list of tables");
        for (const toml::node& node : *keys->as_array()) {
            if (!node.is_table()) return wrong(node, "keys is not a list of tables");
            EXA_TRY(auto key, parse_key(*node.as_table(), file.tenants));
            file.keys.push_back(std::move(key));
        }
        std::ranges::sort(file.keys, {}, &ApiKeyEntry::id);
        const auto twin = std::ranges::adjacent_find(file.keys, {}, &ApiKeyEntry::id);
        if (twin != file.keys.end()) return wrong(*keys, fmt::format("two keys have the id {}", to_string(twin->id)));
    }
    return file;
}

std::string_view without_blanks(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = line.find_first_not_of(blanks);
    if (first == line.npos) return {};
    return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
}

}  // namespace

Result<ApiKeyFile> parse_api_key_file(std::string_view text) {
    toml::table table;
    try {
        table = toml::parse(text);
    } catch (const toml::parse_error& bad_toml) {
        return error(shared::errc::usage,
                     fmt::format("line {}: {}", bad_toml.source().begin.line, bad_toml.description()));
    }
    return parse_tables(table);
}

bool is_tenant_name(std::string_view text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !text.empty() && text.size() <= 63 && text.find_first_not_of(plain) == text.npos;
}

bool may_use(const Tenant& tenant, std::string_view model) {
    if (!tenant.models) return true;
    return std::ranges::any_of(*tenant.models, [&](std::string_view pattern) {
        return pattern.ends_with('*') ? model.starts_with(pattern.substr(0, pattern.size() - 1)) : model == pattern;
    });
}

std::string_view to_string(wire::Priority priority) {
    for (const auto& [name, value] : priorities)
        if (value == priority) return name;
    return "unknown";
}

std::string with_api_key(std::string_view text, const ApiKeyFile& file, const ApiKeyEntry& key) {
    std::string more(text);
    if (!more.empty() && !more.ends_with('\n')) more += '\n';
    if (!key.tenant.empty() && !std::ranges::binary_search(file.tenants, key.tenant, {}, &Tenant::name))
        more += fmt::format("{}[tenants.{}]\n", more.empty() ? "" : "\n",
                            key.tenant.find('.') == key.tenant.npos ? key.tenant : '"' + key.tenant + '"');
    more += fmt::format("{}[[keys]]\nid = \"{}\"\n", more.empty() ? "" : "\n", to_string(key.id));
    if (!key.tenant.empty()) more += fmt::format("tenant = \"{}\"\n", key.tenant);
    more += fmt::format("hash = \"{}\"\n", format_api_key_hash(key.hash));
    if (key.admin) more += "admin = true\n";
    return more;
}

Result<std::string> without_api_key(std::string_view text, ApiKeyId id) {
    std::string kept;
    std::string block;      // from a [[keys]] to the line that ends it
    bool in_block = false;  // a comment, an empty line and another table end it
    bool is_the_one = false;
    const auto end_block = [&] {
        if (!is_the_one) kept += block;
        block.clear();
        in_block = is_the_one = false;
    };
    const std::string id_text = '"' + to_string(id) + '"';
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
        rest.remove_prefix(line.size());
        const std::string_view plain = without_blanks(line.substr(0, line.find('\n')));
        if (in_block && (plain.empty() || plain.starts_with('[') || plain.starts_with('#'))) end_block();
        if (plain == "[[keys]]") in_block = true;
        (in_block ? block : kept) += line;
        if (in_block && plain.starts_with("id") && plain.ends_with(id_text)) is_the_one = true;
    }
    end_block();
    // The text was cut by its looks; the parser says whether that was the key and nothing else.
    EXA_TRY(const auto before, parse_api_key_file(text));
    const auto after = parse_api_key_file(kept);
    if (!after || after.value().keys.size() + 1 != before.keys.size() ||
        after.value().tenants.size() != before.tenants.size() ||
        std::ranges::binary_search(after.value().keys, id, {}, &ApiKeyEntry::id))
        return error(shared::errc::usage,
                     fmt::format("the key {} is not written as [[keys]] with one line each for its "
                                 "members; take it out by hand",
                                 to_string(id)));
    return kept;
}

}  // namespace exa::app::access
