#include "exaserve/api_keys.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <filesystem>
#include <span>
#include <utility>

#include "app/access/api_key_file.h"
#include "app/shared/text_file.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "io/crypto/openssl_crypto.h"
#include "io/random.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

struct Opened {
    std::string text;
    app::access::ApiKeyFile file;
};

// A file that is to be made is empty.
Outcome<Opened> open_file(const std::string& path, bool may_be_new) {
    Opened opened;
    std::error_code failed;
    if (may_be_new && !std::filesystem::exists(path, failed) && !failed) return opened;
    auto text = app::shared::read_text_file(path, app::access::api_key_file_bytes_max);
    if (!text) return Failure{exit_usage, text.error().detail};
    auto file = app::access::parse_api_key_file(text.value());
    if (!file) return Failure{exit_usage, path + ": " + file.error().detail};
    opened.text = std::move(text).value();
    opened.file = std::move(file).value();
    return opened;
}

Outcome<void> write_file(const std::string& path, const std::string& text) {
    // What a peer would refuse must not get there.
    if (const auto file = app::access::parse_api_key_file(text); !file)
        return Failure{exit_usage, path + " would be wrong: " + file.error().detail};
    if (const auto done = app::shared::replace_text_file(path, text); !done)
        return Failure{exit_data_dir, done.error().detail};
    return boost::outcome_v2::success();
}

bool is_known(const app::access::ApiKeyFile& file, app::access::ApiKeyId id) {
    return std::ranges::binary_search(file.keys, id, {}, &app::access::ApiKeyEntry::id);
}

app::access::ApiKey fresh_api_key(const app::access::ApiKeyFile& file) {
    app::access::ApiKey key;
    io::fill_random(key.secret);
    do {
        key.id.value = static_cast<std::uint32_t>(io::random_u64());
    } while (is_known(file, key.id));
    return key;
}

Outcome<std::string> create(const ApiKeysOptions& options, const Opened& opened) {
    if (options.tenant.empty() && !options.admin)
        return Failure{exit_usage, "name the tenant of the key with --tenant, or make an operator's with --admin"};
    if (!options.tenant.empty() && !app::access::is_tenant_name(options.tenant))
        return Failure{exit_usage, "--tenant: '" + printable(options.tenant) + "' is no name of a tenant, which is " +
                                       std::string(app::access::tenant_name_rule)};
    const app::access::ApiKey key = fresh_api_key(opened.file);
    app::access::ApiKeyEntry entry{key.id, options.tenant, {}, options.admin};
    std::array<std::uint8_t, 16> salt{};
    io::fill_random(salt);
    entry.hash = app::access::hash_api_key(io::crypto::OpenSslCrypto(), key, salt);
    BOOST_OUTCOME_TRY(write_file(options.file, app::access::with_api_key(opened.text, opened.file, entry)));
    const std::string text = app::access::format_api_key(key);
    if (!options.target.json) return text + "\n";
    return json::serialize(json::object{
               {"id", to_string(key.id)}, {"tenant", options.tenant}, {"admin", options.admin}, {"key", text}}) +
           "\n";
}

std::string limit_text(std::uint64_t limit) {
    return limit == 0 ? "-" : std::to_string(limit);
}

std::string models_text(const app::access::Tenant& tenant) {
    if (!tenant.models) return "all";
    std::string text;
    for (const std::string& model : *tenant.models) text += (text.empty() ? "" : ", ") + model;
    return text.empty() ? "none" : text;
}

std::string list_text(const app::access::ApiKeyFile& file, Style style) {
    Table keys({{"KEY"}, {"TENANT"}, {"ADMIN"}});
    for (const app::access::ApiKeyEntry& key : file.keys)
        keys.add_row({to_string(key.id), key.tenant.empty() ? "-" : key.tenant, key.admin ? "yes" : "-"});
    Table tenants({{"TENANT"},
                   {"REQUESTS/MIN", Align::right},
                   {"TOKENS/MIN", Align::right},
                   {"TOKENS/DAY", Align::right},
                   {"PRIORITY"},
                   {"MODELS"}});
    for (const app::access::Tenant& tenant : file.tenants)
        tenants.add_row({tenant.name, limit_text(tenant.limits.requests_per_minute),
                         limit_text(tenant.limits.tokens_per_minute), limit_text(tenant.limits.tokens_per_day),
                         std::string(app::access::to_string(tenant.priority)), models_text(tenant)});
    return keys.render(style) + "\n" + tenants.render(style);
}

json::value limit_json(std::uint64_t limit) {
    return limit == 0 ? json::value(nullptr) : json::value(limit);
}

json::object list_json(const app::access::ApiKeyFile& file) {
    json::array keys;
    for (const app::access::ApiKeyEntry& key : file.keys)
        keys.push_back(json::object{{"id", to_string(key.id)}, {"tenant", key.tenant}, {"admin", key.admin}});
    json::array tenants;
    for (const app::access::Tenant& tenant : file.tenants) {
        json::value models = nullptr;
        if (tenant.models) models = json::array(tenant.models->begin(), tenant.models->end());
        tenants.push_back(json::object{{"name", tenant.name},
                                       {"models", std::move(models)},
                                       {"requests_per_minute", limit_json(tenant.limits.requests_per_minute)},
                                       {"tokens_per_minute", limit_json(tenant.limits.tokens_per_minute)},
                                       {"tokens_per_day", limit_json(tenant.limits.tokens_per_day)},
                                       {"burst_seconds", tenant.limits.burst_seconds},
                                       {"priority", app::access::to_string(tenant.priority)}});
    }
    return {{"keys", std::move(keys)}, {"tenants", std::move(tenants)}};
}

Outcome<std::string> revoke(const ApiKeysOptions& options, const Opened& opened) {
    const auto id = app::access::parse_api_key_id(options.id);
    if (!id || !is_known(opened.file, *id))
        return Failure{exit_usage, "'" + printable(options.id) + "' is no key of " + options.file +
                                       "; 'exaserve apikeys list' shows them"};
    const auto text = app::access::without_api_key(opened.text, *id);
    if (!text) return Failure{exit_usage, options.file + ": " + text.error().detail};
    BOOST_OUTCOME_TRY(write_file(options.file, text.value()));
    if (options.target.json) return json::serialize(json::object{{"id", options.id}}) + "\n";
    return "revoked " + options.id + "; peers that have this file refuse it a second from now\n";
}

}  // namespace

void describe(CLI::App& command, ApiKeysOptions& options) {
    command.require_subcommand(1);
    const auto add = [&](const char* name, ApiKeysAction action, const char* help) {
        CLI::App* sub = command.add_subcommand(name, help);
        sub->callback([&options, action] { options.action = action; });
        sub->add_option("--file", options.file, "The file named by security.api_keys_file")
            ->type_name("FILE")
            ->required();
        sub->add_flag("--json", options.target.json, "Print JSON");
        return sub;
    };
    CLI::App* const create =
        add("create", ApiKeysAction::create, "Create a key and print it once; the file keeps only its hash");
    create
        ->add_option("--tenant", options.tenant,
                     "Tenant that the key belongs to; a new tenant may use every model without limits")
        ->type_name("NAME");
    create->add_flag("--admin", options.admin, "Make it an admin key, for the cluster's operators");
    add("list", ApiKeysAction::list, "List the ids of the keys, and the tenants");
    add("revoke", ApiKeysAction::revoke, "Remove a key from the file")
        ->add_option("id", options.id, "Id of the key: the 8 digits after sk-exa-")
        ->type_name("ID")
        ->required();
    command.footer(
        "Peers read the file again when it changes; copy it to every node. You write there what tenants may "
        "do:\n\n"
        "  [tenants.acme]\n"
        "  models = [\"SmolLM2-135M-Instruct\", \"llama-*\"]   # default: all\n"
        "  requests_per_minute = 600                         # default of each limit: none\n"
        "  tokens_per_minute = 100_000\n"
        "  tokens_per_day = 20_000_000\n"
        "  burst_seconds = 10            # so much of the rates at once; default 10, at most 3600\n"
        "  priority = \"high\"             # high, normal (default) or low\n\n"
        "Example:\n"
        "  exaserve apikeys create --file /etc/exaserve/api-keys.toml --tenant acme\n"
        "  exaserve apikeys create --file /etc/exaserve/api-keys.toml --admin\n"
        "  exaserve peer --security-api-keys-file /etc/exaserve/api-keys.toml");
}

Outcome<std::string> ask(const ApiKeysOptions& options, Style style) {
    BOOST_OUTCOME_TRY(const Opened opened, open_file(options.file, options.action == ApiKeysAction::create));
    switch (options.action) {
        case ApiKeysAction::create:
            return create(options, opened);
        case ApiKeysAction::revoke:
            return revoke(options, opened);
        case ApiKeysAction::list:
            break;
    }
    return options.target.json ? json::serialize(list_json(opened.file)) + "\n" : list_text(opened.file, style);
}

}  // namespace exa::cli
