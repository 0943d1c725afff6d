// What tenants have used of their quotas, as a peer keeps it over a restart:
//
//   exaserve-tenant-use 1
//   acme 20423 18000          the tenant, a day since 1970-01-01 (UTC), tokens of that day
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/tenant_budget.h"

namespace exa::app::access {

struct TenantUse {
    std::string tenant;
    router::DayUse use;

    bool operator==(const TenantUse&) const = default;
};

// Tenants that have used nothing are left out.
std::string format_tenant_use(const std::vector<TenantUse>& use);

// Nothing when the text is damaged, or of a later version.
std::optional<std::vector<TenantUse>> parse_tenant_use(std::string_view text);

}  // namespace exa::app::access
