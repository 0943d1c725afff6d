#include "app/gateway/access_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <ctime>
#include <utility>

#include "app/shared/errc.h"
#include "base/endpoint.h"
#include "io/log/redact.h"

namespace exa::app::gateway {

namespace {

constexpr std::size_t text_bytes_max = 512;
constexpr std::size_t looked_at_bytes_max = 2 * text_bytes_max;

// Printable ASCII without secrets as JSON; what a client may have put in its path stays one line of UTF-8.
std::string quoted(std::string_view text) {
    // A secret that the cut would shorten is seen whole.
    boost::json::string plain(io::log::redacted(text.substr(0, looked_at_bytes_max)));
    if (plain.size() > text_bytes_max) plain.resize(text_bytes_max);
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

Result<std::unique_ptr<io::log::LineWriter>> open_access_log(const std::string& target) {
    auto writer = io::log::LineWriter::open(target == "stderr" ? std::string() : target, {});
    if (!writer) return error(shared::errc::usage, "http.access_log: " + writer.error().detail);
    return writer;
}

}  // namespace exa::app::gateway
