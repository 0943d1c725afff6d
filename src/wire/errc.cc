#include "wire/errc.h"

#include <string>

namespace exa::wire {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "wire"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
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
                return "a plain packet in a sealed cluster";
            case errc::sealed:
                return "a sealed packet, and this peer has no key";
            case errc::unknown_key:
                return "sealed with a key that this peer does not hold";
            case errc::not_authentic:
                return "damaged or forged: the seal does not fit";
            case errc::replayed:
                return "a packet that was here before";
            case errc::seal_used_up:
                return "no packet can be sealed any more in this life";
        }
        return "unknown wire error";
    }
};

}  // namespace

const std::error_category& category() {
    static const Category instance;
    return instance;
}

std::error_code make_error_code(errc code) {
    return {static_cast<int>(code), category()};
}

}  // namespace exa::wire
