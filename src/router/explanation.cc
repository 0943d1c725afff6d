#include "router/explanation.h"

namespace exa::router {

std::string_view to_string(PositionSource source) {
    switch (source) {
        case PositionSource::none:
            return "none";
        case PositionSource::token:
            return "token";
        case PositionSource::client_id:
            return "client_id";
    }
    return "unknown";
}

}  // namespace exa::router
