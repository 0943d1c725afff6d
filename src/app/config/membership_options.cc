// The table [membership]: membership/options.h says what there is; here are the units of the file.
#include <string>
#include <type_traits>
#include <variant>

#include "app/config/options.h"
#include "membership/options.h"

namespace exa::app::config {

namespace {

Option<membership::Config> in_file_units(const membership::Option& option) {
    const auto make = [&](const auto& field) {
        using Value = std::remove_cvref_t<decltype(field.min)>;
        if constexpr (std::is_same_v<Value, Duration>) {
            const auto in_ms = [](Duration time) { return std::chrono::ceil<std::chrono::milliseconds>(time); };
            return duration(std::string(option.name) + "_ms", field.member, in_ms(field.min), in_ms(field.max),
                            option.help);
        } else if constexpr (std::is_same_v<Value, double>) {
            return decimal(option.name, field.member, field.min, field.max, option.help);
        } else {
            return whole_number(option.name, "N", "", field.member, field.min, field.max, option.help);
        }
    };
    return std::visit(make, option.field);
}

}  // namespace

PeerOption profile_option() {
    using membership::Profile;
    return choice(
        "membership.profile", "PROFILE", &PeerConfig::profile,
        {{"lan", Profile::lan}, {"wan", Profile::wan}, {"hpc", Profile::hpc}},
        "Defaults for the other keys of this table, the same on every peer: lan for one data centre, wan for "
        "several sites, hpc for one fabric with round trips below a millisecond. A key that is set explicitly "
        "overrides the profile.");
}

std::vector<Option<membership::Config>> membership_options() {
    std::vector<Option<membership::Config>> options;
    for (const membership::Option& option : membership::options()) options.push_back(in_file_units(option));
    return options;
}

}  // namespace exa::app::config
