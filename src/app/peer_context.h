// PeerContext: what every part of a peer needs before any of them runs: its clock, its addresses, its data directory
// and with it its identity, and the cluster's secrets and keys.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/access/key_store.h"
#include "app/addresses.h"
#include "app/config/config.h"
#include "app/shared/data_dir.h"
#include "base/bytes.h"
#include "base/result.h"
#include "io/clock/system_clock.h"
#include "io/crypto/openssl_crypto.h"
#include "io/link/config.h"
#include "kv/segment.h"
#include "membership/key_ring.h"
#include "membership/member_memory.h"
#include "router/session.h"

namespace exa::app {

// Does not move: its parts refer to one another.
struct PeerContext {
    // `config` must be complete. The data directory is locked from here on, and holds a new generation. Errors: those
    // of app::errc, which name the key or the file.
    static Result<std::unique_ptr<const PeerContext>> open(const config::PeerConfig& config);

    PeerContext(const config::PeerConfig& config, shared::DataDir opened, Bytes secret);

    const io::clock::SystemClock clock;
    const TimePoint started = clock.now();
    const io::crypto::OpenSslCrypto crypto;
    Addresses listen;
    Addresses advertise;           // ports that the system is to choose are 0 still
    std::optional<Endpoint> resp;  // kv.resp_listen, if there is one
    const shared::DataDir directory;
    std::vector<membership::RememberedMember> members;  // that this peer knew before; none when the file is damaged
    const access::KeyStore key_store;
    membership::KeyRing keys;
    const Bytes root_secret;
    const router::SessionTokens tokens;
    const exa::kv::SegmentSealer sealer;
    const io::link::LinkIdentity identity;
    io::link::LinkEncryption encryption;
};

}  // namespace exa::app
