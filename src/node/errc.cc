#include "node/errc.h"

#include <string>

namespace exa::node {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "node"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::not_sealed:
                return "the cluster is not sealed; a first key takes a restart with security.cluster_key_file";
            case errc::unknown_key:
                return "no such key is installed";
            case errc::in_use:
                return "it is the primary key; use another one first";
            case errc::too_many_keys:
                return "too many keys are installed; remove one first";
            case errc::would_cut_off:
                return "it could cut peers off";
        }
        return "unknown node error";
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

}  // namespace exa::node
