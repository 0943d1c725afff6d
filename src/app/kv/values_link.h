// KvValuesLink: the values of the Redis port, as long as there are any; who uses them holds them there.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "app/kv/tiers.h"

namespace exa::app::kv {

// Thread-safe.
class KvValuesLink {
  public:
    // Null: none any more. Returns when nobody uses the former ones.
    void set(KvValues* values) {
        const std::unique_lock lock(mutex_);
        values_ = values;
    }

    // Calls `use` with the values, unless there are none.
    template <class Use>
    void with(const Use& use) const {
        const std::shared_lock lock(mutex_);
        if (values_ != nullptr) use(*values_);
    }

  private:
    mutable std::shared_mutex mutex_;
    KvValues* values_ = nullptr;
};

}  // namespace exa::app::kv
