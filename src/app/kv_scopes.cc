#include "app/kv_scopes.h"

#include "kv/tenant.h"

namespace exa::app {

engine::KvScope KvScopes::of(std::string_view tenant) const {
    const Digest salt = kv::tenant_salt(crypto_, root_secret_, tenant);
    return {kv::root_key(crypto_, fingerprint_, salt), kv::tenant_tag(crypto_, salt)};
}

}  // namespace exa::app
