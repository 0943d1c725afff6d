#include "kv/errc.h"

#include "base/errc_category.h"

namespace exa::kv {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::malformed:
            return "not a sealed segment";
        case errc::wrong_key:
            return "the segment of another key";
        case errc::wrong_checksum:
            return "the payload does not fit its checksum";
        case errc::wrong_seal:
            return "the seal does not fit";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("kv", message_of);
    return category(code);
}

}  // namespace exa::kv
