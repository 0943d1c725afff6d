#include "sim/checks/violations.h"

#include <utility>

namespace exa::sim {

namespace {

constexpr std::size_t violations_kept = 100;

}  // namespace

void Violations::add(std::string_view check, std::string what) {
    if (!watches(check)) return;
    ++count_;
    if (kept_.size() < violations_kept)
        kept_.push_back({std::string(check), std::move(what), cluster_.now(), cluster_.trace().entries()});
}

}  // namespace exa::sim
