// The HTTP answers that are errors.
#pragma once

#include "io/http/message.h"
#include "openai/error.h"

namespace exa::app::gateway {

io::http::HttpResponse to_response(const openai::ApiError& error);

}  // namespace exa::app::gateway
