// The HTTP answers that are errors.
#pragma once

#include <string_view>

#include "io/http/message.h"
#include "openai/error.h"
#include "router/dispatcher.h"

namespace exa::app {

io::HttpResponse to_response(const openai::ApiError& error);

// For a request that the router could not place. `failure` is why the last attempt failed; empty: not known.
io::HttpResponse to_response(const router::Reject& reject, std::string_view model, std::string_view failure);

}  // namespace exa::app
