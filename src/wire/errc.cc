#include "wire/errc.h"

#include "base/errc_category.h"

namespace exa::wire {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::truncated:
            return "the message ends too early";
        case errc::malformed:
            return "not a valid message";
        case errc::oversized:
            return "longer than allowed";
        case errc::wrong_cluster:
            return "the sender belongs to another cluster";
        case errc::wrong_version:
            return "the sender speaks an incompatible wire version";
        case errc::unknown_kind:
            return "a kind of message that this version does not know";
        case errc::too_big_to_send:
            return "our own message is longer than allowed";
        case errc::not_sealed:
            return "a plaintext packet in an encrypted cluster";
        case errc::sealed:
            return "an encrypted packet, and this peer has no key";
        case errc::unknown_key:
            return "encrypted with a key that this peer does not hold";
        case errc::not_authentic:
            return "damaged or forged: the seal does not fit";
        case errc::replayed:
            return "a replayed packet";
        case errc::damaged:
            return "damaged on its way: the checksum does not fit";
        case errc::seal_used_up:
            return "no packet can be sealed any more in this instance";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("wire", message_of);
    return category(code);
}

}  // namespace exa::wire
