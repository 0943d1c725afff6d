#include "sim/errc.h"

#include "base/errc_category.h"

namespace exa::sim {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::bad_scenario:
            return "not a scenario that can be run";
        case errc::bad_trace:
            return "not a usable trace file";
        case errc::not_written:
            return "cannot be written";
        case errc::no_such_event:
            return "no such event";
        case errc::nothing_to_shrink:
            return "nothing to shrink";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("sim", message_of);
    return category(code);
}

}  // namespace exa::sim
