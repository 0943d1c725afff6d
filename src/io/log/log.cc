#include "io/log/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <chrono>
#include <ctime>
#include <exception>
#include <optional>

#include "io/errc.h"
#include "io/log/redact.h"

namespace exa::io::log {

namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warn:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

// JSON's escapes (RFC 8259 section 7); the text form borrows them, so that a line stays a line.
void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out.push_back('\\');
            out.push_back(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            static constexpr std::string_view digits = "0123456789abcdef";
            out += "\\u00";
            out.push_back(digits[byte >> 4]);
            out.push_back(digits[byte & 15]);
        } else {
            out.push_back(c);
        }
    }
}

void append_json(std::string& out, std::string_view key, std::string_view value) {
    out += out.size() > 1 ? ",\"" : "\"";
    append_escaped(out, key);
    out += "\":\"";
    append_escaped(out, value);
    out += '"';
}

void append_text(std::string& out, std::string_view key, std::string_view value) {
    out.append(" ").append(key).append("=");
    const bool plain = !value.empty() && value.find_first_of(" \"=\\") == std::string_view::npos;
    if (!plain) out += '"';
    append_escaped(out, value);
    if (!plain) out += '"';
}

// Lines in text form keep to one line; quotes in a message need no escape there.
void append_message(std::string& out, std::string_view message) {
    for (const char c : message) out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
}

std::string time_text() {
    using namespace std::chrono;
    const auto now = system_clock::now();
    const std::time_t second = system_clock::to_time_t(time_point_cast<seconds>(now));
    const auto micros = duration_cast<microseconds>(now.time_since_epoch()).count() % 1'000'000;
    std::tm parts{};
    gmtime_r(&second, &parts);
    std::array<char, 32> date{};
    const std::size_t size = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::string digits = std::to_string(micros);
    digits.insert(0, 6 - digits.size(), '0');
    return std::string(date.data(), size) + "." + digits + "Z";
}

class SpdLog final : public LeveledLog {
  public:
    SpdLog(const LogConfig& config, spdlog::sink_ptr sink)
        : format_(config.format), peer_(config.peer), logger_("exaserve", std::move(sink)) {
        logger_.set_pattern("%v");
        logger_.set_level(to_spdlog(config.level));
        logger_.flush_on(spdlog::level::debug);
        logger_.set_error_handler([](const std::string&) {});
    }

    void write(LogLevel level, std::string_view module, std::string_view message,
               std::initializer_list<LogField> fields) override {
        if (!logger_.should_log(to_spdlog(level))) return;
        const std::string line = format_log_line(format_, time_text(), peer_, level, module, message, fields);
        logger_.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
    }

    void set_level(LogLevel level) override { logger_.set_level(to_spdlog(level)); }

  private:
    const LogFormat format_;
    const std::string peer_;
    spdlog::logger logger_;
};

}  // namespace

std::string_view to_string(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warn:
            return "warn";
        case LogLevel::error:
            return "error";
    }
    return "unknown";
}

std::optional<LogLevel> parse_log_level(std::string_view text) {
    for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error})
        if (to_string(level) == text) return level;
    return std::nullopt;
}

namespace {

std::string field_text(const LogField& field) {
    return is_secret_name(field.key) ? "..." : redacted(field.value);
}

}  // namespace

std::string format_log_line(LogFormat format, std::string_view time, std::string_view peer, LogLevel level,
                            std::string_view module, std::string_view message, std::initializer_list<LogField> fields) {
    std::string line;
    if (format == LogFormat::json) {
        line = "{";
        append_json(line, "time", time);
        append_json(line, "level", to_string(level));
        append_json(line, "module", module);
        if (!peer.empty()) append_json(line, "peer", peer);
        append_json(line, "message", redacted(message));
        for (const LogField& field : fields) append_json(line, field.key, field_text(field));
        line += '}';
        return line;
    }
    line.append(time).append(" ").append(to_string(level));
    line.append(6 - to_string(level).size(), ' ').append(module);
    if (!peer.empty()) append_text(line, "peer", peer);
    line += ' ';
    append_message(line, redacted(message));
    for (const LogField& field : fields) append_text(line, field.key, field_text(field));
    return line;
}

Result<std::unique_ptr<LeveledLog>> make_log(const LogConfig& config) {
    try {
        spdlog::sink_ptr sink;
        if (config.file.empty())
            sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
        else
            sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(config.file);
        return std::unique_ptr<LeveledLog>(std::make_unique<SpdLog>(config, std::move(sink)));
    } catch (const std::exception& exception) {
        return error(errc::system, "log file " + config.file + " (" + exception.what() + ")");
    }
}

}  // namespace exa::io::log
