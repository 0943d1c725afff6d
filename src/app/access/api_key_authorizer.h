// ApiKeyAuthorizer: admits requests with an API key, within the limits of the key's tenant.
//
// 401 without a key that is in the file, 403 for a model that is not the tenant's or administration without an admin's
// key, 429 above the tenant's rate or quota. Probes and scrapers need no key; the peer's own warm-up has its own
// secret. Budgets belong to this peer: every ingress counts for itself (docs/decisions/0015-keys-and-tenants.md).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/access/api_key_file.h"
#include "app/access/authorizer.h"
#include "app/access/tenant_use.h"
#include "base/crypto.h"
#include "io/clock/system_clock.h"
#include "router/tenant_budget.h"

namespace exa::app::access {

class ApiKeyAuthorizer final : public Authorizer {
  public:
    // `crypto` and `clock` outlive it. `warm_up_secret` as in IngressConfig.
    ApiKeyAuthorizer(const Crypto& crypto, const io::clock::SystemClock& clock, std::string warm_up_secret,
                     ApiKeyFile file);

    openai::ApiResult<Caller> check(const io::http::HttpRequest& request, const Route& route) override;
    openai::ApiResult<void> permits(std::string_view tenant, std::string_view model) override;
    bool may_use(const Caller& caller, std::string_view model) override;
    openai::ApiResult<void> admit(const Caller& caller, std::string_view model, std::uint64_t prompt_tokens) override;
    void spend(std::string_view tenant, std::uint64_t tokens) override;

    // Thread-safe, but for one call at a time. What the file says holds for every request that comes after; tenants
    // keep what they have used. Requests under way are not touched.
    void replace(ApiKeyFile file);

    // Whose an API key is, when it is a client's; for ports that do not speak HTTP. Thread-safe.
    std::optional<std::string> tenant_of_key(std::string_view text) const;

    // Of the tenants that have a quota. Thread-safe.
    std::vector<TenantUse> use() const;
    // What the tenants used before this authorizer was made; of others it is forgotten.
    void add_use(const std::vector<TenantUse>& use);

  private:
    // What a tenant has used, over all changes of the file.
    struct Account {
        explicit Account(const router::TenantLimits& limits) : budget(limits) {}

        std::mutex mutex;
        router::TenantBudget budget;
    };
    struct State {
        ApiKeyFile file;
        std::vector<std::shared_ptr<Account>> accounts;  // of file.tenants, in their order
        std::vector<const Tenant*> key_tenants;          // of file.keys, in their order; null: of none
    };

    static std::shared_ptr<const State> next_state(ApiKeyFile file, const State* before);
    // Where a key stands in the file; nothing without a good one.
    std::optional<std::size_t> find_key(const ApiKeyFile& file, std::optional<std::string_view> text) const;

    const Crypto& crypto_;
    const io::clock::SystemClock& clock_;
    const std::string warm_up_secret_;
    std::atomic<std::shared_ptr<const State>> state_;
};

}  // namespace exa::app::access
