#include "engine/errc.h"

#include <string>

namespace exa::engine {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "engine"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::busy:
                return "the replica is at its in-flight limit";
            case errc::prompt_too_long:
                return "prompt and answer do not fit the context";
            case errc::invalid_request:
                return "the request is not valid";
            case errc::model_failed:
                return "the model gave no usable result";
            case errc::deadline:
                return "no place of the replica became free in time";
        }
        return "unknown engine error " + std::to_string(value);
    }
};

}  // namespace

const std::error_category& engine_category() {
    static const Category category;
    return category;
}

std::error_code make_error_code(errc code) {
    return {static_cast<int>(code), engine_category()};
}

}  // namespace exa::engine
