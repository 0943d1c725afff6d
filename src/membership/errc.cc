#include "membership/errc.h"

#include <string>

namespace exa::membership {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "membership"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
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
        return "unknown membership error";
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

}  // namespace exa::membership
