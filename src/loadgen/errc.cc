#include "loadgen/errc.h"

#include "base/errc_category.h"

namespace exa::loadgen {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::invalid_config:
            return "out of range";
        case errc::bad_distribution:
            return "not a distribution";
        case errc::bad_prompts:
            return "not a prompt";
        case errc::bad_trace:
            return "not a row of a trace";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("loadgen", message_of);
    return category(code);
}

}  // namespace exa::loadgen
