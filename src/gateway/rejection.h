// The error a client gets for a request that no replica answered.
#pragma once

#include <string_view>

#include "openai/error.h"
#include "router/dispatcher.h"

namespace exa::gateway {

// `model` as the client named it. `failure`: why the last attempt failed, for people; empty: unknown.
openai::ApiError rejection(const router::Reject& reject, std::string_view model, std::string_view failure);

}  // namespace exa::gateway
