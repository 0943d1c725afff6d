// AccessLog: a JSON line for every request at the HTTP gateway. Off unless configured.
//
//   {"time":"2026-03-01T12:00:00.123Z","id":"req-1","remote":"10.0.0.9:51012","method":"POST",
//    "path":"/v1/chat/completions","status":200,"bytes":4711,"duration_ms":812.25,"ttft_ms":35.5,"complete":true,
//    "tenant":"acme","trace_id":"4bf9...","replica":"...","peer":"...","attempts":1}
//
// Never what was asked or answered, a query, or a header that could hold a secret. Fields that a request has not are
// left out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "io/http/server.h"

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

class AccessLog {
  public:
    // Appends to the file `target`, or writes to standard error when it is "stderr". errc::usage when it cannot be
    // opened.
    static Result<std::unique_ptr<AccessLog>> open(const std::string& target);
    // Writes what waits.
    ~AccessLog();
    AccessLog(const AccessLog&) = delete;
    AccessLog& operator=(const AccessLog&) = delete;

    // Thread-safe, as all below. Does not wait for the disk: lines wait in memory, at most 4 MiB of them, and what is
    // more is dropped.
    void write(std::string line);
    // Opens the file by its name again, as is due when it has been renamed. Lines from now on go there; when it cannot
    // be opened, they go on to the old one. errc::usage.
    Result<void> reopen();
    // Lines that nobody will read.
    std::uint64_t dropped() const;

  private:
    AccessLog(std::string target, int descriptor);
    void run(const std::stop_token& stopping);

    const std::string target_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    std::string waiting_;
    std::uint64_t dropped_ = 0;
    int descriptor_;
    int next_descriptor_ = -1;  // to be used from now on
    std::jthread writer_;
};

}  // namespace exa::app::gateway
