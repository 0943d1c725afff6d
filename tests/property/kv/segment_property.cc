// Whatever happens to sealed bytes, they verify only if nothing did.
#include "kv/segment.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"

using namespace exa;
using namespace exa::kv;

namespace {

const io::crypto::OpenSslCrypto crypto;

SegmentHead some_head() {
    SegmentHead head;
    head.key = {crypto.sha256(*rc::gen::container<Bytes>(rc::gen::arbitrary<std::uint8_t>()))};
    head.parent = {crypto.sha256(*rc::gen::container<Bytes>(rc::gen::arbitrary<std::uint8_t>()))};
    head.stamp = *rc::gen::arbitrary<std::uint64_t>();
    head.tenant = *rc::gen::arbitrary<std::uint64_t>();
    head.expires_s = *rc::gen::arbitrary<std::uint64_t>();
    head.tokens = *rc::gen::arbitrary<std::uint32_t>();
    head.kind = static_cast<SegmentKind>(*rc::gen::inRange(0u, 3u));
    for (std::uint8_t& byte : head.nonce) byte = *rc::gen::arbitrary<std::uint8_t>();
    return head;
}

Bytes sealed(const SegmentSealer& sealer, const SegmentHead& head, const Bytes& payload) {
    SegmentBuffer buffer(segment_header_size + payload.size());
    std::copy(payload.begin(), payload.end(), buffer.bytes().begin() + segment_header_size);
    sealer.seal(head, buffer);
    const ByteView view = buffer.view();
    return {view.begin(), view.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(segment_property)

BOOST_AUTO_TEST_CASE(sealed_bytes_verify_until_anything_changes) {
    const SegmentSealer sealer(crypto, as_bytes("secret"));
    const bool held = rc::check([&] {
        const SegmentHead head = some_head();
        const auto payload = *rc::gen::arbitrary<Bytes>();
        const Bytes bytes = sealed(sealer, head, payload);
        const auto verified = sealer.verify(head.key, bytes);
        RC_ASSERT(verified.has_value());
        RC_ASSERT(verified.value().tenant == head.tenant);
        RC_ASSERT(verified.value().stamp == head.stamp);
        RC_ASSERT(std::ranges::equal(payload_of(bytes), payload));

        Bytes changed = bytes;
        const auto writes = *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(
            rc::gen::pair(rc::gen::inRange<std::size_t>(0, bytes.size()), rc::gen::arbitrary<std::uint8_t>()));
        for (const auto& [at, byte] : writes) changed[at] = byte;
        if (*rc::gen::arbitrary<bool>()) changed.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 10));
        RC_ASSERT(sealer.verify(head.key, changed).has_value() == (changed == bytes));
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(two_writers_of_one_text_never_pass_for_each_other_under_different_secrets) {
    const bool held = rc::check([] {
        const auto secrets = *rc::gen::pair(rc::gen::arbitrary<Bytes>(), rc::gen::arbitrary<Bytes>());
        RC_PRE(secrets.first != secrets.second);
        const SegmentHead head = some_head();
        const auto payload = *rc::gen::arbitrary<Bytes>();
        const Bytes bytes = sealed(SegmentSealer(crypto, secrets.first), head, payload);
        RC_ASSERT(!SegmentSealer(crypto, secrets.second).verify(head.key, bytes).has_value());
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
