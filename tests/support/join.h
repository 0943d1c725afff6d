// A request to join through seeds that are given as numbers.
#pragma once

#include <vector>

#include "base/endpoint.h"
#include "membership/bootstrap.h"

namespace exa {

inline membership::JoinRequest through(const std::vector<Endpoint>& seeds) {
    membership::JoinRequest request;
    for (const Endpoint& seed : seeds) request.seeds.push_back(to_string(seed));
    return request;
}

}  // namespace exa
