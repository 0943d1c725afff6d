#include "io/link/psk.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::crypto;
using namespace exa::io::link;
using exa::Bytes;
using exa::ClusterId;
using exa::Digest;
using exa::KeyId;
using exa::PeerId;

namespace {

constexpr PskIdentity sample{KeyId{0x01020304}, PeerId{0x1112131415161718}, PeerId{0x2122232425262728}};

}  // namespace

BOOST_AUTO_TEST_SUITE(psk)

BOOST_AUTO_TEST_CASE(identity_is_version_key_initiator_and_acceptor) {
    const auto bytes = encode_psk_identity(sample);
    BOOST_TEST(exa::to_hex(bytes) ==
               "01"
               "04030201"
               "1817161514131211"
               "2827262524232221");
    BOOST_TEST(decode_psk_identity(bytes) == sample);
}

BOOST_AUTO_TEST_CASE(anything_else_is_no_identity) {
    const auto good = encode_psk_identity(sample);
    for (std::size_t size = 0; size < good.size(); ++size)
        BOOST_TEST(!decode_psk_identity(exa::ByteView(good).first(size)).has_value());
    Bytes longer(good.begin(), good.end());
    longer.push_back(0);
    BOOST_TEST(!decode_psk_identity(longer).has_value());
    auto other_version = good;
    other_version[0] = 2;
    BOOST_TEST(!decode_psk_identity(other_version).has_value());
    for (const PskIdentity& nobody :
         {PskIdentity{KeyId{}, sample.initiator, sample.acceptor}, PskIdentity{sample.key, PeerId{}, sample.acceptor},
          PskIdentity{sample.key, sample.initiator, PeerId{}}})
        BOOST_TEST(!decode_psk_identity(encode_psk_identity(nobody)).has_value());
}

BOOST_AUTO_TEST_CASE(secret_cluster_and_either_peer_change_the_psk) {
    const OpenSslCrypto crypto;
    const exa::KeySecret secret{1, 2, 3};
    const ClusterId cluster{7};
    std::set<Digest> seen;
    seen.insert(derive_psk(crypto, secret, cluster, sample));
    seen.insert(derive_psk(crypto, exa::KeySecret{1, 2, 4}, cluster, sample));
    seen.insert(derive_psk(crypto, secret, ClusterId{8}, sample));
    seen.insert(derive_psk(crypto, secret, cluster, {sample.key, sample.acceptor, sample.initiator}));
    seen.insert(derive_psk(crypto, secret, cluster, {sample.key, sample.initiator, PeerId{3}}));
    BOOST_TEST(seen.size() == 5);
    // What is derived is part of the protocol: peers of neighbouring versions must agree.
    BOOST_TEST(exa::to_hex(derive_psk(crypto, secret, cluster, sample)) ==
               "8e5eb83a3867dbe36455f80d5b1296fbc9337dcca263f8e198d77ee99ac8c118");
}

BOOST_AUTO_TEST_SUITE_END()
