#include "app/access/api_key_authorizer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/replica/warm_up_header.h"

namespace exa::app::access {

namespace {

// RFC 6750, section 2.1; clients of Azure's flavour of the API send api-key, those of Anthropic's x-api-key.
std::optional<std::string_view> credential(const io::http::HttpHeaders& headers) {
    if (const auto field = headers.find("authorization")) {
        constexpr std::string_view scheme = "bearer ";
        if (field->size() <= scheme.size() || !io::http::equal_without_case(field->substr(0, scheme.size()), scheme))
            return std::nullopt;
        const std::size_t first = field->find_first_not_of(' ', scheme.size());
        return first == field->npos ? std::nullopt : std::optional(field->substr(first));
    }
    for (const std::string_view name : {"api-key", "x-api-key"})
        if (const auto field = headers.find(name)) return field;
    return std::nullopt;
}

// Where a tenant stands in the file.
std::optional<std::size_t> find_tenant(const ApiKeyFile& file, std::string_view name) {
    const auto found = std::ranges::lower_bound(file.tenants, name, {}, &Tenant::name);
    if (found == file.tenants.end() || found->name != name) return std::nullopt;
    return static_cast<std::size_t>(found - file.tenants.begin());
}

openai::ApiError too_many(const router::Shortage& shortage, const router::TenantLimits& limits) {
    // At least one: "0" reads as "at once".
    const auto wait_ms = static_cast<std::uint32_t>(
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(shortage.wait).count()));
    switch (shortage.what) {
        case router::Scarce::requests:
            return openai::rate_limited("requests", limits.requests_per_minute, wait_ms);
        case router::Scarce::tokens:
            return openai::rate_limited("tokens", limits.tokens_per_minute, wait_ms);
        case router::Scarce::quota:
            break;
    }
    return openai::quota_exceeded("it allows " + std::to_string(limits.tokens_per_day) + " tokens a day (UTC)");
}

}  // namespace

ApiKeyAuthorizer::ApiKeyAuthorizer(const Crypto& crypto, const io::clock::SystemClock& clock,
                                   std::string warm_up_secret, ApiKeyFile file)
    : crypto_(crypto),
      clock_(clock),
      warm_up_secret_(std::move(warm_up_secret)),
      state_(next_state(std::move(file), nullptr)) {}

std::shared_ptr<const ApiKeyAuthorizer::State> ApiKeyAuthorizer::next_state(ApiKeyFile file, const State* before) {
    auto state = std::make_shared<State>();
    state->file = std::move(file);
    for (const Tenant& tenant : state->file.tenants) {
        const auto known = before == nullptr ? std::nullopt : find_tenant(before->file, tenant.name);
        if (!known) {
            state->accounts.push_back(std::make_shared<Account>(tenant.limits));
            continue;
        }
        state->accounts.push_back(before->accounts[*known]);
        const std::lock_guard lock(state->accounts.back()->mutex);
        state->accounts.back()->budget.set_limits(tenant.limits);
    }
    for (const ApiKeyEntry& key : state->file.keys) {
        const auto tenant = find_tenant(state->file, key.tenant);
        state->key_tenants.push_back(tenant ? &state->file.tenants[*tenant] : nullptr);
    }
    return state;
}

void ApiKeyAuthorizer::replace(ApiKeyFile file) {
    state_.store(next_state(std::move(file), state_.load().get()));
}

std::optional<std::size_t> ApiKeyAuthorizer::find_key(const ApiKeyFile& file,
                                                      std::optional<std::string_view> text) const {
    const auto key = text ? parse_api_key(*text) : std::nullopt;
    if (!key) return std::nullopt;
    const auto found = std::ranges::lower_bound(file.keys, key->id, {}, &ApiKeyEntry::id);
    if (found == file.keys.end() || found->id != key->id || !matches(crypto_, found->hash, *key)) return std::nullopt;
    return static_cast<std::size_t>(found - file.keys.begin());
}

openai::ApiResult<Caller> ApiKeyAuthorizer::check(const io::http::HttpRequest& request, const Route& route) {
    if (route.access == Access::anyone) return Caller{};
    // The ingress looks at the header again, and goes nowhere but to that replica.
    if (route.resource == Resource::answer && replica::warm_up_target(request, warm_up_secret_)) return Caller{};
    const auto state = state_.load();
    const auto key = find_key(state->file, credential(request.headers));
    if (!key) return openai::unauthorized();
    if (route.access != Access::client && !state->file.keys[*key].admin)
        return openai::forbidden("may not operate the cluster: that takes an admin's key");
    if (const Tenant* tenant = state->key_tenants[*key]) return Caller{tenant->name, tenant->priority};
    if (route.access == Access::client) return openai::forbidden("belongs to no tenant: it operates the cluster only");
    return Caller{};
}

std::optional<std::string> ApiKeyAuthorizer::tenant_of_key(std::string_view text) const {
    const auto state = state_.load();
    const auto key = find_key(state->file, text);
    if (!key || state->key_tenants[*key] == nullptr) return std::nullopt;
    return state->key_tenants[*key]->name;
}

bool ApiKeyAuthorizer::may_use(const Caller& caller, std::string_view model) {
    const auto state = state_.load();
    const auto tenant = find_tenant(state->file, caller.tenant);
    return tenant && app::access::may_use(state->file.tenants[*tenant], model);
}

openai::ApiResult<void> ApiKeyAuthorizer::permits(std::string_view tenant, std::string_view model) {
    const auto state = state_.load();
    const auto at = find_tenant(state->file, tenant);
    if (!at) return openai::out_of_range("tenant", tenant, "a tenant of security.api_keys_file");
    if (app::access::may_use(state->file.tenants[*at], model)) return boost::outcome_v2::success();
    openai::ApiError error = openai::forbidden("");
    error.message = "The tenant '" + std::string(tenant) + "' may not use the model '" + std::string(model) +
                    "'; 'models' of the tenant in security.api_keys_file says which it may.";
    return error;
}

openai::ApiResult<void> ApiKeyAuthorizer::admit(const Caller& caller, std::string_view model,
                                                std::uint64_t prompt_tokens) {
    const auto state = state_.load();
    const auto at = find_tenant(state->file, caller.tenant);
    // Taken out of the file while the request's body was read.
    if (!at) return openai::unauthorized();
    const Tenant& tenant = state->file.tenants[*at];
    if (!app::access::may_use(tenant, model))
        return openai::forbidden("may not use the model '" + std::string(model) + "'");
    Account& account = *state->accounts[*at];
    std::optional<router::Shortage> shortage;
    {
        const std::lock_guard lock(account.mutex);
        shortage = account.budget.admit(clock_.now(), clock_.wall(), prompt_tokens);
    }
    if (shortage) return too_many(*shortage, tenant.limits);
    return boost::outcome_v2::success();
}

void ApiKeyAuthorizer::spend(std::string_view tenant, std::uint64_t tokens) {
    const auto state = state_.load();
    const auto at = find_tenant(state->file, tenant);
    if (!at || tokens == 0) return;
    Account& account = *state->accounts[*at];
    const std::lock_guard lock(account.mutex);
    account.budget.spend(clock_.now(), clock_.wall(), tokens);
}

std::vector<TenantUse> ApiKeyAuthorizer::use() const {
    const auto state = state_.load();
    std::vector<TenantUse> use;
    for (std::size_t at = 0; at < state->accounts.size(); ++at) {
        const Tenant& tenant = state->file.tenants[at];
        if (tenant.limits.tokens_per_day == 0) continue;
        const std::lock_guard lock(state->accounts[at]->mutex);
        use.push_back({tenant.name, state->accounts[at]->budget.day_use()});
    }
    return use;
}

void ApiKeyAuthorizer::add_use(const std::vector<TenantUse>& use) {
    const auto state = state_.load();
    for (const TenantUse& of : use) {
        const auto at = find_tenant(state->file, of.tenant);
        if (!at) continue;
        const std::lock_guard lock(state->accounts[*at]->mutex);
        state->accounts[*at]->budget.add_use(of.use);
    }
}

}  // namespace exa::app::access
