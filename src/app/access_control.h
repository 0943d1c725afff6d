// AccessControl: who may use a peer's HTTP address, and how: API keys, certificates, web pages of other sites; and the
// log of requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/access/api_key_authorizer.h"
#include "app/access/api_key_reloader.h"
#include "app/access/authorizer.h"
#include "app/access/certificates.h"
#include "app/config/config.h"
#include "app/gateway/access_log.h"
#include "app/gateway/cors.h"
#include "app/peer_context.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app {

class AccessControl {
  public:
    using OnTls = std::function<void(const std::shared_ptr<const io::tls::TlsSettings>&)>;

    // `warm_up_secret` as in IngressConfig. `base` and `log` outlive them. errc::usage names the key or the file.
    static Result<std::unique_ptr<AccessControl>> create(const config::PeerConfig& config, const PeerContext& base,
                                                         const std::string& warm_up_secret, Log& log);

    access::Authorizer& authorizer() { return keys_ ? static_cast<access::Authorizer&>(*keys_) : open_; }
    const access::ApiKeyAuthorizer* keys() const { return keys_ ? &*keys_ : nullptr; }  // null: everybody may
    // Why the file of keys as it is now is not used; empty when it is. Nothing: there is none.
    std::optional<std::string> keys_failure() const {
        return reloader_ ? std::optional(reloader_->failure()) : std::nullopt;
    }
    const gateway::Cors& cors() const { return cors_; }
    const access::Certificates* certificates() const { return certificates_.get(); }  // null: plain HTTP
    io::log::LineWriter* access_log() { return access_log_.get(); }                   // null: none

    // Now and then, and with `hangup` when old files have been moved away. Not from two threads at a time.
    void maintain(bool hangup, const OnTls& on_tls);

  private:
    AccessControl(const io::clock::SystemClock& clock, Log& log) : clock_(clock), log_(log) {}
    void maintain_access_log(bool hangup);

    const io::clock::SystemClock& clock_;
    Log& log_;
    access::OpenAuthorizer open_;
    std::optional<access::ApiKeyAuthorizer> keys_;
    std::optional<access::ApiKeyReloader> reloader_;
    gateway::Cors cors_;
    std::unique_ptr<access::Certificates> certificates_;
    std::unique_ptr<io::log::LineWriter> access_log_;
    std::uint64_t lines_dropped_ = 0;  // as it was said last
};

}  // namespace exa::app
