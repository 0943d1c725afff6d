#include "app/kv/scopes.h"

#include "kv/tenant.h"

namespace exa::app::kv {

engine::KvScope KvScopes::of(std::string_view tenant) const {
    const Digest salt = exa::kv::tenant_salt(crypto_, root_secret_, tenant);
    return {exa::kv::root_key(crypto_, fingerprint_, salt), exa::kv::tenant_tag(crypto_, salt)};
}

std::vector<exa::kv::SegmentKey> KvScopes::keys_of(std::string_view tenant,
                                                   std::span<const engine::TokenId> prompt) const {
    return exa::kv::segment_chain(crypto_, of(tenant).root, prompt, segment_tokens_);
}

}  // namespace exa::app::kv
