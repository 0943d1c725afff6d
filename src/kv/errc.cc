#include "kv/errc.h"

#include <string>

namespace exa::kv {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "kv"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::malformed:
                return "not a sealed segment";
            case errc::wrong_key:
                return "the segment of another key";
            case errc::wrong_checksum:
                return "the payload does not fit its checksum";
            case errc::wrong_seal:
                return "the seal does not fit";
        }
        return "unknown kv error";
    }
};

}  // namespace

const std::error_category& category() {
    static const Category instance;
    return instance;
}

}  // namespace exa::kv
