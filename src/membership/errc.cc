#include "membership/errc.h"

#include "base/errc_category.h"

namespace exa::membership {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::invalid_config:
            return "the membership configuration is not valid";
        case errc::invalid_record:
            return "the peer's own record is not valid";
        case errc::left:
            return "this peer has left the cluster";
        case errc::not_the_sender:
            return "the message names a sender other than the link's peer";
        case errc::invalid_keys:
            return "not a valid key file";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("membership", message_of);
    return category(code);
}

}  // namespace exa::membership
