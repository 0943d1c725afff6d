#include "router/errc.h"

#include "base/errc_category.h"

namespace exa::router {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::model_not_found:
            return "the model does not exist in this cluster";
        case errc::no_replica_ready:
            return "no replica of the model is ready yet";
        case errc::all_replicas_busy:
            return "every replica of the model is busy";
        case errc::replicas_draining:
            return "every replica of the model that could be asked is draining";
        case errc::out_of_reach:
            return "every replica of the model is out of reach, or failed a moment ago";
        case errc::context_too_long:
            return "the prompt is longer than the model's context";
        case errc::upstream_failed:
            return "the replicas that were tried failed";
        case errc::upstream_timeout:
            return "the replicas that were tried did not answer in time";
        case errc::stream_broken:
            return "the replica went away in the middle of the answer";
        case errc::invalid_config:
            return "out of range";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("router", message_of);
    return category(code);
}

std::uint16_t http_status(errc code) {
    switch (code) {
        case errc::model_not_found:
            return 404;
        case errc::no_replica_ready:
        case errc::all_replicas_busy:
        case errc::replicas_draining:
        case errc::out_of_reach:
            return 503;
        case errc::context_too_long:
            return 400;
        case errc::upstream_failed:
            return 502;
        case errc::upstream_timeout:
            return 504;
        case errc::stream_broken:
        case errc::invalid_config:
            break;
    }
    return 500;
}

}  // namespace exa::router
