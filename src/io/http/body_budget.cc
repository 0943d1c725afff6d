#include "io/http/body_budget.h"

namespace exa::io::http {

namespace {

template <class Map, class Key>
std::uint64_t held_by(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
}

// Nothing stays of whoever holds nothing.
template <class Map, class Key>
void subtract(Map& map, const Key& key, std::uint64_t bytes) {
    const auto found = map.find(key);
    if (found != map.end() && (found->second -= bytes) == 0) map.erase(found);
}

}  // namespace

std::uint64_t BodyBudget::bytes_held() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

bool BodyBudget::take(const Address& address, const std::string& tenant, std::uint64_t bytes) {
    const std::uint64_t share = bytes_max_ / 2;
    const std::lock_guard lock(mutex_);
    if (held_ + bytes > bytes_max_ || held_by(held_by_address_, address) + bytes > share) return false;
    if (!tenant.empty()) {
        if (held_by(held_by_tenant_, tenant) + bytes > share) return false;
        held_by_tenant_[tenant] += bytes;
    }
    held_by_address_[address] += bytes;
    held_ += bytes;
    return true;
}

void BodyBudget::give_back(const Address& address, const std::string& tenant, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    held_ -= bytes;
    subtract(held_by_address_, address, bytes);
    if (!tenant.empty()) subtract(held_by_tenant_, tenant, bytes);
}

bool BodyShare::grow_to(std::uint64_t bytes) {
    if (bytes <= bytes_) return true;
    if (!budget_->take(address_, tenant_, bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
}

}  // namespace exa::io::http
