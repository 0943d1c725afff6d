// CallbackGuard: drops callbacks that come after their owner has ended.
//
// Other threads hold callbacks into an object and may call them at any time. Whoever owns a guard gives away callbacks
// that went through wrap(), and closes the guard first of all when it ends: no guarded callback runs from then on.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

namespace exa::app::shared {

// Thread-safe. The wrapped callbacks may outlive it.
class CallbackGuard {
  public:
    CallbackGuard() = default;
    ~CallbackGuard() { close(); }
    CallbackGuard(const CallbackGuard&) = delete;
    CallbackGuard& operator=(const CallbackGuard&) = delete;

    // Waits for the guarded callbacks that run; never called from one of them. Idempotent.
    void close() {
        const std::unique_lock lock(state_->mutex);
        state_->is_open = false;
    }

    // `callback` while the guard is open; after that, a call does nothing and gives a value-initialised result. Several
    // threads may be in it at a time, as far as `callback` allows; it must not call another guarded callback.
    template <class Callback>
    auto wrap(Callback callback) const {
        return [state = state_, callback = std::move(callback)]<class... Arguments>(Arguments&&... arguments) mutable {
            using Result = std::invoke_result_t<Callback&, Arguments&&...>;
            const std::shared_lock lock(state->mutex);
            if (!state->is_open) return Result();
            return callback(std::forward<Arguments>(arguments)...);
        };
    }

  private:
    struct State {
        std::shared_mutex mutex;
        bool is_open = true;
    };
    const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace exa::app::shared
