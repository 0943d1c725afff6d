#include "gateway/rejection.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

namespace exa::gateway {

openai::ApiError rejection(const router::Reject& reject, std::string_view model, std::string_view failure) {
    const auto retry_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(reject.retry_after.value_or(std::chrono::seconds(1)))
            .count());
    const std::error_code code = reject.error.code;
    if (code == router::errc::model_not_found) return openai::model_not_found(model);
    if (code == router::errc::all_replicas_busy) return openai::overloaded(retry_ms);
    if (code == router::errc::replicas_draining) return openai::draining(retry_ms);
    if (code == router::errc::out_of_reach)
        return openai::unavailable(reject.error.message() + "; nothing was started", retry_ms);
    if (code == router::errc::no_replica_ready)
        return openai::unavailable("no replica of this model is ready", retry_ms);
    if (code == router::errc::context_too_long) {
        openai::ApiError too_long;
        too_long.status = 400;
        too_long.message =
            "The prompt is longer than the context of every replica of the model '" + std::string(model) + "'.";
        too_long.type = "invalid_request_error";
        too_long.code = "context_length_exceeded";
        return too_long;
    }
    if (reject.status == 504) return openai::timed_out(failure, retry_ms);
    // What the client is told says already that the replicas failed.
    openai::ApiError error = code == router::errc::upstream_failed ? openai::upstream_failed(failure)
                                                                   : openai::upstream_failed(reject.error.message());
    error.status = reject.status;
    if (reject.retry_after) error.retry_after_ms = retry_ms;
    return error;
}

}  // namespace exa::gateway
