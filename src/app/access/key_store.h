// KeyStore: the peer's key ring in its data directory (membership/key_file.h), and the operator's key file.
#pragma once

#include <string>

#include "app/shared/data_dir.h"
#include "base/crypto.h"
#include "base/result.h"
#include "membership/key_ring.h"

namespace exa::app::access {

class KeyStore {
  public:
    // Both outlive it.
    KeyStore(const shared::DataDir& directory, const Crypto& crypto) : directory_(directory), crypto_(crypto) {}

    // The stored ring with the keys of `key_file` (empty: none) that it does not know yet; a ring that is empty means
    // that the cluster is not encrypted. What was new is stored before this returns. Errors: usage (the operator's
    // file, named), data_dir. A damaged ring is an error: to start without its keys, or with old ones, is for the
    // operator.
    Result<membership::KeyRing> load(const std::string& key_file) const;

    // On the disk when this returns. data_dir: the ring of before is still there.
    Result<void> store(const membership::KeyRing& ring) const;

  private:
    const shared::DataDir& directory_;
    const Crypto& crypto_;
};

}  // namespace exa::app::access
