#include "sim/kv/store.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "sim/kv/conversations.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;

namespace {

struct World {
    explicit World(std::uint64_t segments = 100, Mutant mutant = Mutant::none)
        : sealer(crypto, as_bytes("secret"), mutant), store(sealer, disk, segments * kv::segment_block, Rng(1)) {
        while (conversations.conversation(0).segments.size() < 200) conversations.grow(0, 10);
        all = conversations.conversation(0).segments;
    }

    KvStore::Begun begin(std::size_t number) {
        return store.begin(now, conversations.make(sealer, all[number], number), gone);
    }
    bool put(std::size_t number) {
        if (begin(number) != KvStore::Begun::writing) return false;
        store.finish(now, all[number].key);
        return true;
    }
    bool has(std::size_t number) { return store.get(now, all[number].key) != nullptr; }

    io::crypto::OpenSslCrypto crypto;
    kv::SegmentSealer sealer;
    Disk disk{Rng(2)};
    KvStore store;
    Conversations conversations{crypto, {.conversations = 1, .segments_max = 500}, Mutant::none, Rng(3)};
    std::vector<Conversations::Segment> all;
    std::vector<kv::SegmentKey> gone;
    WallTime now{1'000'000'000};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_store)

BOOST_AUTO_TEST_CASE(what_was_not_finished_is_lost_in_a_crash_and_never_seen) {
    World world;
    BOOST_TEST(world.put(0));
    BOOST_TEST(world.begin(1) == KvStore::Begun::writing);
    BOOST_TEST(!world.store.find(world.all[1].key).has_value());
    world.store.crash();
    world.store.finish(world.now, world.all[1].key);
    BOOST_TEST(world.has(0));
    BOOST_TEST(!world.has(1));
    BOOST_TEST(world.store.effects().lost == 1U);
}

BOOST_AUTO_TEST_CASE(it_stays_within_its_capacity_and_says_who_went) {
    World world(100);
    std::size_t stored = 0;
    for (std::size_t number = 0; number < 200; ++number) {
        stored += world.put(number) ? 1 : 0;
        BOOST_TEST(world.store.physical_bytes() <= world.store.capacity());
    }
    BOOST_TEST(stored == 200U);
    BOOST_TEST(world.gone.size() >= 100U);
    BOOST_TEST(world.has(199));
}

BOOST_AUTO_TEST_CASE(a_full_disk_refuses) {
    World world;
    world.disk.faults().full = true;
    BOOST_TEST(world.begin(0) == KvStore::Begun::refused);
    BOOST_TEST(world.disk.effects().writes_refused == 1U);
}

BOOST_AUTO_TEST_CASE(a_rotten_bit_is_a_miss_unless_nothing_is_verified) {
    const auto held_after_rot = [](Mutant mutant) {
        World world(100, mutant);
        for (std::size_t number = 0; number < 20; ++number) world.put(number);
        for (std::size_t times = 0; times < 60; ++times) BOOST_TEST(world.store.rot());
        std::size_t held = 0;
        for (std::size_t number = 0; number < 20; ++number) {
            held += world.has(number) ? 1 : 0;
            BOOST_TEST(world.has(number) == world.store.find(world.all[number].key).has_value());
        }
        return held;
    };
    BOOST_TEST(held_after_rot(Mutant::none) < 5U);
    BOOST_TEST(held_after_rot(Mutant::mac_unchecked) > 5U);
}

BOOST_AUTO_TEST_CASE(a_second_write_of_a_segment_joins_the_first_one) {
    World world;
    BOOST_TEST(world.begin(0) == KvStore::Begun::writing);
    BOOST_TEST(world.begin(0) == KvStore::Begun::writing);
    world.store.finish(world.now, world.all[0].key);
    world.store.finish(world.now, world.all[0].key);
    BOOST_TEST(world.has(0));
    BOOST_TEST(world.store.effects().stored == 1U);
    BOOST_TEST(world.begin(0) == KvStore::Begun::present);
}

BOOST_AUTO_TEST_CASE(a_misdirected_write_spoils_another_segment) {
    World world;
    world.put(0);
    world.store.misdirect();
    world.put(1);
    BOOST_TEST(world.has(1));
    BOOST_TEST(!world.has(0));
}

BOOST_AUTO_TEST_SUITE_END()
