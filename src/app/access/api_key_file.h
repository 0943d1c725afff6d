// ApiKeyFile: who may use a cluster's gateways, as an operator writes it down. The same file on every peer.
//
//   [tenants.acme]
//   models = ["SmolLM2-135M-Instruct", "llama-*"]   default: all; a '*' at the end stands for any text
//   requests_per_minute = 600                       default of each limit: none
//   tokens_per_minute = 100_000
//   tokens_per_day = 20_000_000
//   burst_seconds = 10                              so much of the two rates may come at once; default 10, at most 3600
//   priority = "high"                               high, normal (default) or low
//
//   [[keys]]
//   id = "1a2b3c4d"
//   tenant = "acme"                                 default: of none; such a key is for an operator only
//   hash = "sha256:<salt>:<digest>"                 see app/access/api_key.h
//   admin = true                                    may operate the cluster; default false
//
// `exaserve apikeys` adds and removes keys without touching the rest of the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/access/api_key.h"
#include "base/result.h"
#include "router/tenant_budget.h"
#include "wire/link_messages.h"

namespace exa::app::access {

struct Tenant {
    std::string name;
    std::optional<std::vector<std::string>> models;  // nothing: all of them
    router::TenantLimits limits;
    wire::Priority priority = wire::Priority::normal;
};

struct ApiKeyEntry {
    ApiKeyId id;
    std::string tenant;  // of one in the same file; empty: none, and then it is an admin's
    ApiKeyHash hash;
    bool admin = false;
};

struct ApiKeyFile {
    std::vector<Tenant> tenants;    // by name
    std::vector<ApiKeyEntry> keys;  // by id
};

inline constexpr std::size_t api_key_file_bytes_max = 16 * 1024 * 1024;

// errc::usage, with line, key, value and range; the caller names the file.
Result<ApiKeyFile> parse_api_key_file(std::string_view text);

bool may_use(const Tenant& tenant, std::string_view model);

// What a tenant's name is made of, in the words of errors.
inline constexpr std::string_view tenant_name_rule = "1 to 63 letters, digits, '-', '_' or '.'";
bool is_tenant_name(std::string_view text);

// "high", "normal", "low".
std::string_view to_string(wire::Priority priority);

// `text`, a valid file, with one more key at its end, and with its tenant when that is new.
std::string with_api_key(std::string_view text, const ApiKeyFile& file, const ApiKeyEntry& key);

// `text`, a valid file, without the lines of a key that it holds. errc::usage when they are not written one under the
// other, as with_api_key does.
Result<std::string> without_api_key(std::string_view text, ApiKeyId id);

}  // namespace exa::app::access
