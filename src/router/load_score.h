// Load score: how loaded a replica is, as one number, so that loads of several kinds are compared, summed and bounded
// as counts of requests are. Its unit is a hundredth of a request.
#pragma once

#include <cstdint>

namespace exa::router {

inline constexpr std::uint32_t load_score_of_request = 100;

// Of a replica, as far as is known; 0 also stands for unknown.
struct LoadFactors {
    std::uint32_t requests = 0;       // in flight
    std::uint32_t queued_tokens = 0;  // of prompts, not yet prefilled
    std::uint32_t kv_used_permille = 0;
    std::uint32_t tbt_p99_ms = 0;  // between two tokens
};

// A request counts for one at least, and for up to three where tokens come late; the tokens of prompts that wait count
// for a request each 1,024, up to 16; memory above 80 % for up to four.
std::uint32_t load_score_of(const LoadFactors& load);

}  // namespace exa::router
