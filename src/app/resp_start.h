// From the configuration to the peer's Redis port.
#pragma once

#include <memory>
#include <string_view>

#include "app/access/api_key_authorizer.h"
#include "app/config/config.h"
#include "app/kv/service.h"
#include "app/resp/service.h"
#include "base/crypto.h"
#include "base/ids.h"
#include "io/clock/system_clock.h"
#include "kv/segment.h"

namespace exa::app {

// Null when the configuration wants none. `authorizer` (null: everybody is anonymous) says whose a password is. The
// error names the key. `endpoint` is kv.resp_listen's; `kv` may be null; `self` goes into the stamps of what is
// written. All but `config` and `software` outlive the service.
Result<std::unique_ptr<resp::RespService>> start_resp(const config::PeerConfig& config, const Endpoint& endpoint,
                                                      std::string_view software, const Crypto& crypto,
                                                      ByteView root_secret, const exa::kv::SegmentSealer& sealer,
                                                      kv::KvService* kv, PeerId self,
                                                      const access::ApiKeyAuthorizer* authorizer,
                                                      const io::clock::SystemClock& clock);

}  // namespace exa::app
