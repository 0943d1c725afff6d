#include "app/shared/errc.h"

namespace exa::app {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "app"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
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
        return "unknown error";
    }
};

}  // namespace

const std::error_category& error_category() {
    static const Category category;
    return category;
}

}  // namespace exa::app
