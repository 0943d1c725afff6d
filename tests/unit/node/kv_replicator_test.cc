#include "node/kv_replicator.h"

#include <boost/test/unit_test.hpp>

#include "io/crypto/openssl_crypto.h"
#include "kv_views.h"
#include "support/print.h"
#include "unit/kv/keys.h"

using namespace exa;
using namespace exa::node;
using namespace exa::kv::samples;
using namespace exa::node::samples;
using Exchange = kv::Exchange;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr PeerId self{1};

// Peer 1 of three, which all own everything but one.
struct World {
    explicit World(KvReplicatorConfig config = {}) : replicator(self, holdings, config) {
        replicator.handle_view(now, view_of(3));
        replicator.handle_timeout(now);  // the first pass of repair
        take_all();
    }

    std::vector<KvReplicator::Action> take_all() {
        std::vector<KvReplicator::Action> actions;
        while (auto action = replicator.poll_action()) actions.push_back(std::move(*action));
        return actions;
    }
    template <class One>
    std::vector<One> take() {
        std::vector<One> ones;
        for (KvReplicator::Action& action : take_all())
            if (auto* one = std::get_if<One>(&action)) ones.push_back(std::move(*one));
        return ones;
    }
    // The number of a segment that peer 1 does not own, and the others do.
    std::uint64_t foreign() const {
        std::uint64_t number = 0;
        while (replicator.placement().owns(self, key(number))) ++number;
        return number;
    }
    // A fetch of `numbers` of which every owner says that it has all.
    Exchange::Send fetch(const std::vector<std::uint64_t>& numbers) {
        std::vector<kv::SegmentKey> chain;
        for (const std::uint64_t number : numbers) chain.push_back(key(number));
        replicator.fetch_chain(now, chain, std::vector<bool>(chain.size()));
        for (const Exchange::Send& send : take<Exchange::Send>()) answer_lookup(send);
        const auto sends = take<Exchange::Send>();
        BOOST_REQUIRE(!sends.empty());
        return sends.front();
    }
    void answer_lookup(const Exchange::Send& send) {
        std::vector<kv::Item> items = send.question.items;
        for (kv::Item& item : items) item.bytes = 4096;
        const std::string body = kv::encode(std::span<const kv::Item>(items));
        BOOST_TEST(replicator.handle_bytes(now, send.id, body));
        replicator.handle_end(now, send.id);
    }
    // Numbers whose first owner among the others is the same one.
    std::vector<std::uint64_t> chain_of_one_owner(std::size_t count) const {
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t n = 0; numbers.size() < count; ++n)
            if (replicator.placement().owns(self, key(n)) && replicator.placement().owns(PeerId{2}, key(n)))
                numbers.push_back(n);
        return numbers;
    }

    TimePoint now{seconds{100}};
    MapHoldings holdings;
    KvReplicator replicator;
};

ReceivedSegment good(std::uint64_t number) {
    return {body(number), body(number)->size()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_replicator)

BOOST_AUTO_TEST_CASE(segments_are_delivered_in_order_however_they_arrive) {
    World world;
    const auto numbers = world.chain_of_one_owner(3);
    const Exchange::Send send = world.fetch(numbers);
    BOOST_TEST_REQUIRE(send.question.items.size() == 3U);
    world.replicator.handle_segment(world.now, send.id, 2, good(numbers[2]));
    world.replicator.handle_segment(world.now, send.id, 1, good(numbers[1]));
    BOOST_TEST(world.take<Exchange::Deliver>().empty());
    world.replicator.handle_segment(world.now, send.id, 0, good(numbers[0]));
    const auto actions = world.take_all();
    std::vector<std::uint32_t> places;
    for (const auto& action : actions)
        if (const auto* one = std::get_if<Exchange::Deliver>(&action)) places.push_back(one->place);
    BOOST_TEST(places == (std::vector<std::uint32_t>{0, 1, 2}), boost::test_tools::per_element());
    BOOST_REQUIRE(std::holds_alternative<Exchange::FetchOver>(actions.back()));
    BOOST_TEST(std::get<Exchange::FetchOver>(actions.back()).prefix == 3U);
}

BOOST_AUTO_TEST_CASE(a_repeated_or_foreign_place_changes_nothing) {
    World world;
    const auto numbers = world.chain_of_one_owner(2);
    const Exchange::Send send = world.fetch(numbers);
    world.replicator.handle_segment(world.now, send.id, 1, good(numbers[1]));
    world.replicator.handle_segment(world.now, send.id, 1, {});
    world.replicator.handle_segment(world.now, send.id, 7, good(numbers[1]));
    world.replicator.handle_segment(world.now, send.id, 0, good(numbers[0]));
    BOOST_TEST(world.take<Exchange::Deliver>().size() == 2U);
    world.replicator.handle_segment(world.now, send.id, 0, good(numbers[0]));
    BOOST_TEST(world.take_all().empty());
}

BOOST_AUTO_TEST_CASE(a_corrupt_segment_is_counted_and_ends_the_run) {
    World world;
    const auto numbers = world.chain_of_one_owner(1);
    const Exchange::Send send = world.fetch(numbers);
    world.replicator.handle_segment(world.now, send.id, 0, {nullptr, 4096});
    const auto over = world.take<Exchange::FetchOver>();
    BOOST_TEST_REQUIRE(over.size() == 1U);
    BOOST_TEST(over[0].prefix == 0U);
    const KvReplicatorStatus status = world.replicator.status();
    BOOST_TEST(status.fetched == 1U);
    BOOST_TEST(status.fetched_bytes == 4096U);
    BOOST_TEST(status.corrupt == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_right_key_seal_and_stamp_pass_the_check) {
    const io::crypto::OpenSslCrypto crypto;
    const kv::SegmentSealer sealer(crypto, as_bytes("secret"));
    const kv::SegmentSealer foreign(crypto, as_bytes("another"));
    const auto sealed = [](const kv::SegmentSealer& by, std::uint64_t number, std::uint64_t stamp) {
        auto buffer = std::make_shared<kv::SegmentBuffer>(kv::segment_header_size + 8);
        kv::SegmentHead head;
        head.key = key(number);
        head.stamp = stamp;
        by.seal(head, *buffer);
        return kv::SealedSegment(buffer);
    };
    const kv::Item asked{key(1), 7, 0};
    BOOST_TEST(check_received(sealer, asked, sealed(sealer, 1, 7)).segment != nullptr);
    BOOST_TEST(check_received(sealer, asked, sealed(sealer, 1, 8)).segment != nullptr);
    BOOST_TEST(check_received(sealer, asked, sealed(sealer, 1, 6)).segment == nullptr);
    BOOST_TEST(check_received(sealer, asked, sealed(sealer, 2, 7)).segment == nullptr);
    BOOST_TEST(check_received(sealer, asked, sealed(foreign, 1, 7)).segment == nullptr);
    BOOST_TEST(check_received(sealer, asked, sealed(foreign, 1, 7)).arrived_bytes > 0U);
    BOOST_TEST(check_received(sealer, asked, nullptr).arrived_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_longer_than_its_question_allows_has_failed) {
    World world;
    world.replicator.fetch_chain(world.now, {key(world.foreign())}, {false});
    const auto sends = world.take<Exchange::Send>();
    BOOST_TEST_REQUIRE(sends.size() == 2U);
    BOOST_TEST(!world.replicator.handle_bytes(world.now, sends[0].id, std::string(45, 'x')));
    BOOST_TEST(!world.replicator.handle_bytes(world.now, sends[0].id, "more"));
    // Of nothing, of half an item, of a failure: none of them is an answer.
    BOOST_TEST(world.replicator.handle_bytes(world.now, sends[1].id, std::string(20, 'x')));
    world.replicator.handle_end(world.now, sends[1].id);
    const auto over = world.take<Exchange::FetchOver>();
    BOOST_TEST_REQUIRE(over.size() == 1U);
    BOOST_TEST(over[0].prefix == 0U);
}

BOOST_AUTO_TEST_CASE(a_lookup_without_an_answer_ends_at_its_timeout_and_late_ones_change_nothing) {
    World world;
    world.replicator.fetch_chain(world.now, {key(world.foreign())}, {false});
    const auto sends = world.take<Exchange::Send>();
    world.now = world.replicator.next_timeout();
    world.replicator.handle_timeout(world.now);
    const auto actions = world.take_all();
    std::size_t drops = 0;
    for (const auto& action : actions) drops += std::holds_alternative<Exchange::Drop>(action) ? 1 : 0;
    BOOST_TEST(drops == sends.size());
    for (const Exchange::Send& send : sends) {
        BOOST_TEST(!world.replicator.handle_bytes(world.now, send.id, std::string(44, 'x')));
        world.replicator.handle_end(world.now, send.id);
        world.replicator.handle_failed(world.now, send.id);
    }
    BOOST_TEST(world.take_all().empty());
}

BOOST_AUTO_TEST_CASE(progress_holds_off_the_timeout_of_a_fetch_for_the_disk) {
    World world;
    // An owner is offered what it lacks, and fetches it.
    std::uint64_t number = 0;
    while (!world.replicator.placement().owns(self, key(number))) ++number;
    world.replicator.handle_offer(world.now, {1}, PeerId{2}, {kv::QuestionKind::offer, {item(number, 1 << 20)}});
    const auto sends = world.take<Exchange::Send>();
    BOOST_TEST_REQUIRE(sends.size() == 1U);
    for (int second = 0; second < 30; ++second) {
        world.now += seconds{1};
        world.replicator.handle_progress(world.now, sends[0].id);
        world.replicator.handle_timeout(world.now);
        BOOST_REQUIRE(world.take<Exchange::Drop>().empty());
    }
    world.now += kv::ExchangeConfig{}.fetch_timeout;
    world.replicator.handle_timeout(world.now);
    BOOST_TEST(world.take<Exchange::Drop>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_offer_is_answered_when_what_was_fetched_for_it_is_stored) {
    World world;
    std::uint64_t number = 0;
    while (!world.replicator.placement().owns(self, key(number))) ++number;
    world.replicator.handle_offer(world.now, {9}, PeerId{2}, {kv::QuestionKind::offer, {item(number)}});
    const auto sends = world.take<Exchange::Send>();
    BOOST_TEST_REQUIRE(sends.size() == 1U);
    world.replicator.handle_segment(world.now, sends[0].id, 0, good(number));
    const auto stores = world.take<Exchange::Store>();
    BOOST_TEST_REQUIRE(stores.size() == 1U);
    world.replicator.handle_stored(world.now, stores[0].item, kv::OfferOutcome::held);
    const auto answers = world.take<KvReplicator::Answer>();
    BOOST_TEST_REQUIRE(answers.size() == 1U);
    BOOST_TEST(answers[0].id == kv::OfferId{9});
    BOOST_TEST(kv::decode_outcomes(answers[0].body, 1).value() == std::vector{kv::OfferOutcome::held});
}

BOOST_AUTO_TEST_CASE(the_early_publish_mutant_answers_before_anything_is_stored) {
    KvReplicatorConfig config;
    config.exchange.mutant = Mutant::early_publish;
    World world(config);
    std::uint64_t number = 0;
    while (!world.replicator.placement().owns(self, key(number))) ++number;
    world.replicator.handle_offer(world.now, {9}, PeerId{2}, {kv::QuestionKind::offer, {item(number)}});
    const auto sends = world.take<Exchange::Send>();
    world.replicator.handle_segment(world.now, sends[0].id, 0, good(number));
    BOOST_TEST(world.take<KvReplicator::Answer>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_move_takes_segments_that_are_here_to_a_peer_in_reach) {
    World world;
    world.holdings.put(item(1));
    kv::Item value = item(2);
    value.stamp = 5;
    world.holdings.put(value);
    const std::vector<kv::SegmentKey> keys{key(1), key(2), key(3)};
    BOOST_TEST(world.replicator.move(world.now, self, keys) == std::nullopt);
    BOOST_TEST(world.replicator.move(world.now, PeerId{77}, keys) == std::nullopt);
    BOOST_TEST(world.replicator.move(world.now, PeerId{3}, keys) == std::optional<std::size_t>(1));
    const auto sends = world.take<Exchange::Send>();
    BOOST_TEST_REQUIRE(sends.size() == 1U);
    BOOST_TEST(sends[0].question.kind == kv::QuestionKind::move);
    world.replicator.handle_view(world.now, view_of(3, {3}));
    BOOST_TEST(world.replicator.move(world.now, PeerId{3}, keys) == std::nullopt);
}

BOOST_AUTO_TEST_CASE(the_same_view_twice_begins_no_second_pass_of_repair) {
    World world;
    const auto view = view_of(4);
    world.replicator.handle_view(world.now, view);
    for (int i = 0; i < 10 && !world.replicator.status().converged; ++i) {
        world.now += seconds{1};
        world.replicator.handle_timeout(world.now);
    }
    BOOST_TEST(world.replicator.status().converged);
    const std::uint64_t passes = world.replicator.repair().passes;
    world.replicator.handle_view(world.now, view);
    BOOST_TEST(world.replicator.status().converged);
    BOOST_TEST(world.replicator.repair().passes == passes);
}

BOOST_AUTO_TEST_CASE(it_has_handed_over_when_it_converged_and_owns_nothing) {
    MapHoldings holdings;
    KvReplicator outsider(PeerId{99}, holdings, {});
    TimePoint now{seconds{100}};
    outsider.handle_view(now, view_of(3));
    BOOST_TEST(!outsider.status().handed_over);
    outsider.handle_timeout(now);
    BOOST_TEST(outsider.status().converged);
    BOOST_TEST(outsider.status().handed_over);
    BOOST_TEST(outsider.status().holders == 3U);
    BOOST_TEST(outsider.has_others());
    outsider.handle_written(now, item(1));
    BOOST_TEST(!outsider.status().handed_over);
}

BOOST_AUTO_TEST_CASE(there_are_no_others_when_all_of_them_are_dead) {
    World world;
    BOOST_TEST(world.replicator.has_others());
    world.replicator.handle_view(world.now, view_of(3, {2, 3}));
    BOOST_TEST(!world.replicator.has_others());
}

BOOST_AUTO_TEST_CASE(peers_in_reach_share_the_cold_tier_and_are_named_once) {
    KvReplicatorConfig config;
    config.exchange.chain.has_cold = true;
    MapHoldings holdings;
    KvReplicator replicator(self, holdings, config);
    const auto peers = [&](const std::shared_ptr<const membership::View>& view) {
        replicator.handle_view(TimePoint{seconds{100}}, view);
        std::vector<std::size_t> counts;
        while (auto action = replicator.poll_action())
            if (const auto* cold = std::get_if<KvReplicator::ColdPeers>(&*action)) counts.push_back(cold->peers.size());
        return counts;
    };
    BOOST_TEST(peers(view_of(3)) == std::vector<std::size_t>{3}, boost::test_tools::per_element());
    BOOST_TEST(peers(view_of(3)).empty());
    BOOST_TEST(peers(view_of(3, {2})) == std::vector<std::size_t>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cold_sizes_that_do_not_fit_the_question_mean_that_nothing_is_there) {
    KvReplicatorConfig config;
    config.exchange.chain.has_cold = true;
    World world(config);
    world.replicator.handle_view(world.now, view_of(1));
    world.take_all();
    world.replicator.fetch_chain(world.now, {key(1), key(2)}, {false, false});
    auto looks = world.take<Exchange::LookupCold>();
    BOOST_TEST_REQUIRE(looks.size() == 1U);
    world.replicator.handle_cold_sizes(world.now, looks[0].id, std::vector<std::uint32_t>{1});
    auto over = world.take<Exchange::FetchOver>();
    BOOST_TEST_REQUIRE(over.size() == 1U);
    BOOST_TEST(over[0].prefix == 0U);

    world.replicator.fetch_chain(world.now, {key(1), key(2)}, {false, false});
    looks = world.take<Exchange::LookupCold>();
    BOOST_TEST_REQUIRE(looks.size() == 1U);
    world.replicator.handle_cold_sizes(world.now, looks[0].id, std::vector<std::uint32_t>{4096, 4096});
    const auto reads = world.take<Exchange::ReadCold>();
    BOOST_TEST_REQUIRE(reads.size() == 1U);
    world.replicator.handle_segment(world.now, reads[0].id, 1, {body(2)});
    world.replicator.handle_segment(world.now, reads[0].id, 0, {body(1)});
    over = world.take<Exchange::FetchOver>();
    BOOST_TEST_REQUIRE(over.size() == 1U);
    BOOST_TEST(over[0].prefix == 2U);
    BOOST_TEST(world.replicator.status().fetched == 0U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_fetch_is_not_heard_of_again) {
    World world;
    const auto numbers = world.chain_of_one_owner(2);
    const kv::FetchId id = world.replicator.fetch_chain(world.now, {key(numbers[0]), key(numbers[1])}, {false, false});
    const auto sends = world.take<Exchange::Send>();
    world.replicator.cancel(world.now, id);
    BOOST_TEST(world.take<Exchange::Drop>().size() == sends.size());
    for (const Exchange::Send& send : sends) BOOST_TEST(!world.replicator.handle_bytes(world.now, send.id, "x"));
    BOOST_TEST(world.take_all().empty());
}

BOOST_AUTO_TEST_SUITE_END()
