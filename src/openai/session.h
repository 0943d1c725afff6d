// Session id of a request: header x-session-id, else the body's prompt_cache_key, else its user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "openai/scan.h"

namespace exa::openai {

enum class SessionSource : std::uint8_t { none, header, prompt_cache_key, user };

std::string_view to_string(SessionSource source);

struct Session {
    SessionSource source = SessionSource::none;
    std::string id;  // empty only with `none`: the router then mints a token
};

// `header` is the value of x-session-id, or empty. An empty id counts as absent, at every source.
Session pick_session(std::string_view header, const Scan& request);

}  // namespace exa::openai
