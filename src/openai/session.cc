#include "openai/session.h"

namespace exa::openai {

std::string_view to_string(SessionSource source) {
    switch (source) {
        case SessionSource::header:
            return "x-session-id";
        case SessionSource::prompt_cache_key:
            return "prompt_cache_key";
        case SessionSource::user:
            return "user";
        case SessionSource::none:
            break;
    }
    return "none";
}

Session pick_session(std::string_view header, const Scan& request) {
    if (!header.empty()) return {SessionSource::header, std::string(header)};
    if (!request.prompt_cache_key.empty()) return {SessionSource::prompt_cache_key, request.prompt_cache_key.text()};
    if (!request.user.empty()) return {SessionSource::user, request.user.text()};
    return {};
}

}  // namespace exa::openai
