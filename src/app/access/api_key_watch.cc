#include "app/access/api_key_watch.h"

#include <sys/stat.h>

#include "app/shared/text_file.h"

namespace exa::app::access {

namespace {

std::int64_t nanoseconds_of(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Result<ApiKeyFile> read_file(const std::string& path) {
    EXA_TRY(const std::string text, shared::read_text_file(path, api_key_file_bytes_max));
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

}  // namespace exa::app::access
