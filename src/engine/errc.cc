#include "engine/errc.h"

#include "base/errc_category.h"

namespace exa::engine {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::busy:
            return "the replica is at its in-flight limit";
        case errc::prompt_too_long:
            return "prompt and answer do not fit the context";
        case errc::invalid_request:
            return "the request is not valid";
        case errc::model_failed:
            return "the model gave no usable result";
        case errc::deadline:
            return "the replica had no free permit in time";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("engine", message_of);
    return category(code);
}

}  // namespace exa::engine
