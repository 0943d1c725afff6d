// BodyBudget: the memory that request bodies may hold before they are whole.
//
// A client can send nearly all of a body and then wait. What all clients of a process hold so has one bound; one
// address, or one tenant of API keys, gets at most half of it, so that nobody can use it up alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/endpoint.h"

namespace exa::io::http {

// Thread-safe.
class BodyBudget {
  public:
    explicit BodyBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

    std::uint64_t bytes_held() const;

  private:
    friend class BodyShare;

    using Address = std::array<std::uint8_t, 16>;

    // False: nothing is taken.
    bool take(const Address& address, const std::string& tenant, std::uint64_t bytes);
    void give_back(const Address& address, const std::string& tenant, std::uint64_t bytes);

    const std::uint64_t bytes_max_;
    mutable std::mutex mutex_;
    std::uint64_t held_ = 0;
    std::map<Address, std::uint64_t> held_by_address_;
    std::map<std::string, std::uint64_t, std::less<>> held_by_tenant_;
};

// What one body holds; given back at its end.
class BodyShare {
  public:
    // `tenant` is empty where there are none.
    BodyShare(std::shared_ptr<BodyBudget> budget, const Endpoint& remote, std::string tenant)
        : budget_(std::move(budget)), address_(remote.address), tenant_(std::move(tenant)) {}
    ~BodyShare() { budget_->give_back(address_, tenant_, bytes_); }
    BodyShare(const BodyShare&) = delete;
    BodyShare& operator=(const BodyShare&) = delete;

    // False when that is more than may be held now; the share stays as it was.
    bool grow_to(std::uint64_t bytes);

  private:
    const std::shared_ptr<BodyBudget> budget_;
    const BodyBudget::Address address_;
    const std::string tenant_;
    std::uint64_t bytes_ = 0;
};

}  // namespace exa::io::http
