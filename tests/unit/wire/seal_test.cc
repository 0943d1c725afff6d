#include "wire/seal.h"
#include "support/print.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "base/rng.h"
#include "io/crypto/openssl_crypto.h"
#include "samples.h"
#include "wire/errc.h"

using exa::as_bytes;
using exa::Bytes;
using exa::ClusterKey;
using exa::Generation;
using exa::PeerId;
using exa::wire::errc;
using exa::wire::Opener;
using exa::wire::ReplayWindow;
using exa::wire::Sealer;

namespace {

const exa::io::crypto::OpenSslCrypto crypto;
const exa::ClusterId cluster = exa::cluster_id("sealed");
const Bytes plain(300, 0x61);

ClusterKey key(std::uint8_t with) {
    exa::KeySecret secret;
    secret.fill(with);
    return exa::cluster_key(crypto, secret);
}

Sealer sealer(std::uint64_t peer = 1, std::uint64_t generation = 1, std::uint32_t instance = 7) {
    return {crypto, cluster, PeerId{peer}, Generation{generation}, instance};
}

Opener opener(std::vector<ClusterKey> keys, std::size_t senders_max = 8192) {
    Opener opener(crypto, cluster, senders_max);
    opener.set_keys(keys);
    return opener;
}

std::error_code error_of(Opener& opener, exa::ByteView packet) {
    const auto opened = opener.open(packet);
    return opened ? std::error_code{} : opened.error().code;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(seal)

BOOST_AUTO_TEST_CASE(a_sealed_packet_opens_with_its_key_and_names_its_sender) {
    Sealer from = sealer(5, 3, 9);
    Opener to = opener({key(1), key(2)});
    const Bytes packet = from.seal(key(2), plain).value();
    const auto opened = to.open(packet);
    BOOST_TEST_REQUIRE(opened.has_value());
    BOOST_TEST(opened.value().plain == plain);
    const exa::wire::SealHeader header{key(2).id, PeerId{5}, Generation{3}, 9, 1};
    BOOST_TEST(opened.value().header == header);
    BOOST_TEST(exa::wire::decode_seal_header(packet).value() == header);
}

BOOST_AUTO_TEST_CASE(the_largest_packet_fits_a_datagram_with_its_seal) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const Bytes largest(exa::wire::packet_bytes_max, 1);
    const Bytes packet = from.seal(key(1), largest).value();
    BOOST_TEST(packet.size() <= exa::wire::datagram_bytes_max);
    BOOST_TEST(to.open(packet).value().plain == largest);
}

BOOST_AUTO_TEST_CASE(no_plain_packet_looks_sealed) {
    BOOST_TEST(!exa::wire::is_sealed(exa::wire::encode(exa::wire::samples::packet()).value()));
    exa::wire::Packet least;
    least.header = exa::wire::samples::header();
    BOOST_TEST(!exa::wire::is_sealed(exa::wire::encode(least).value()));
    BOOST_TEST(!exa::wire::is_sealed({}));
    // The other way round: the mark announces more words than a decoder takes.
    Bytes marked(200, 0xff);
    marked[0] = exa::wire::seal_mark;
    BOOST_TEST(!exa::wire::decode_packet(marked, cluster).has_value());
}

BOOST_AUTO_TEST_CASE(a_changed_bit_anywhere_opens_nothing) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const Bytes packet = from.seal(key(1), as_bytes("news")).value();
    for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
        Bytes changed = packet;
        changed[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        BOOST_TEST(!to.open(changed).has_value(), "bit " << bit);
    }
    BOOST_TEST(to.senders() == 0U);
    BOOST_TEST(to.open(packet).has_value());
}

BOOST_AUTO_TEST_CASE(every_truncation_opens_nothing) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const Bytes packet = from.seal(key(1), as_bytes("news")).value();
    for (std::size_t size = 0; size < packet.size(); ++size)
        BOOST_TEST(!to.open(exa::ByteView(packet).first(size)).has_value(), "size " << size);
    BOOST_TEST(error_of(to, exa::ByteView(packet).first(20)) == errc::truncated);
    BOOST_TEST(error_of(to, {}) == errc::not_sealed);
}

BOOST_AUTO_TEST_CASE(more_than_a_datagram_is_not_looked_at) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const Bytes packet = from.seal(key(1), Bytes(exa::wire::datagram_bytes_max, 1)).value();
    BOOST_TEST(error_of(to, packet) == errc::oversized);
}

BOOST_AUTO_TEST_CASE(random_bytes_leave_no_trace) {
    Opener to = opener({key(1)});
    exa::Rng rng(7);
    for (int i = 0; i < 500; ++i) {
        Bytes garbage(rng.below(200));
        for (auto& byte : garbage) byte = static_cast<std::uint8_t>(rng.next());
        if (!garbage.empty()) garbage[0] = exa::wire::seal_mark;
        // A stranger may know the id of a key: it stands in every packet.
        if (garbage.size() > 5) std::copy_n(sealer().seal(key(1), {}).value().begin() + 1, 4, garbage.begin() + 1);
        BOOST_TEST(!to.open(garbage).has_value());
    }
    BOOST_TEST(to.senders() == 0U);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_held_is_named) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const auto refused = to.open(from.seal(key(2), plain).value());
    BOOST_TEST(refused.error().code == errc::unknown_key);
    BOOST_TEST(refused.error().detail == to_string(key(2).id));
}

BOOST_AUTO_TEST_CASE(another_clusters_packet_is_not_authentic_although_the_key_is_the_same) {
    Sealer from(crypto, exa::cluster_id("other"), PeerId{1}, Generation{1}, 7);
    Opener to = opener({key(1)});
    BOOST_TEST(error_of(to, from.seal(key(1), plain).value()) == errc::not_authentic);
}

BOOST_AUTO_TEST_CASE(a_packet_opens_once) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    const Bytes packet = from.seal(key(1), plain).value();
    BOOST_TEST(to.open(packet).has_value());
    BOOST_TEST(error_of(to, packet) == errc::replayed);
}

BOOST_AUTO_TEST_CASE(late_packets_open_within_the_window_and_each_once) {
    Sealer from = sealer();
    Opener to = opener({key(1)});
    std::vector<Bytes> packets;
    for (std::uint64_t i = 0; i < ReplayWindow::window + 100; ++i) packets.push_back(from.seal(key(1), {}).value());
    BOOST_TEST(to.open(packets.back()).has_value());
    for (std::size_t i = 0; i + 1 < packets.size(); ++i) {
        const bool in_window = packets.size() - 1 - i < ReplayWindow::window;
        BOOST_TEST(to.open(packets[i]).has_value() == in_window, "packet " << i);
        BOOST_TEST(!to.open(packets[i]).has_value());
    }
}

BOOST_AUTO_TEST_CASE(instances_of_one_peer_share_no_subkey) {
    const Bytes first = sealer(1, 1, 7).seal(key(1), plain).value();
    const Bytes restarted = sealer(1, 2, 7).seal(key(1), plain).value();
    const Bytes clone = sealer(1, 1, 8).seal(key(1), plain).value();
    const auto body = [](const Bytes& packet) {
        return Bytes(packet.begin() + exa::wire::seal_header_bytes, packet.end());
    };
    BOOST_TEST(body(first) != body(restarted));
    BOOST_TEST(body(first) != body(clone));
}

BOOST_AUTO_TEST_CASE(packets_of_an_earlier_instance_open_no_second_time) {
    Opener to = opener({key(1)});
    std::vector<Bytes> packets;
    for (std::uint64_t generation = 1; generation < 5; ++generation) {
        Sealer from = sealer(1, generation);
        for (int i = 0; i < 3; ++i) packets.push_back(from.seal(key(1), plain).value());
        BOOST_TEST(to.open(packets.back()).has_value());
    }
    for (std::size_t i = 0; i < packets.size(); ++i) {
        // What is merely late opens once: a peer with an old disk is to be heard, and told.
        BOOST_TEST(to.open(packets[i]).has_value() == (i % 3 != 2), "packet " << i);
        BOOST_TEST(error_of(to, packets[i]) == errc::replayed);
    }
    BOOST_TEST(to.senders() == 1U);
}

BOOST_AUTO_TEST_CASE(of_very_many_instances_the_oldest_open_nothing_more) {
    Opener to = opener({key(1)});
    std::vector<Bytes> packets;
    for (std::uint64_t generation = 1; generation <= 2 * Opener::instances_max; ++generation) {
        Sealer from = sealer(1, generation, static_cast<std::uint32_t>(generation));
        packets.push_back(from.seal(key(1), plain).value());
        BOOST_TEST(to.open(packets.back()).has_value());
    }
    for (const Bytes& packet : packets) BOOST_TEST(error_of(to, packet) == errc::replayed);
    BOOST_TEST(error_of(to, sealer(1, 1, 99).seal(key(1), plain).value()) == errc::replayed);
    BOOST_TEST(to.open(sealer(1, 2 * Opener::instances_max, 99).seal(key(1), plain).value()).has_value());
}

BOOST_AUTO_TEST_CASE(a_key_that_comes_back_brings_nothing_back) {
    Sealer from = sealer();
    Opener to = opener({key(1), key(2)});
    const Bytes packet = from.seal(key(1), plain).value();
    BOOST_TEST(to.open(packet).has_value());
    to.set_keys(std::vector{key(2)});
    to.set_keys(std::vector{key(1), key(2)});
    BOOST_TEST(error_of(to, packet) == errc::replayed);
    BOOST_TEST(to.open(from.seal(key(1), plain).value()).has_value());
}

BOOST_AUTO_TEST_CASE(keys_that_take_turns_share_one_entry_and_one_window) {
    Sealer from = sealer();
    std::vector<ClusterKey> keys;
    for (std::uint8_t with = 1; with <= 6; ++with) keys.push_back(key(with));
    Opener to = opener(keys);
    std::vector<Bytes> packets;
    for (int round = 0; round < 3; ++round)
        for (const ClusterKey& with : keys) {
            packets.push_back(from.seal(with, plain).value());
            BOOST_TEST(to.open(packets.back()).has_value());
        }
    for (const Bytes& packet : packets) BOOST_TEST(error_of(to, packet) == errc::replayed);
    BOOST_TEST(to.senders() == 1U);
}

BOOST_AUTO_TEST_CASE(senders_are_bounded_and_the_least_recently_heard_goes_first) {
    Opener to = opener({key(1)}, 3);
    Sealer first = sealer(1);
    const Bytes replayed = first.seal(key(1), plain).value();
    BOOST_TEST(to.open(replayed).has_value());
    for (std::uint64_t peer = 2; peer < 40; ++peer) {
        BOOST_TEST(to.open(sealer(peer).seal(key(1), plain).value()).has_value());
        // Heard all the time, it keeps its entry, and with it the memory of what it sent.
        BOOST_TEST(to.open(first.seal(key(1), plain).value()).has_value());
    }
    BOOST_TEST(to.senders() == 3U);
    BOOST_TEST(error_of(to, replayed) == errc::replayed);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_taken_away_opens_nothing_more) {
    Sealer from = sealer();
    Opener to = opener({key(1), key(2)});
    BOOST_TEST(to.open(from.seal(key(1), plain).value()).has_value());
    BOOST_TEST(to.open(from.seal(key(2), plain).value()).has_value());
    to.set_keys(std::vector{key(2)});
    BOOST_TEST(to.senders() == 1U);
    BOOST_TEST(error_of(to, from.seal(key(1), plain).value()) == errc::unknown_key);
    BOOST_TEST(to.open(from.seal(key(2), plain).value()).has_value());
}

BOOST_AUTO_TEST_CASE(a_nonce_never_comes_twice_whatever_keys_take_turns) {
    Sealer from = sealer();
    std::vector<std::uint64_t> counters;
    for (std::uint8_t turn = 0; turn < 60; ++turn)
        counters.push_back(
            exa::wire::decode_seal_header(from.seal(key(static_cast<std::uint8_t>(turn % 7)), plain).value())
                .value()
                .counter);
    BOOST_TEST(std::ranges::adjacent_find(counters, std::ranges::greater_equal{}) == counters.end());
}

BOOST_AUTO_TEST_CASE(a_sealer_without_counters_seals_nothing_more) {
    Sealer from(crypto, cluster, PeerId{1}, Generation{1}, 7, 2);
    BOOST_TEST(from.seal(key(1), plain).has_value());
    BOOST_TEST(from.seal(key(1), plain).has_value());
    BOOST_TEST(from.seal(key(1), plain).error().code == errc::seal_used_up);
    BOOST_TEST(from.seal(key(2), plain).error().code == errc::seal_used_up);
}

BOOST_AUTO_TEST_SUITE_END()
