// Log: where a line goes is decided in main. A line has a level, a module, a message and key=value fields; the sink
// adds time and peer. No secrets, prompts or keys in any of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace exa {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

struct LogField {
    std::string_view key;
    std::string value;
};

class Log {
  public:
    virtual ~Log() = default;
    // Thread-safe; never throws and never blocks on a slow reader for long.
    virtual void write(LogLevel level, std::string_view module, std::string_view message,
                       std::initializer_list<LogField> fields) = 0;

    void debug(std::string_view module, std::string_view message, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::debug, module, message, fields);
    }
    void info(std::string_view module, std::string_view message, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::info, module, message, fields);
    }
    void warn(std::string_view module, std::string_view message, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::warn, module, message, fields);
    }
    void error(std::string_view module, std::string_view message, std::initializer_list<LogField> fields = {}) {
        write(LogLevel::error, module, message, fields);
    }
};

// Drops every line; for tests and tools that want silence.
class NullLog final : public Log {
  public:
    void write(LogLevel, std::string_view, std::string_view, std::initializer_list<LogField>) override {}
};

}  // namespace exa
