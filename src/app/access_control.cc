#include "app/access_control.h"

#include <utility>

#include "app/access/api_key_watch.h"
#include "app/shared/errc.h"

namespace exa::app {

Result<std::unique_ptr<AccessControl>> AccessControl::create(const config::PeerConfig& config, const PeerContext& base,
                                                             const std::string& warm_up_secret, Log& log) {
    std::unique_ptr<AccessControl> access(new AccessControl(base.clock, log));
    if (!config.security.api_keys_file.empty()) {
        access::ApiKeyWatch watch(config.security.api_keys_file);
        auto keys = watch.poll();
        if (!*keys) return error(shared::errc::usage, "security.api_keys_file: " + keys->error().detail);
        access->keys_.emplace(base.crypto, base.clock, warm_up_secret, std::move(*keys).value());
        access->reloader_.emplace(std::move(watch), *access->keys_, base.directory, log);
    }
    EXA_TRY(access->cors_, gateway::Cors::parse(config.http.cors_origins));
    if (!config.http.certificate_file.empty()) {
        EXA_TRY(access->certificates_,
                access::Certificates::load(config.http.certificate_file, config.http.key_file, base.clock.wall(), log));
    }
    if (!config.http.access_log.empty()) {
        EXA_TRY(access->access_log_, gateway::open_access_log(config.http.access_log));
    }
    return access;
}

void AccessControl::maintain(bool hangup, const OnTls& on_tls) {
    if (certificates_) certificates_->reload(clock_.wall(), on_tls);
    if (access_log_) maintain_access_log(hangup);
}

void AccessControl::maintain_access_log(bool hangup) {
    if (const auto now = access_log_->dropped(); now > lines_dropped_)
        log_.warn("peer", "access log: " + io::log::dropped_text(now - std::exchange(lines_dropped_, now)),
                  {{"lines_in_all", std::to_string(now)}});
    if (auto failure = access_log_->take_failure())
        log_.error("peer", "the access log goes on to the old file", {{"reason", failure->detail}});
    if (hangup) access_log_->reopen();
}

}  // namespace exa::app
