#include "app/kv/service.h"

#include <stdlib.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <set>

#include "io/clock/system_clock.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

struct Fixture {
    explicit Fixture(KvServiceConfig config = {}) {
        auto owned = std::make_unique<FakeDisk>();
        disk = owned.get();
        service = std::make_unique<KvService>(config, sealer, std::move(owned), [] { return WallTime{}; });
    }
    ~Fixture() {
        if (!service) return;
        disk->hold_reads(false);
        disk->hold_writes(false);
    }

    void offer(std::uint8_t n) {
        auto [head, buffer] = segment_of(n);
        service->offer(head, std::move(buffer));
    }
    void keep(std::initializer_list<std::uint8_t> numbers) {
        for (const std::uint8_t n : numbers) disk->keep(sealed(n));
    }
    std::vector<int> load(std::initializer_list<std::uint8_t> numbers) {
        Basket basket;
        service->load(keys_of(numbers), basket.sink());
        return basket.wait();
    }

    FakeDisk* disk = nullptr;
    std::unique_ptr<KvService> service;
};

constexpr std::size_t sealed_bytes = exa::kv::segment_header_size + 100;

// Others that have some segments, and say so on the caller's thread.
class FakePeers final : public FakeKvPeers {
  public:
    void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool> held, const exa::kv::FetchTerms& terms,
              Sink sink) override {
        asked_on = terms;
        asked.push_back(chain);
        holdings.push_back(held);
        std::size_t place = 0;
        for (; place < chain.size(); ++place) {
            if (held[place]) continue;
            if (!have.contains(chain[place].bytes[0])) break;
            if (!sink({place, sealed(chain[place].bytes[0]), cold.contains(chain[place].bytes[0])})) return;
        }
        sink({place, nullptr});
    }
    void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment) override {
        stored.push_back(head.key);
    }
    void recover(const exa::kv::SegmentKey& key) override { recovered.push_back(key); }
    node::KvReplicatorStatus status() const override { return {.converged = true, .handed_over = true}; }

    std::set<int> have;
    std::set<int> cold;  // of these, what is read from the cold tier
    exa::kv::FetchTerms asked_on;
    std::vector<std::vector<exa::kv::SegmentKey>> asked;
    std::vector<std::vector<bool>> holdings;
    std::vector<exa::kv::SegmentKey> stored;
    std::vector<exa::kv::SegmentKey> recovered;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_service)

BOOST_AUTO_TEST_CASE(what_was_offered_is_sealed_stored_and_found) {
    Fixture f;
    BOOST_TEST(!f.service->has(key_of(1)));
    f.offer(1);
    f.disk->wait_for_puts(1);
    BOOST_TEST(f.service->has(key_of(1)));
    BOOST_TEST(sealer.verify(key_of(1), f.disk->get({}, key_of(1))->view()).has_value());
    BOOST_TEST(f.load({1}) == std::vector<int>{1}, boost::test_tools::per_element());
    BOOST_TEST(f.service->stats().hits_memory == 1U);
    BOOST_TEST(f.service->stats().finished == 1U);
}

BOOST_AUTO_TEST_CASE(the_longest_run_of_keys_comes_in_order_from_memory_and_disk) {
    Fixture f;
    f.keep({2, 3, 5});
    f.offer(1);
    f.disk->wait_for_puts(1);
    BOOST_TEST(f.load({1, 2, 3, 4, 5}) == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    const KvStats stats = f.service->stats();
    BOOST_TEST(stats.hits_memory == 1U);
    BOOST_TEST(stats.hits_disk == 2U);
    BOOST_TEST(stats.misses == 1U);
    // Now they are in memory.
    BOOST_TEST(f.load({2, 3}).size() == 2U);
    BOOST_TEST(f.service->stats().hits_disk == 2U);
}

BOOST_AUTO_TEST_CASE(a_full_queue_takes_no_more_and_blocks_nobody) {
    Fixture f({.queue_bytes_max = 2 * sealed_bytes});
    f.disk->hold_writes(true);
    f.offer(1);
    f.offer(2);
    BOOST_TEST(!f.service->has_room(sealed_bytes));
    BOOST_TEST(f.service->stats().dropped == 1U);
    BOOST_TEST(f.service->stats().queued_segments == 2U);
    // What is queued can be had before the disk has it.
    BOOST_TEST(f.load({1, 2}).size() == 2U);
    f.disk->hold_writes(false);
    f.disk->wait_for_puts(2);
    while (f.service->stats().queued_segments > 0) std::this_thread::yield();
    BOOST_TEST(f.service->has_room(sealed_bytes));
}

BOOST_AUTO_TEST_CASE(no_two_sealings_share_a_nonce) {
    Fixture f;
    std::set<AeadNonce> nonces{AeadNonce{}};
    for (std::uint8_t n = 1; n <= 3; ++n) {
        f.offer(n);
        f.disk->wait_for_puts(n);
        nonces.insert(exa::kv::parse_segment(f.disk->get({}, key_of(n))->view()).value().nonce);
    }
    for (int twice = 0; twice < 2; ++twice) {
        auto [head, buffer] = segment_of(4);
        f.service->put(head, std::move(buffer));
        nonces.insert(exa::kv::parse_segment(f.disk->get({}, key_of(4))->view()).value().nonce);
    }
    BOOST_TEST(nonces.size() == 6U);
}

BOOST_AUTO_TEST_CASE(who_has_enough_is_told_no_more) {
    Fixture f;
    f.keep({1, 2, 3});
    Basket basket(2);
    f.service->load(keys_of({1, 2, 3}), basket.sink());
    BOOST_TEST(basket.wait().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_disk_that_refuses_costs_nothing_but_the_place_on_it) {
    Fixture f;
    f.disk->full = true;
    f.offer(1);
    f.disk->wait_for_puts(1);
    BOOST_TEST(f.load({1}).size() == 1U);
    // It may have room by now.
    f.disk->full = false;
    while (f.service->stats().refused == 0) std::this_thread::yield();
    BOOST_TEST(!f.service->has(key_of(1)));
}

BOOST_AUTO_TEST_CASE(what_waits_for_the_disk_is_not_where_it_shall_be) {
    Fixture f;
    FakePeers peers;
    f.service->set_peers(peers);
    BOOST_TEST(f.service->stats().peers->converged);
    f.disk->hold_writes(true);
    f.offer(1);
    const node::KvReplicatorStatus stats = f.service->stats().peers.value();
    BOOST_TEST(!stats.converged);
    BOOST_TEST(!stats.handed_over);
    BOOST_TEST(stats.waiting == 1U);
    f.disk->hold_writes(false);
    while (!f.service->stats().peers->converged) std::this_thread::yield();
    BOOST_TEST(f.service->stats().peers->handed_over);
}

BOOST_AUTO_TEST_CASE(what_neither_memory_nor_disk_has_peers_are_asked_for_and_it_is_kept) {
    Fixture f;
    FakePeers peers;
    peers.have = {2, 3};
    f.service->set_peers(peers);
    f.disk->keep(sealed(1));
    BOOST_TEST(f.load({1, 2, 3, 4}) == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST_REQUIRE(peers.asked.size() == 1U);
    BOOST_TEST(peers.asked.front() == keys_of({2, 3, 4}));
    f.disk->wait_for_puts(2);
    BOOST_TEST(f.disk->get({}, key_of(3)) != nullptr);
    BOOST_TEST(f.service->stats().hits_peers == 2U);
    BOOST_TEST(f.service->stats().misses == 1U);
    // They are told of what was made here, and of nothing else.
    f.offer(9);
    f.disk->wait_for_puts(3);
    f.service.reset();
    BOOST_TEST(peers.stored == keys_of({9}));
}

BOOST_AUTO_TEST_CASE(the_end_stores_what_is_queued_and_ends_every_load) {
    auto owned = std::make_unique<FakeDisk>();
    FakeDisk& disk = *owned;
    Basket basket;
    Basket waiting;
    std::size_t puts = 0;
    {
        KvService service({.loaders = 1}, sealer, std::move(owned), [] { return WallTime{}; });
        disk.keep(sealed(1));
        disk.hold_reads(true);
        service.load(keys_of({1}), basket.sink());
        disk.wait_for_gets(1);
        service.load(keys_of({1}), waiting.sink());
        for (std::uint8_t n = 10; n < 30; ++n) {
            auto [head, buffer] = segment_of(n);
            service.offer(head, std::move(buffer));
        }
        disk.wait_for_puts(20);
        disk.hold_reads(false);
        puts = 20;
    }
    BOOST_TEST(puts == 20U);
    BOOST_TEST(basket.wait().size() <= 1U);
    BOOST_TEST(waiting.wait().size() <= 1U);
}

BOOST_AUTO_TEST_CASE(after_the_stop_nothing_is_kept_found_or_begun) {
    Fixture f;
    f.keep({1});
    bool ran = false;
    BOOST_TEST(f.service->post([&] { ran = true; }));
    f.service->stop();
    BOOST_TEST(ran);
    BOOST_TEST(!f.service->post([] {}));
    f.offer(2);
    BOOST_TEST(f.service->stats().queued_segments == 0U);
    BOOST_TEST(f.load({1}).empty());
}

BOOST_AUTO_TEST_CASE(what_is_bad_on_the_disk_is_to_be_recovered_whoever_finds_it) {
    Fixture f;
    FakePeers peers;
    f.service->set_peers(peers);
    f.keep({1});
    f.disk->keep(rotten(2));
    f.disk->keep(rotten(3));
    const io::store::ScrubReport report = f.service->scrub(std::nullopt, 10);
    BOOST_TEST(report.checked == 3U);
    BOOST_TEST(report.lost == keys_of({2, 3}));
    BOOST_TEST(peers.recovered == keys_of({2, 3}));
    const KvStats stats = f.service->stats();
    BOOST_TEST(stats.scrubbed == 3U);
    BOOST_TEST(stats.scrub_dropped == 2U);
    // Another peer asks for it before it is scrubbed.
    peers.recovered.clear();
    f.disk->keep(rotten(4));
    for (const std::uint8_t n : std::initializer_list<std::uint8_t>{1, 4, 5}) {
        std::promise<exa::kv::SealedSegment> got;
        f.service->fetch(key_of(n), [&](exa::kv::SealedSegment segment) { got.set_value(std::move(segment)); });
        BOOST_TEST((got.get_future().get() != nullptr) == (n == 1));
    }
    BOOST_TEST(peers.recovered == keys_of({4}));
    f.service->stop();
}

BOOST_AUTO_TEST_CASE(without_a_disk_memory_is_all_there_is) {
    KvService service({}, sealer, nullptr, [] { return WallTime{}; });
    auto [head, buffer] = segment_of(1);
    BOOST_TEST(!service.has(head.key));
    service.offer(head, std::move(buffer));
    Basket basket;
    service.load(keys_of({1, 2}), basket.sink());
    BOOST_TEST(basket.wait().size() == 1U);
    BOOST_TEST(service.has(head.key));
    BOOST_TEST(!service.stats().disk.has_value());
    BOOST_TEST(service.erase(head.key));
    BOOST_TEST(service.get(head.key) == nullptr);
}

BOOST_AUTO_TEST_CASE(what_ages_on_the_disk_goes_to_the_cold_tier_and_peers_can_fetch_it_from_there) {
    std::string directory = "/var/tmp/exaserve-kv-service-XXXXXX";
    BOOST_TEST_REQUIRE(::mkdtemp(directory.data()) != nullptr);
    NullLog log;
    auto owned = std::make_unique<FakeDisk>();
    FakeDisk& disk = *owned;
    const io::cold::ColdClock clock{[] { return io::clock::SystemClock().now(); }, [] { return WallTime{}; }};
    io::cold::ColdConfig config;
    config.write_pause = std::chrono::milliseconds{1};
    KvService service(
        {}, sealer, std::move(owned), [] { return WallTime{}; },
        std::make_unique<io::cold::ColdStore>(config, PeerId{1}, io::cold::cold_files(directory), sealer, clock, log));
    const auto fetch = [&](std::uint8_t n) {
        std::promise<exa::kv::SealedSegment> promise;
        service.fetch(key_of(n), [&](exa::kv::SealedSegment segment) { promise.set_value(std::move(segment)); });
        return promise.get_future().get() != nullptr;
    };
    for (std::uint8_t n = 1; n <= 2; ++n) {
        disk.keep(sealed(n));
        disk.age(key_of(n));
    }
    disk.wait_for_settled();
    const auto keys = keys_of({1, 2});
    disk.erase(keys);
    BOOST_TEST(!service.has(key_of(1)));
    BOOST_TEST(fetch(1));
    BOOST_TEST(!fetch(3));
    // It is here again, for the next one.
    disk.wait_for_puts(1);
    BOOST_TEST(disk.has({}, key_of(1)));
    BOOST_TEST(!disk.has({}, key_of(2)));
    BOOST_TEST(fetch(1));
    service.stop();
    BOOST_TEST(service.stats().cold->written == 2U);
    BOOST_TEST(service.stats().cold->reads == 1U);
    BOOST_TEST(service.stats().cold->missing == 1U);
    std::filesystem::remove_all(directory);
}

BOOST_AUTO_TEST_CASE(what_others_read_from_the_cold_tier_and_what_was_read_here_are_counted_apart) {
    Fixture f;
    FakePeers peers;
    peers.have = {1, 2, 3};
    peers.cold = {2, 3};
    f.service->set_peers(peers);
    Basket basket;
    const exa::kv::FetchTerms terms{TimePoint{std::chrono::seconds{7}}, std::chrono::milliseconds{5}};
    f.service->load(keys_of({1, 2, 3}), basket.sink(), terms);
    BOOST_TEST(basket.wait().size() == 3U);
    BOOST_TEST(peers.asked_on.deadline == terms.deadline);
    BOOST_TEST(peers.asked_on.compute == terms.compute);
    BOOST_TEST(f.service->stats().hits_peers == 1U);
    BOOST_TEST(f.service->stats().hits_cold == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
