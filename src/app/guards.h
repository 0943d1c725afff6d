// Guards: who comes in by a peer's door, and how: API keys, certificates, web pages of elsewhere; and the log of who
// did.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/access/certificates.h"
#include "app/access/gate.h"
#include "app/access/gate_keeper.h"
#include "app/access/key_gate.h"
#include "app/config/config.h"
#include "app/foundation.h"
#include "app/gateway/access_log.h"
#include "app/gateway/cors.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app {

class Guards {
  public:
    using OnTls = std::function<void(const std::shared_ptr<const io::TlsSettings>&)>;

    // `warm_up_secret` as in IngressConfig. `base` and `log` outlive them. errc::usage names the key or the file.
    static Result<std::unique_ptr<Guards>> post(const PeerConfig& config, const Foundation& base,
                                                const std::string& warm_up_secret, Log& log);

    Gate& gate() { return keys_ ? static_cast<Gate&>(*keys_) : open_; }
    const KeyGate* keys() const { return keys_ ? &*keys_ : nullptr; }  // null: everybody may
    // Why the file of keys as it is now is not used; empty when it is. Nothing: there is none.
    std::optional<std::string> keys_failure() const {
        return keeper_ ? std::optional(keeper_->failure()) : std::nullopt;
    }
    const Cors& cors() const { return cors_; }
    const Certificates* certificates() const { return certificates_.get(); }  // null: plain HTTP
    AccessLog* access_log() { return access_log_.get(); }                     // null: none

    // Now and then, and with `hangup` when old files have been moved away. Not from two threads at a time.
    void keep_up(bool hangup, const OnTls& on_tls);

  private:
    Guards(const io::SystemClock& clock, Log& log) : clock_(clock), log_(log) {}
    void keep_access_log(bool hangup);

    const io::SystemClock& clock_;
    Log& log_;
    OpenGate open_;
    std::optional<KeyGate> keys_;
    std::optional<GateKeeper> keeper_;
    Cors cors_;
    std::unique_ptr<Certificates> certificates_;
    std::unique_ptr<AccessLog> access_log_;
    std::uint64_t lines_dropped_ = 0;  // as it was said last
};

}  // namespace exa::app
