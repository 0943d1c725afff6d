// W3C Trace Context (Recommendation, 2021): what a client says of the trace that its request belongs to. We are no part
// of the trace: what is valid goes on as it came, what is not goes nowhere.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "io/http/message.h"
#include "wire/link_messages.h"

namespace exa::app::gateway {

// The trace id, 32 hexadecimal digits, of a valid traceparent (section 3.2).
std::optional<std::string_view> trace_id(std::string_view traceparent);

// The trace id of a request with one valid traceparent. Valid as long as the headers.
std::optional<std::string_view> trace_id(const io::http::HttpHeaders& headers);

// Its traceparent and tracestate as they are passed on; none without a valid traceparent.
std::vector<wire::HeaderField> trace_fields(const io::http::HttpHeaders& headers);

}  // namespace exa::app::gateway
