// Sealed packets from anyone: opening ends in a value or an error, and only what a holder of the key sealed opens.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "io/crypto/openssl_crypto.h"
#include "wire/seal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const exa::io::crypto::OpenSslCrypto crypto;
    const exa::ClusterId cluster = exa::cluster_id("exaserve");
    // Nothing here seals with this key, or the fuzzer would learn authentic packets from the comparison below.
    exa::wire::Opener strict(crypto, cluster);
    strict.set_keys(std::vector{exa::cluster_key(crypto, exa::KeySecret{1})});
    if (strict.open({data, size}).has_value() || strict.senders() != 0) std::abort();

    const exa::ClusterKey key = exa::cluster_key(crypto, exa::KeySecret{2});
    exa::wire::Opener opener(crypto, cluster);
    opener.set_keys(std::vector{key});
    // The bytes laid over an authentic packet, behind the key id.
    exa::wire::Sealer sealer(crypto, cluster, exa::PeerId{1}, exa::Generation{1}, 1);
    const exa::Bytes authentic = sealer.seal(key, {data, std::min(size, exa::wire::packet_bytes_max)}).value();
    exa::Bytes changed = authentic;
    for (std::size_t i = 0; i < size && 5 + i < changed.size(); ++i) changed[5 + i] ^= data[i];
    if (opener.open(changed).has_value() != (changed == authentic)) std::abort();
    if (opener.senders() > 1) std::abort();
    return 0;
}
