#include "app/gateway/access_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "app/shared/errc.h"
#include "base/endpoint.h"

namespace exa::app::gateway {

namespace {

constexpr std::size_t waiting_bytes_max = 4 * 1024 * 1024;
constexpr std::size_t text_bytes_max = 512;

// Printable ASCII as JSON; what a client may have put in its path stays one line of UTF-8.
std::string quoted(std::string_view text) {
    boost::json::string plain(text.substr(0, text_bytes_max));
    std::ranges::replace_if(plain, [](char c) { return c < ' ' || c > '~'; }, '?');
    return boost::json::serialize(plain);
}

void add(std::string& line, std::string_view key, std::string_view value) {
    line += fmt::format(R"({}"{}":{})", line.size() == 1 ? "" : ",", key, value);
}

double milliseconds(Duration duration) {
    return static_cast<double>(duration.count()) / 1000.0;
}

std::string time_text(WallTime wall) {
    const std::time_t second = wall.unix_seconds();
    std::tm parts{};
    gmtime_r(&second, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, wall.unix_us / 1000 % 1000);
}

int open_target(const std::string& target) {
    if (target == "stderr") return ::dup(STDERR_FILENO);
    // Whom clients are and what they ask for is nobody else's business.
    return ::open(target.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

Error cannot_open(const std::string& target) {
    return error(shared::errc::usage, fmt::format("http.access_log: {}: {}", target, std::strerror(errno)));
}

// False when a part of it is lost.
bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

std::string access_line(const io::http::HttpOutcome& outcome, WallTime wall) {
    std::string line = "{";
    add(line, "time", quoted(time_text(wall)));
    add(line, "id", quoted(outcome.id));
    add(line, "remote", quoted(to_string(outcome.remote)));
    if (!outcome.method.empty()) add(line, "method", quoted(outcome.method));
    if (!outcome.path.empty()) add(line, "path", quoted(outcome.path));
    if (outcome.status != 0) add(line, "status", std::to_string(outcome.status));
    add(line, "bytes", std::to_string(outcome.body_bytes));
    add(line, "duration_ms", fmt::format("{:.3f}", milliseconds(outcome.took)));
    if (outcome.first_byte) add(line, "ttft_ms", fmt::format("{:.3f}", milliseconds(*outcome.first_byte)));
    add(line, "complete", outcome.complete ? "true" : "false");
    for (const auto& [key, value] : outcome.annotations)
        add(line, key, key == annotations::attempts ? value : quoted(value));
    return line + "}";
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& target) {
    const int descriptor = open_target(target);
    if (descriptor < 0) return cannot_open(target);
    return std::unique_ptr<AccessLog>(new AccessLog(target, descriptor));
}

AccessLog::AccessLog(std::string target, int descriptor)
    : target_(std::move(target)),
      descriptor_(descriptor),
      writer_([this](const std::stop_token& stopping) { run(stopping); }) {}

AccessLog::~AccessLog() {
    writer_.request_stop();
    writer_.join();
    ::close(descriptor_);
    if (next_descriptor_ >= 0) ::close(next_descriptor_);
}

void AccessLog::write(std::string line) {
    line += '\n';
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > waiting_bytes_max) {
        ++dropped_;
        return;
    }
    const bool was_empty = waiting_.empty();
    waiting_ += line;
    if (was_empty) wake_.notify_one();
}

Result<void> AccessLog::reopen() {
    const int descriptor = open_target(target_);
    if (descriptor < 0) return cannot_open(target_);
    const std::lock_guard lock(mutex_);
    if (next_descriptor_ >= 0) ::close(next_descriptor_);
    next_descriptor_ = descriptor;
    return success();
}

std::uint64_t AccessLog::dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
}

void AccessLog::run(const std::stop_token& stopping) {
    std::string lines;
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stopping, [&] { return !waiting_.empty(); }) || !waiting_.empty()) {
        lines.swap(waiting_);
        if (next_descriptor_ >= 0) {
            ::close(descriptor_);
            descriptor_ = std::exchange(next_descriptor_, -1);
        }
        lock.unlock();
        const bool written = write_all(descriptor_, lines);
        lock.lock();
        if (!written) dropped_ += static_cast<std::uint64_t>(std::ranges::count(lines, '\n'));
        lines.clear();
    }
}

}  // namespace exa::app::gateway
