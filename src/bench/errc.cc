#include "bench/errc.h"

#include <string>

namespace exa::bench {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "bench"; }

    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::invalid_config:
                return "out of range";
            case errc::bad_distribution:
                return "not a distribution";
            case errc::bad_prompts:
                return "not a prompt";
            case errc::bad_trace:
                return "not a row of a trace";
        }
        return "unknown bench error";
    }
};

}  // namespace

const std::error_category& category() {
    static const Category instance;
    return instance;
}

}  // namespace exa::bench
