#include "sim/errc.h"

#include <string>

namespace exa::sim {

namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "exa.sim"; }
    std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::bad_scenario:
                return "not a scenario that can be run";
            case errc::bad_trace:
                return "not a usable trace file";
            case errc::not_written:
                return "cannot be written";
            case errc::no_such_event:
                return "no such event";
            case errc::nothing_to_shrink:
                return "nothing to shrink";
        }
        return "unknown error";
    }
};

}  // namespace

std::error_code make_error_code(errc code) {
    static const Category category;
    return {static_cast<int>(code), category};
}

}  // namespace exa::sim
