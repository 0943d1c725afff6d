#include "app/config/config_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "app/config/options.h"

namespace exa::app::config {

namespace {

namespace json = boost::json;

json::array changes_json(const std::vector<OptionChange>& changes) {
    json::array list;
    for (const OptionChange& change : changes)
        list.push_back(json::object{{"name", change.name}, {"before", change.before}, {"after", change.after}});
    return list;
}

std::string_view name_of(OptionType type) {
    switch (type) {
        case OptionType::text:
            return "string";
        case OptionType::integer:
            return "integer";
        case OptionType::decimal:
            return "float";
        case OptionType::boolean:
            return "boolean";
        case OptionType::list:
            return "array of strings";
    }
    return "unknown";
}

}  // namespace

json::value config_json(const EffectiveConfig& config, const ConfigInputs& inputs) {
    json::array list;
    const auto& options = peer_options();
    for (std::size_t at = 0; at < options.size(); ++at)
        list.push_back(json::object{{"name", options[at].name},
                                    {"value", options[at].get(config.values)},
                                    {"source", to_string(config.sources[at])},
                                    {"default", default_text(options[at])},
                                    {"live", options[at].is_live}});
    return json::object{{"file", inputs.file.empty() ? json::value(nullptr) : json::value(inputs.file)},
                        {"options", std::move(list)}};
}

json::value reload_json(const ReloadReport& report) {
    return json::object{{"changed", changes_json(report.changed)},
                        {"needs_restart", changes_json(report.needs_restart)}};
}

json::value options_json() {
    json::array list;
    for (const PeerOption& option : peer_options())
        list.push_back(json::object{{"name", option.name},
                                    {"type", name_of(option.type)},
                                    {"unit", option.unit},
                                    {"range", option.range},
                                    {"default", default_text(option)},
                                    {"live", option.is_live},
                                    {"help", option.help}});
    return json::object{{"options", std::move(list)}};
}

}  // namespace exa::app::config
