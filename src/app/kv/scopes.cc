#include "app/kv/scopes.h"

#include "kv/tenant.h"

namespace exa::app {

engine::KvScope KvScopes::of(std::string_view tenant) const {
    const Digest salt = kv::tenant_salt(crypto_, root_secret_, tenant);
    return {kv::root_key(crypto_, fingerprint_, salt), kv::tenant_tag(crypto_, salt)};
}

std::vector<kv::SegmentKey> KvScopes::keys_of(std::string_view tenant, std::span<const engine::TokenId> prompt) const {
    return kv::segment_chain(crypto_, of(tenant).root, prompt, segment_tokens_);
}

}  // namespace exa::app
