#include "gateway/outcome.h"

namespace exa::gateway {

Outcome outcome_of(wire::EndCode code) {
    switch (code) {
        case wire::EndCode::ok:
            return Outcome::finished;
        case wire::EndCode::busy:
            return Outcome::busy;
        case wire::EndCode::draining:
        case wire::EndCode::cancelled:  // its engine stops
            return Outcome::draining;
        case wire::EndCode::not_found:
        case wire::EndCode::wrong_version:
        case wire::EndCode::not_supported:
            return Outcome::refused;
        case wire::EndCode::deadline:
            return Outcome::no_permit;
        case wire::EndCode::too_long:
            return Outcome::unfit;
        case wire::EndCode::failed:
            return Outcome::failed;
    }
    return Outcome::failed;
}

}  // namespace exa::gateway
