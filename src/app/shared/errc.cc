#include "app/shared/errc.h"

#include "base/errc_category.h"

namespace exa::app::shared {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::usage:
            return "invalid configuration";
        case errc::bad_model:
            return "unusable model file";
        case errc::cannot_bind:
            return "cannot listen";
        case errc::data_dir_locked:
            return "the data directory is in use by another process";
        case errc::data_dir:
            return "the data directory cannot be used";
        case errc::refused:
            return "this peer must not serve";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("app", message_of);
    return category(code);
}

}  // namespace exa::app::shared
