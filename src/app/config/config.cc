#include "app/config/config.h"

#include <fmt/format.h>

#include <string_view>

#include "app/config/options.h"
#include "app/shared/errc.h"

namespace exa::app::config {

namespace {

bool is_unspecified(std::string_view address) {
    return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

Result<void> complete_advertise(std::string& advertise, const std::string& listen, std::string_view which) {
    if (advertise.empty()) advertise = listen;
    if (is_unspecified(advertise))
        return error(shared::errc::usage,
                     fmt::format("advertise.{} is needed: other peers cannot reach {}", which, listen));
    return success();
}

// "SmolLM2-135M-Instruct" of ".../SmolLM2-135M-Instruct.Q4_1.gguf".
std::string model_name_of(const std::string& path) {
    std::string file = path.substr(path.rfind('/') + 1);
    if (file.ends_with(".gguf")) file.resize(file.size() - 5);
    // The part after the last dot is the tensor type when it names one.
    const auto dot = file.rfind('.');
    if (dot != file.npos && dot > 0 && (file[dot + 1] == 'Q' || file[dot + 1] == 'F' || file[dot + 1] == 'B'))
        file.resize(dot);
    return file;
}

Result<void> complete_model(PeerConfig& config, const Environment& environment) {
    ModelSettings& model = config.model;
    if (model.path.empty())
        model.path = fmt::format("{}/exaserve/models/SmolLM2-135M-Instruct.Q4_1.gguf", environment.cache_home);
    if (model.name.empty() && model.engine == EngineKind::null) model.name = "null";
    if (model.engine == EngineKind::attach) {
        if (config.attach.urls.empty())
            return error(shared::errc::usage, "attach.urls is needed with model.engine = attach");
        if (model.name.empty())
            return error(shared::errc::usage,
                         "model.name is needed with model.engine = attach: the servers' own name for it");
        model.replicas = static_cast<std::uint32_t>(config.attach.urls.size());
    }
    if (model.name.empty()) model.name = model_name_of(model.path);
    return success();
}

Result<void> check_relations(const PeerConfig& config) {
    const KvSettings& kv = config.kv;
    if (config.http.certificate_file.empty() != config.http.key_file.empty())
        return error(shared::errc::usage, "http.certificate_file and http.key_file are needed together");
    if (!kv.resp_listen.empty() && !*kv.enabled)
        return error(shared::errc::usage, "kv.resp_listen: values are stored with KV, and kv.enabled is false");
    if (!kv.cold_directory.empty() && (!*kv.enabled || kv.capacity_gib == 0))
        return error(shared::errc::usage,
                     "kv.cold_directory: it receives what ages on disk, so kv.enabled must be true and kv.capacity_gib "
                     "above 0");
    if (config.model.context_tokens > config.model.kv_tokens)
        return error(shared::errc::usage, fmt::format("model.context_tokens: {} is more than model.kv_tokens, {}",
                                                      config.model.context_tokens, config.model.kv_tokens));
    if (const auto valid = router::validate(config.router); !valid)
        return error(shared::errc::usage, "router." + valid.error().detail);
    if (const auto valid = membership::validate(config.membership); !valid)
        return error(shared::errc::usage, "membership." + valid.error().detail);
    return success();
}

}  // namespace

Result<void> complete_config(PeerConfig& config, const Environment& environment) {
    EXA_TRY(complete_advertise(config.advertise.gossip, config.listen.gossip, "gossip"));
    EXA_TRY(complete_advertise(config.advertise.link, config.listen.link, "link"));
    EXA_TRY(complete_advertise(config.advertise.http, config.listen.http, "http"));
    const std::string port = config.listen.http.substr(config.listen.http.rfind(':') + 1);
    if (config.name.empty()) {
        EXA_TRY(set_option(config, "name", environment.host_name + "-" + port));
    }
    if (config.data_dir.empty()) config.data_dir = fmt::format("{}/exaserve/{}", environment.state_home, port);
    if (config.kv.directory.empty()) config.kv.directory = config.data_dir + "/kv";
    if (!config.kv.enabled)
        config.kv.enabled =
            (config.model.engine == EngineKind::builtin && config.model.replicas > 0) || !config.kv.resp_listen.empty();
    EXA_TRY(complete_model(config, environment));
    return check_relations(config);
}

}  // namespace exa::app::config
