#include "app/access/api_key_reloader.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "app/access/tenant_use.h"

namespace exa::app::access {

namespace {

constexpr std::chrono::seconds poll_interval{1};
// What a crash forgets at most, of what was used.
constexpr int polls_a_store = 10;
constexpr std::string_view use_name = "tenant-use";

}  // namespace

ApiKeyReloader::ApiKeyReloader(ApiKeyWatch watch, ApiKeyAuthorizer& authorizer, const shared::DataDir& directory,
                               Log& log)
    : watch_(std::move(watch)),
      authorizer_(authorizer),
      directory_(directory),
      log_(log),
      stored_(format_tenant_use({})) {
    restore_use();
    thread_ = std::jthread([this](const std::stop_token& stopping) { run(stopping); });
}

ApiKeyReloader::~ApiKeyReloader() {
    thread_.request_stop();
    thread_.join();
    store_use();
}

void ApiKeyReloader::run(const std::stop_token& stopping) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    for (int polls = 1;; ++polls) {
        {
            std::unique_lock lock(mutex);
            stopped.wait_for(lock, stopping, poll_interval, [] { return false; });
        }
        if (stopping.stop_requested()) return;
        read_keys();
        if (polls % polls_a_store == 0) store_use();
    }
}

std::string ApiKeyReloader::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void ApiKeyReloader::read_keys() {
    auto file = watch_.poll();
    if (!file) return;
    {
        const std::lock_guard lock(mutex_);
        failure_ = *file ? std::string() : file->error().message();
    }
    if (!*file) {
        log_.error("api-keys", "the file cannot be used; the keys of before stay",
                   {{"error", file->error().message()}});
        return;
    }
    const std::size_t tenants = file->value().tenants.size();
    const std::size_t keys = file->value().keys.size();
    authorizer_.replace(std::move(*file).value());
    log_.info("api-keys", "read again", {{"tenants", std::to_string(tenants)}, {"keys", std::to_string(keys)}});
}

void ApiKeyReloader::restore_use() {
    const auto text = directory_.read(use_name);
    if (text && !text.value()) return;
    auto use = text ? parse_tenant_use(*text.value()) : std::nullopt;
    if (!use) {
        log_.warn("api-keys", "the used part of the tenants' quotas cannot be read; today's usage counts from zero",
                  {{"file", directory_.path() + "/" + std::string(use_name)}});
        return;
    }
    authorizer_.add_use(*use);
    stored_ = format_tenant_use(*use);
}

void ApiKeyReloader::store_use() {
    std::string text = format_tenant_use(authorizer_.use());
    if (text == stored_) return;
    if (const auto done = directory_.replace(use_name, text); !done) {
        log_.warn("api-keys", "what tenants used of their quotas cannot be stored",
                  {{"error", done.error().message()}});
        return;
    }
    stored_ = std::move(text);
}

}  // namespace exa::app::access
