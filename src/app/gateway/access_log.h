// The access log: a JSON line for every request at the HTTP gateway. Off unless configured.
//
//   {"time":"2026-03-01T12:00:00.123Z","id":"req-1","remote":"10.0.0.9:51012","method":"POST",
//    "path":"/v1/chat/completions","status":200,"bytes":4711,"duration_ms":812.25,"ttft_ms":35.5,"complete":true,
//    "tenant":"acme","trace_id":"4bf9...","replica":"...","peer":"...","attempts":1}
//
// Never what was asked or answered, a query, or a header that could hold a secret; what a client chose (id, path,
// trace) is redacted as in the other log (io/log/redact.h). Fields that a request has not are left out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "io/http/server.h"
#include "io/log/line_writer.h"

namespace exa::app::gateway {

// What the HTTP gateway and the ingress add to a request's log line (io::HttpExchange::note()).
namespace annotations {
inline constexpr std::string_view tenant = "tenant";
inline constexpr std::string_view trace_id = "trace_id";
inline constexpr std::string_view replica = "replica";  // of the last attempt, like the peer
inline constexpr std::string_view peer = "peer";
inline constexpr std::string_view attempts = "attempts";  // a number
}  // namespace annotations

// One line without its end. `wall` is when the request ended.
std::string access_line(const io::http::HttpOutcome& outcome, WallTime wall);

// Appends to the file `target`, or writes to standard error when it is "stderr". A thread of its own does so, within
// the bounds of LineWriterOptions: a request never waits for it. errc::usage when it cannot be opened.
Result<std::unique_ptr<io::log::LineWriter>> open_access_log(const std::string& target);

}  // namespace exa::app::gateway
