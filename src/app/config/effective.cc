#include "app/config/effective.h"

#include <algorithm>

#include "app/config/config_file.h"
#include "app/config/options.h"
#include "app/shared/errc.h"

namespace exa::app::config {

namespace {

constexpr std::string_view profile_name = "membership.profile";

ValueSource& source_of(EffectiveConfig& config, std::string_view name) {
    return config.sources[static_cast<std::size_t>(find_option(name) - peer_options().data())];
}

Result<void> apply(EffectiveConfig& config, const Setting& setting) {
    if (auto done = set_option(config.values, setting.name, setting.text); !done)
        return error(shared::errc::usage, (setting.place.empty() ? "" : setting.place + ": ") + done.error().detail);
    source_of(config, setting.name) = setting.place.empty() ? ValueSource::flag : ValueSource::file;
    return success();
}

// The profile comes first, wherever it is given, so that explicit keys override it.
Result<void> apply_profile(EffectiveConfig& config, const std::vector<Setting>& settings) {
    bool is_given = false;
    for (const Setting& setting : settings)
        if (setting.name == profile_name) {
            EXA_TRY(apply(config, setting));
            is_given = true;
        }
    if (!is_given) return success();
    config.values.membership = membership::config_of(config.values.profile);
    for (const PeerOption& option : peer_options())
        if (option.name.starts_with("membership.") && option.name != profile_name)
            source_of(config, option.name) = ValueSource::profile;
    return success();
}

// The defaults that complete_config() takes from the environment.
void mark_environment(EffectiveConfig& config) {
    for (const std::string_view name : {"name", "data_dir", "model.path"})
        if (ValueSource& source = source_of(config, name); source == ValueSource::fallback)
            source = ValueSource::environment;
}

}  // namespace

std::string_view to_string(ValueSource source) {
    switch (source) {
        case ValueSource::fallback:
            return "default";
        case ValueSource::environment:
            return "environment";
        case ValueSource::profile:
            return "profile";
        case ValueSource::file:
            return "file";
        case ValueSource::flag:
            return "flag";
    }
    return "unknown";
}

Result<EffectiveConfig> effective_config(const ConfigInputs& inputs) {
    std::vector<Setting> settings;
    if (!inputs.file.empty()) {
        EXA_TRY(settings, read_config_file(inputs.file));
    }
    for (const auto& [name, text] : inputs.flags) settings.push_back({name, text, {}});
    EffectiveConfig config{{}, std::vector(peer_options().size(), ValueSource::fallback)};
    EXA_TRY(apply_profile(config, settings));
    for (const Setting& setting : settings) {
        EXA_TRY(apply(config, setting));
    }
    EXA_TRY(complete_config(config.values, inputs.environment));
    mark_environment(config);
    return config;
}

}  // namespace exa::app::config
