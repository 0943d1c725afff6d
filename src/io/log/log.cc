#include "io/log/log.h"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include "io/log/line_writer.h"
#include "io/log/redact.h"

namespace exa::io::log {

namespace {

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

class LineLog final : public LeveledLog {
  public:
    LineLog(const LogConfig& config, std::unique_ptr<LineWriter> writer)
        : format_(config.format), peer_(config.peer), level_(config.level), writer_(std::move(writer)) {}

    void write(LogLevel level, std::string_view module, std::string_view message,
               std::initializer_list<LogField> fields) override {
        if (level < level_.load(std::memory_order_relaxed)) return;
        writer_->write(format_log_line(format_, time_text(), peer_, level, module, message, fields));
    }

    void set_level(LogLevel level) override { level_.store(level, std::memory_order_relaxed); }

  private:
    const LogFormat format_;
    const std::string peer_;
    std::atomic<LogLevel> level_;
    const std::unique_ptr<LineWriter> writer_;
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
    LineWriterOptions options;
    options.dropped_notice = [format = config.format, peer = config.peer](std::uint64_t count) {
        return format_log_line(format, time_text(), peer, LogLevel::warn, "log", dropped_text(count), {});
    };
    EXA_TRY(auto writer, LineWriter::open(config.file, std::move(options)));
    return std::unique_ptr<LeveledLog>(std::make_unique<LineLog>(config, std::move(writer)));
}

}  // namespace exa::io::log
