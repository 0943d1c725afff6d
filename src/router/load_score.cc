#include "router/load_score.h"

#include <algorithm>

namespace exa::router {

namespace {

constexpr std::uint32_t tokens_a_request = 1'024;
constexpr std::uint32_t queued_tokens_max = 16 * tokens_a_request;
// The default of what replicas keep to; later than three times that is broken, not busy.
constexpr std::uint32_t in_time_ms = 100;
constexpr std::uint32_t late_ms_max = 3 * in_time_ms;
constexpr std::uint32_t kv_permille_free = 800;
constexpr std::uint32_t burden_a_kv_permille = 2;

}  // namespace

std::uint32_t load_score_of(const LoadFactors& load) {
    std::uint32_t load_score = load.requests * load_score_of_request;
    if (load.tbt_p99_ms > in_time_ms)
        load_score += load.requests * (std::min(load.tbt_p99_ms, late_ms_max) - in_time_ms);
    if (load.queued_tokens > 0)
        load_score += std::min(load.queued_tokens, queued_tokens_max) * load_score_of_request / tokens_a_request;
    if (load.kv_used_permille > kv_permille_free)
        load_score += (std::min(load.kv_used_permille, 1000U) - kv_permille_free) * burden_a_kv_permille;
    return load_score;
}

}  // namespace exa::router
