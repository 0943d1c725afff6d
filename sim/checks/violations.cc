#include "sim/checks/violations.h"

#include <utility>

namespace exa::sim {

namespace {

constexpr std::size_t violations_kept = 100;

}  // namespace

void Violations::add(std::string_view check, std::string what, std::optional<Host> late) {
    if (!watches(check)) return;
    ++count_;
    if (kept_.size() >= violations_kept) return;
    const std::uint64_t entry = late ? cluster_.trace().last_of(*late) : cluster_.trace().entries();
    kept_.push_back({std::string(check), std::move(what), cluster_.now(), entry});
}

}  // namespace exa::sim
