// Segments from a disk or a peer: parsing and verifying end in a value or an error, and only what was sealed verifies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/crypto/openssl_crypto.h"
#include "kv/segment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const exa::io::crypto::OpenSslCrypto crypto;
    // Nothing here seals under this secret, or the fuzzer would learn what verifies.
    static const exa::kv::SegmentSealer strict(crypto, exa::as_bytes("nobody's"));
    static const exa::kv::SegmentSealer sealer(crypto, exa::as_bytes("ours"));
    const auto parsed = exa::kv::parse_segment({data, size});
    if (parsed.has_value() && strict.verify(parsed.value().key, {data, size}).has_value()) std::abort();

    // The bytes laid over a sealed segment.
    exa::kv::SegmentHead head;
    head.key = {crypto.sha256(exa::ByteView(data, size))};
    exa::kv::SegmentBuffer buffer(exa::kv::segment_header_size + std::min<std::size_t>(size, 1024));
    std::copy_n(data, buffer.size() - exa::kv::segment_header_size,
                buffer.bytes().begin() + exa::kv::segment_header_size);
    sealer.seal(head, buffer);
    const exa::Bytes sealed(buffer.view().begin(), buffer.view().end());
    exa::Bytes changed = sealed;
    for (std::size_t i = 0; i < size && i < changed.size(); ++i) changed[i] ^= data[i];
    if (sealer.verify(head.key, changed).has_value() != (changed == sealed)) std::abort();
    return 0;
}
