#include "app/api_key_watch.h"

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/text_file.h"

namespace exa::app {

namespace {

constexpr std::chrono::seconds poll_interval{1};

std::int64_t nanoseconds_of(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Result<ApiKeyFile> read_file(const std::string& path) {
    EXA_TRY(const std::string text, read_text_file(path, api_key_file_bytes_max));
    auto file = parse_api_key_file(text);
    if (!file) return Error{file.error().code, path + ": " + file.error().detail};
    return file;
}

}  // namespace

ApiKeyWatch::Stamp ApiKeyWatch::stamp() const {
    struct stat now{};
    if (::stat(path_.c_str(), &now) != 0) return {};
    return {now.st_ino, now.st_size, nanoseconds_of(now.st_mtim), nanoseconds_of(now.st_ctim)};
}

std::optional<Result<ApiKeyFile>> ApiKeyWatch::poll() {
    // Before the file is read: a change meanwhile is one more reason to read it.
    const Stamp now = stamp();
    if (read_ == now) return std::nullopt;
    read_ = now;
    return read_file(path_);
}

ApiKeyReload::ApiKeyReload(ApiKeyWatch watch, KeyGate& gate, Log& log)
    : watch_(std::move(watch)),
      gate_(gate),
      log_(log),
      thread_([this](const std::stop_token& stopping) { run(stopping); }) {}

ApiKeyReload::~ApiKeyReload() {
    thread_.request_stop();
    thread_.join();
}

void ApiKeyReload::run(const std::stop_token& stopping) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    while (true) {
        {
            std::unique_lock lock(mutex);
            stopped.wait_for(lock, stopping, poll_interval, [] { return false; });
        }
        if (stopping.stop_requested()) return;
        auto file = watch_.poll();
        if (!file) continue;
        if (!*file) {
            log_.warn("api-keys", "the file cannot be used; the keys of before stay",
                      {{"error", file->error().message()}});
            continue;
        }
        const std::size_t tenants = file->value().tenants.size();
        const std::size_t keys = file->value().keys.size();
        gate_.replace(std::move(*file).value());
        log_.info("api-keys", "read anew", {{"tenants", std::to_string(tenants)}, {"keys", std::to_string(keys)}});
    }
}

}  // namespace exa::app
