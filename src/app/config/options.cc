#include "app/config/options.h"

#include <algorithm>

#include "app/shared/errc.h"
#include "router/options.h"

namespace exa::app::config {

namespace {

std::vector<PeerOption> all_options() {
    std::vector<PeerOption> all = top_options();
    append_table(all, "security", &PeerConfig::security, security_options());
    append_table(all, "listen", &PeerConfig::listen, listen_options());
    append_table(all, "advertise", &PeerConfig::advertise, advertise_options());
    append_table(all, "model", &PeerConfig::model, model_options());
    append_table(all, "null", &PeerConfig::null_engine, null_options());
    append_table(all, "attach", &PeerConfig::attach, attach_options());
    append_table(all, "kv", &PeerConfig::kv, kv_options());
    append_table(all, "http", &PeerConfig::http, http_options());
    append_table(all, "http", &PeerConfig::http_server, http_server_options());
    append_table(all, "log", &PeerConfig::log, log_options());
    append_table(all, "router", &PeerConfig::router, router::options());
    all.push_back(profile_option());
    append_table(all, "membership", &PeerConfig::membership, membership_options());
    return all;
}

}  // namespace

const std::vector<PeerOption>& peer_options() {
    static const std::vector<PeerOption> all = all_options();
    return all;
}

const PeerOption* find_option(std::string_view name) {
    const auto found = std::ranges::find(peer_options(), name, &PeerOption::name);
    return found == peer_options().end() ? nullptr : &*found;
}

Result<void> set_option(PeerConfig& config, std::string_view name, std::string_view text) {
    const PeerOption* const option = find_option(name);
    if (option == nullptr) return error(shared::errc::usage, "unknown key '" + std::string(name) + "'");
    if (const std::string wrong = option->set(config, text); !wrong.empty())
        return error(shared::errc::usage, std::string(name) + ": " + wrong);
    return success();
}

}  // namespace exa::app::config
