// Log sink: one line to a stream or file, as text for people or as JSON for machines. A thread of its own writes
// (io/log/line_writer.h): nobody who logs waits for a reader.
//
//   2026-03-01T12:00:00.123456Z warn  membership peer=a suspect: no answer target=b rtt_ms=12
//   {"time":"2026-03-01T12:00:00.123456Z","level":"warn","module":"membership","peer":"a","message":"...","target":"b"}
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"

namespace exa::io::log {

enum class LogFormat : std::uint8_t { text, json };

struct LogConfig {
    // Lines below are not written. Default info.
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::text;
    // Empty: standard error. Otherwise appended to; the folder must exist.
    std::string file;
    // Named in every line; empty leaves it out.
    std::string peer;
};

// A log whose level can change while others write to it.
class LeveledLog : public Log {
  public:
    virtual void set_level(LogLevel level) = 0;
};

// Thread-safe. Lines that find 4 MiB of others waiting are dropped, and a line says how many; the destructor waits at
// most a second for those that wait. errc::system when the file cannot be opened.
Result<std::unique_ptr<LeveledLog>> make_log(const LogConfig& config);

// "debug", "info", "warn", "error".
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);

// One line without its end and without secrets (io/log/redact.h); pure, for the sink and its tests. `time` is already
// text.
std::string format_log_line(LogFormat format, std::string_view time, std::string_view peer, LogLevel level,
                            std::string_view module, std::string_view message, std::initializer_list<LogField> fields);

}  // namespace exa::io::log
