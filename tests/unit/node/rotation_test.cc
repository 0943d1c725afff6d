#include "node/rotation.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "node/errc.h"
#include "support/members.h"
#include "support/print.h"

using namespace exa;
using membership::KeyRing;
using membership::Liveness;
using membership::View;
using node::errc;

namespace {

const io::crypto::OpenSslCrypto crypto;

ClusterKey key(std::uint8_t with) {
    KeySecret secret;
    secret.fill(with);
    return cluster_key(crypto, secret);
}

KeyRing ring(std::vector<ClusterKey> first, std::vector<ClusterKey> later = {}) {
    KeyRing ring;
    ring.add_first(first);
    for (const ClusterKey& key : later) ring.add(key);
    return ring;
}

struct Cluster {
    void add(std::string name, std::vector<ClusterKey> keys, const ClusterKey& primary,
             Liveness liveness = Liveness::alive) {
        wire::PeerRecord record;
        record.id = PeerId{++last};
        record.name = std::move(name);
        for (const ClusterKey& key : keys) record.keys.push_back(key.id);
        std::ranges::sort(record.keys);
        record.primary_key = primary.id;
        view.members.push_back(test::member_of(std::move(record), liveness));
    }

    View view;
    std::uint64_t last = 0;
};

void refused(const Result<void>& checked, errc code, const std::string& names) {
    BOOST_TEST_REQUIRE(checked.has_error());
    BOOST_TEST(checked.error().code == code);
    BOOST_TEST(checked.error().detail.find(names) != std::string::npos, checked.error().detail);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rotation)

BOOST_AUTO_TEST_CASE(a_cluster_without_keys_takes_none) {
    const View nobody;
    refused(node::check_add({}), errc::not_encrypted, "");
    refused(node::check_use(nobody, {}, key(1).id), errc::not_encrypted, "");
    refused(node::check_remove(nobody, {}, key(1).id), errc::not_encrypted, "");
}

BOOST_AUTO_TEST_CASE(more_keys_than_a_rotation_needs_are_refused) {
    KeyRing full = ring({key(0)});
    for (std::uint8_t i = 1; i < KeyRing::installed_max; ++i) {
        BOOST_TEST(node::check_add(full).has_value());
        full.add(key(i));
    }
    refused(node::check_add(full), errc::too_many_keys, "8 keys");
}

BOOST_AUTO_TEST_CASE(a_key_is_used_once_all_who_are_not_lost_hold_it) {
    for (const Liveness liveness : {Liveness::alive, Liveness::suspect, Liveness::dead}) {
        Cluster cluster;
        cluster.add("here", {key(1), key(2)}, key(1));
        cluster.add("slow", {key(1)}, key(1), liveness);
        refused(node::check_use(cluster.view, ring({key(1), key(2)}), key(2).id), errc::would_cut_off, "slow");
    }
    for (const Liveness liveness : {Liveness::lost, Liveness::left}) {
        Cluster cluster;
        cluster.add("here", {key(1), key(2)}, key(1));
        cluster.add("gone", {key(1)}, key(1), liveness);
        BOOST_TEST(node::check_use(cluster.view, ring({key(1), key(2)}), key(2).id).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_somebody_seals_with_stays) {
    Cluster cluster;
    KeyRing keys = ring({key(1)}, {key(2)});
    keys.use(key(2).id);
    cluster.add("here", {key(1), key(2)}, key(2));
    cluster.add("behind", {key(1), key(2)}, key(1), Liveness::lost);
    refused(node::check_remove(cluster.view, keys, key(1).id), errc::would_cut_off, "behind");
    refused(node::check_remove(cluster.view, keys, key(2).id), errc::in_use, "");
    refused(node::check_remove(cluster.view, keys, key(3).id), errc::unknown_key, to_string(key(3).id));
}

BOOST_AUTO_TEST_CASE(nothing_is_removed_while_somebody_remembered_lacks_the_primary) {
    KeyRing keys = ring({key(1)}, {key(2)});
    keys.use(key(2).id);
    for (const Liveness liveness : {Liveness::alive, Liveness::dead, Liveness::lost}) {
        Cluster cluster;
        cluster.add("here", {key(1), key(2)}, key(2));
        cluster.add("never", {key(1)}, key(3), liveness);
        refused(node::check_remove(cluster.view, keys, key(1).id), errc::would_cut_off, "never");
    }
    Cluster cluster;
    cluster.add("here", {key(1), key(2)}, key(2));
    cluster.add("never", {key(1)}, key(3), Liveness::left);
    BOOST_TEST(node::check_remove(cluster.view, keys, key(1).id).has_value());
}

BOOST_AUTO_TEST_CASE(while_one_is_away_only_older_keys_go) {
    const KeyRing keys = ring({key(1)}, {key(2)});
    Cluster all;
    all.add("here", {key(1), key(2)}, key(1));
    BOOST_TEST(node::check_remove(all.view, keys, key(2).id).has_value());
    for (const Liveness liveness : {Liveness::suspect, Liveness::dead, Liveness::lost}) {
        Cluster cluster;
        cluster.add("here", {key(1), key(2)}, key(1));
        cluster.add("away", {key(1), key(2)}, key(1), liveness);
        refused(node::check_remove(cluster.view, keys, key(2).id), errc::would_cut_off, "away");
        KeyRing used = keys;
        used.use(key(2).id);
        Cluster moved;
        moved.add("here", {key(1), key(2)}, key(2));
        moved.add("away", {key(1), key(2)}, key(2), liveness);
        BOOST_TEST(node::check_remove(moved.view, used, key(1).id).has_value());
    }
}

BOOST_AUTO_TEST_CASE(members_that_were_not_met_since_the_start_are_named) {
    BOOST_TEST(node::check_rejoined(true).has_value());
    refused(node::check_rejoined(false), errc::not_rejoined, "");
    BOOST_TEST(node::check_met({}).has_value());
    refused(node::check_met({{PeerId{1}, {}, "one"}, {PeerId{2}, {}, "two"}}), errc::would_cut_off, "one, two");
}

BOOST_AUTO_TEST_CASE(many_names_are_cut_short) {
    Cluster cluster;
    for (int i = 0; i < 20; ++i) cluster.add("peer-" + std::to_string(i), {key(1)}, key(1));
    refused(node::check_use(cluster.view, ring({key(1), key(2)}), key(2).id), errc::would_cut_off, "and 12 more");
}

BOOST_AUTO_TEST_SUITE_END()
