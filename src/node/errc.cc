#include "node/errc.h"

#include "base/errc_category.h"

namespace exa::node {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::not_encrypted:
            return "the cluster is not encrypted; a first key takes a restart with security.cluster_key_file";
        case errc::unknown_key:
            return "no such key is installed";
        case errc::in_use:
            return "it is the primary key; use another one first";
        case errc::too_many_keys:
            return "too many keys are installed; remove one first";
        case errc::would_cut_off:
            return "it could cut peers off";
        case errc::not_rejoined:
            return "this peer has not met its cluster again since it started, and must not decide for it";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("node", message_of);
    return category(code);
}

}  // namespace exa::node
