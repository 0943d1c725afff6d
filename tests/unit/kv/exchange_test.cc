#include "kv/exchange.h"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "exchange_world.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::vector<std::uint64_t> numbers(std::uint64_t count) {
    std::vector<std::uint64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// As if its disk had been swapped.
void empty(ExchangeWorld::Node& node) {
    node.holdings.items.clear();
    node.bodies.clear();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange)

BOOST_AUTO_TEST_CASE(a_stored_segment_reaches_all_its_owners) {
    ExchangeWorld world(8);
    for (const std::uint64_t n : numbers(100)) world.put(1, n);
    world.run();
    for (const std::uint64_t n : numbers(100)) BOOST_TEST(world.copies_of(n) == 2U);
    BOOST_TEST(world.node(1).core->has_converged());
    std::size_t owed = 0;
    for (const std::uint64_t n : numbers(100))
        for (const PeerId owner : world.placement->owners(key(n))) owed += owner != PeerId{1} ? 1 : 0;
    BOOST_TEST(world.node(1).acked.size() == owed);
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_nothing_fetches_a_chain_in_order) {
    ExchangeWorld world(8);
    for (const std::uint64_t n : numbers(60)) world.put(1, n);
    world.run();
    empty(world.node(5));
    world.load(5, 7, numbers(60));
    world.run();
    // What 5 itself should keep has one other owner.
    BOOST_TEST(world.node(5).over.at({7}) == 60U);
    BOOST_TEST(std::ranges::is_sorted(world.node(5).delivered.at({7})));
    BOOST_TEST(world.node(5).delivered.at({7}).size() == 60U);
}

BOOST_AUTO_TEST_CASE(a_fetch_survives_the_death_of_an_owner) {
    ExchangeWorld world(6);
    for (const std::uint64_t n : numbers(80)) world.put(1, n);
    world.run();
    world.crash(1);
    world.place();
    empty(world.node(2));
    world.load(2, 1, numbers(80));
    world.run(milliseconds{1});
    world.crash(4);
    world.run();
    const std::uint32_t prefix = world.node(2).over.at({1});
    // It ends before the first segment that nobody else has.
    std::uint32_t expected = 0;
    while (expected < 80 &&
           (world.node(3).bodies.contains(key(expected)) || world.node(5).bodies.contains(key(expected)) ||
            world.node(6).bodies.contains(key(expected)) || expected < world.node(2).delivered[{1}].size()))
        ++expected;
    BOOST_TEST(prefix == expected);
    BOOST_TEST(prefix > 0U);
}

BOOST_AUTO_TEST_CASE(a_silent_owner_costs_one_lookup_timeout) {
    ExchangeConfig config;
    ExchangeWorld world(3, config);
    for (const std::uint64_t n : numbers(10)) world.put(1, n);
    world.run();
    empty(world.node(2));
    world.crash(3);  // nobody has noticed yet: questions to it fail after a while
    world.load(2, 1, numbers(10));
    world.run(seconds{2});
    BOOST_TEST(world.node(2).over.contains({1}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_fetch_produces_nothing_more) {
    ExchangeWorld world(4);
    for (const std::uint64_t n : numbers(20)) world.put(1, n);
    world.run();
    empty(world.node(3));
    world.load(3, 1, numbers(20));
    world.node(3).core->cancel(world.now(), {1});
    std::size_t drops = 0;
    while (auto output = world.node(3).core->poll_output()) drops += std::holds_alternative<Exchange::Drop>(*output);
    BOOST_TEST(drops > 0U);
    world.run();
    BOOST_TEST(!world.node(3).over.contains({1}));
    BOOST_TEST(world.node(3).delivered.empty());
}

BOOST_AUTO_TEST_CASE(after_a_loss_every_segment_has_its_copies_again) {
    ExchangeWorld world(6);
    for (const std::uint64_t n : numbers(200)) world.put(1 + n % 6, n);
    world.run();
    world.crash(3);
    world.place();
    world.run(seconds{5});
    world.lost.insert(PeerId{3});
    world.place();
    world.run();
    for (const std::uint64_t n : numbers(200)) BOOST_TEST(world.copies_of(n) == 2U);
    for (const auto& node : world.peers())
        if (node.is_up()) BOOST_TEST(node.core->has_converged());
}

BOOST_AUTO_TEST_CASE(a_returning_peer_gets_what_was_written_meanwhile) {
    ExchangeWorld world(4);
    world.crash(2);
    world.place();
    for (const std::uint64_t n : numbers(50)) world.put(1, n);
    world.run();
    world.restart(2);
    world.place();
    world.run();
    for (const std::uint64_t n : numbers(50)) BOOST_TEST(world.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(a_lost_segment_comes_back_from_the_other_owner_at_once) {
    ExchangeWorld world(8);
    for (const std::uint64_t n : numbers(100)) world.put(1, n);
    world.run(seconds{10});
    for (const std::uint64_t n : numbers(100)) world.rot(world.placement->owners(key(n)).front().value, n);
    const std::uint64_t before = world.fetched;
    world.run(milliseconds{900});
    for (const std::uint64_t n : numbers(100)) BOOST_TEST(world.copies_of(n) == 2U);
    BOOST_TEST(world.fetched - before == 100U);
    std::uint64_t recovered = 0;
    for (const auto& node : world.peers()) recovered += node.core->recovery().recovered();
    BOOST_TEST(recovered == 100U);
}

BOOST_AUTO_TEST_CASE(a_segment_no_owner_has_comes_back_from_any_holder) {
    ExchangeWorld world(8);
    const std::uint64_t server = 1;
    for (const std::uint64_t n : numbers(100)) world.put(server, n);
    world.run(seconds{10});
    std::vector<std::uint64_t> foreign;
    for (const std::uint64_t n : numbers(100)) {
        if (world.placement->owns(PeerId{server}, key(n))) continue;
        foreign.push_back(n);
        for (const PeerId owner : world.placement->owners(key(n))) world.rot(owner.value, n);
    }
    BOOST_TEST_REQUIRE(foreign.size() > 40U);
    world.run(milliseconds{900});
    for (const std::uint64_t n : foreign) BOOST_TEST(world.copies_of(n) == 0U);
    world.run(seconds{2});
    for (const std::uint64_t n : foreign) BOOST_TEST(world.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_failed_to_restore_a_segment_is_asked_again) {
    ExchangeWorld world(3);
    world.put(1, 0);
    world.run(seconds{10});
    world.question_loss = 1;
    world.rot(world.placement->owners(key(0)).front().value, 0);
    world.run(seconds{100});
    BOOST_TEST(world.copies_of(0) == 1U);
    world.question_loss = 0;
    world.run(seconds{100});
    BOOST_TEST(world.copies_of(0) == 2U);
}

BOOST_AUTO_TEST_CASE(a_refusing_disk_is_offered_again_only_after_minutes) {
    ExchangeWorld world(2);
    world.node(2).stores = false;
    for (const std::uint64_t n : numbers(10)) world.put(1, n);
    world.run(std::chrono::minutes{9});
    BOOST_TEST(world.node(1).core->has_converged());
    BOOST_TEST(world.node(1).core->offers().refused == 10U);
    BOOST_TEST(world.node(1).acked.empty());
    world.node(2).stores = true;
    world.run(std::chrono::minutes{12});
    for (const std::uint64_t n : numbers(10)) BOOST_TEST(world.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(a_corrupt_segment_is_not_stored_and_fetched_again) {
    ExchangeWorld world(2);
    world.segment_loss = 1;
    world.put(1, 1);
    world.run(seconds{1});
    BOOST_TEST(world.node(2).bodies.empty());
    world.segment_loss = 0;
    world.run();
    BOOST_TEST(world.copies_of(1) == 2U);
}

BOOST_AUTO_TEST_CASE(a_disk_fetch_times_out_on_silence_and_not_on_a_slow_line) {
    MapHoldings holdings;
    ExchangeConfig config;
    config.intake.fetch_bytes = 1;
    Exchange exchange(PeerId{1}, holdings, config);
    TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.handle_timeout(now);  // of repair, that finds nothing to do
    exchange.handle_offer(now, {1}, PeerId{2}, {QuestionKind::offer, {item(1), item(2)}});
    const AskId first = std::get<Exchange::Send>(*exchange.poll_output()).id;
    const AskId second = std::get<Exchange::Send>(*exchange.poll_output()).id;
    const auto pass = [&](Duration time) {
        now += time;
        exchange.handle_timeout(now);
        return exchange.poll_output();
    };
    for (int i = 0; i < 20; ++i) {
        BOOST_TEST(!pass(seconds{4}).has_value());
        exchange.handle_progress(now, PeerId{2});
    }
    BOOST_TEST(!pass(seconds{4}).has_value());
    exchange.handle_segment(now, first, body(1));
    BOOST_TEST(std::holds_alternative<Exchange::Store>(*exchange.poll_output()));
    BOOST_TEST(!pass(seconds{4}).has_value());
    // What comes from somebody else is no sign of life.
    exchange.handle_progress(now, PeerId{3});
    const auto last = pass(seconds{1});
    BOOST_REQUIRE(last.has_value());
    BOOST_TEST(std::get<Exchange::Drop>(*last).id == second);
}

BOOST_AUTO_TEST_CASE(a_client_fetch_does_not_wait_for_a_slow_line) {
    MapHoldings holdings;
    Exchange exchange(PeerId{1}, holdings, {});
    TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.handle_timeout(now);  // of repair, that finds nothing to do
    exchange.fetch_value(now, {1}, item(1), {PeerId{2}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    exchange.fetch_chain(now, {2}, {key(2)}, {false});
    const AskId look = std::get<Exchange::Send>(*exchange.poll_output()).id;
    exchange.handle_items(now, look, std::vector{item(2)});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    now += seconds{4};
    exchange.handle_progress(now, PeerId{2});
    now += seconds{1};
    exchange.handle_timeout(now);
    std::size_t over = 0;
    while (const auto output = exchange.poll_output())
        if (const auto* end = std::get_if<Exchange::FetchOver>(&*output)) over += end->prefix == 0U ? 1 : 0;
    BOOST_TEST(over == 2U);
}

BOOST_AUTO_TEST_CASE(a_move_reaches_a_peer_that_owns_nothing) {
    ExchangeWorld world(9);
    std::uint64_t target = 2;
    while (world.placement->owns(PeerId{target}, key(1))) ++target;
    world.put(1, 1);
    world.act(1, [&](Exchange& exchange) { exchange.move(world.now(), PeerId{target}, item(1)); });
    world.run();
    BOOST_TEST(world.node(target).bodies.contains(key(1)));
}

BOOST_AUTO_TEST_CASE(the_last_version_is_found_and_fetched_from_its_holder) {
    ExchangeWorld world(6);
    world.put_value(1, 7, 5);
    world.run();
    world.put_value(2, 7, 9);
    world.run();
    std::uint64_t loads = 0;
    for (std::uint64_t id = 3; id <= 6; ++id) {
        world.find(id, 1, 7);
        world.run();
        const ValueVerdict verdict = world.node(id).found.at({1}).at(0);
        BOOST_TEST(verdict.stamp == 9U);
        BOOST_TEST(verdict.is_found());
        if (verdict.is_local) continue;
        world.fetch(id, ++loads, 7, verdict.holders);
        world.run();
        BOOST_TEST(world.node(id).over.at({loads}) == 1U);
        BOOST_TEST(world.node(id).delivered.at({loads}).size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_fetch_goes_on_with_the_next_holder_and_ends_with_the_last) {
    ExchangeWorld world(4);
    world.put_value(1, 7, 5);
    world.run();
    const auto owners = world.placement->owners(key(7));
    std::uint64_t outside = 1;
    while (world.placement->owns(PeerId{outside}, key(7))) ++outside;
    empty(world.node(owners[0]));
    world.fetch(outside, 1, 7, owners);
    world.run();
    BOOST_TEST(world.node(outside).over.at({1}) == 1U);
    empty(world.node(owners[1]));
    world.fetch(outside, 2, 7, owners);
    world.run();
    BOOST_TEST(world.node(outside).over.at({2}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_value_is_surplus_once_its_owners_have_it) {
    ExchangeWorld world(4);
    std::uint64_t outside = 1;
    while (world.placement->owns(PeerId{outside}, key(7))) ++outside;
    world.put_value(outside, 7, 5);
    world.put(outside, 8);
    world.run();
    Item version = item(7);
    version.stamp = 5;
    BOOST_TEST(world.node(outside).surplus == std::vector{version});
    BOOST_TEST(world.copies_of(7) == 2U);
    for (const PeerId owner : world.placement->owners(key(7))) BOOST_TEST(world.node(owner).surplus.empty());
}

BOOST_AUTO_TEST_CASE(the_lost_repair_mutant_takes_repair_offers_for_acked) {
    MapHoldings holdings;
    for (const std::uint64_t n : numbers(20)) holdings.put(item(n));
    for (const Mutant mutant : {Mutant::none, Mutant::lost_repair}) {
        ExchangeConfig config;
        config.mutant = mutant;
        config.repair.step_items = 5;  // so that the pass does not end within one step
        Exchange exchange(PeerId{1}, holdings, config);
        exchange.handle_placement(TimePoint{seconds{100}}, placement_of(3));
        exchange.handle_timeout(TimePoint{seconds{100}});
        std::size_t sent = 0;
        std::size_t acked = 0;
        while (auto output = exchange.poll_output()) {
            sent += std::holds_alternative<Exchange::Send>(*output) ? 1 : 0;
            acked += std::holds_alternative<Exchange::Acked>(*output) ? 1 : 0;
        }
        BOOST_TEST((sent > 0) == (mutant == Mutant::none));
        BOOST_TEST((acked > 0) == (mutant == Mutant::lost_repair));
    }
}

BOOST_AUTO_TEST_CASE(the_values_unasked_mutant_answers_with_what_is_here) {
    MapHoldings holdings;
    const KnownValue known{{key(7), 5, 4096}, false};
    for (const Mutant mutant : {Mutant::none, Mutant::values_unasked}) {
        ExchangeConfig config;
        config.mutant = mutant;
        Exchange exchange(PeerId{1}, holdings, config);
        exchange.handle_placement(TimePoint{seconds{100}}, placement_of(3));
        exchange.handle_timeout(TimePoint{seconds{100}});
        exchange.find(TimePoint{seconds{100}}, {1}, {known});
        const auto output = exchange.poll_output();
        BOOST_REQUIRE(output);
        BOOST_TEST(std::holds_alternative<Exchange::Found>(*output) == (mutant == Mutant::values_unasked));
    }
}

BOOST_AUTO_TEST_CASE(a_hanging_owner_delays_one_search_a_second) {
    MapHoldings holdings;
    Exchange exchange(PeerId{1}, holdings, {});
    TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.handle_timeout(now);  // of repair, that finds nothing to do
    exchange.find(now, {1}, {{{key(1), 0, 0}}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    BOOST_TEST(!exchange.poll_output().has_value());
    now = exchange.next_timeout();
    BOOST_TEST(now == TimePoint{seconds{1}} + ExchangeConfig{}.find_timeout);
    exchange.handle_timeout(now);
    BOOST_TEST(std::holds_alternative<Exchange::Drop>(*exchange.poll_output()));
    BOOST_TEST(!std::get<Exchange::Found>(*exchange.poll_output()).verdicts.at(0).is_sure);
    exchange.find(now, {2}, {{{key(2), 0, 0}}});
    BOOST_TEST(!std::get<Exchange::Found>(*exchange.poll_output()).verdicts.at(0).is_sure);
    now = now + ExchangeConfig{}.avoidance;
    exchange.find(now, {3}, {{{key(3), 0, 0}}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
}

BOOST_AUTO_TEST_CASE(too_many_searches_at_a_time_find_nothing) {
    MapHoldings holdings;
    ExchangeConfig config;
    config.finds_max = 1;
    Exchange exchange(PeerId{1}, holdings, config);
    const TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.find(now, {1}, {{{key(1), 5, 300}}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    exchange.find(now, {2}, {{{key(1), 5, 300}}});
    BOOST_TEST(!std::get<Exchange::Found>(*exchange.poll_output()).verdicts.at(0).is_found());
}

BOOST_AUTO_TEST_CASE(answers_of_the_wrong_kind_or_length_end_the_question_and_nothing_else) {
    MapHoldings holdings;
    Exchange exchange(PeerId{1}, holdings, {});
    const TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.fetch_chain(now, {1}, {key(1)}, {false});
    const auto look = std::get<Exchange::Send>(*exchange.poll_output());
    BOOST_TEST(look.question.kind == QuestionKind::lookup);
    exchange.handle_items(now, look.id, std::vector<Item>(3));
    BOOST_TEST(std::get<Exchange::FetchOver>(*exchange.poll_output()).prefix == 0U);
    exchange.handle_segment(now, look.id, body(1));
    exchange.handle_outcomes(now, look.id, std::vector{OfferOutcome::held});
    exchange.handle_failed(now, {999});
    BOOST_TEST(!exchange.poll_output().has_value());

    exchange.add(now, item(2));
    const auto offer = std::get<Exchange::Send>(*exchange.poll_output());
    exchange.handle_outcomes(now, offer.id, std::vector(2, OfferOutcome::held));
    BOOST_TEST(exchange.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(a_cold_segment_is_read_once_for_all_peers) {
    ExchangeConfig config;
    config.chain.has_cold = true;
    ExchangeWorld world(6, config);
    for (const std::uint64_t n : numbers(20)) world.put(1, n);
    world.run();
    for (std::uint64_t n = 20; n < 40; ++n) world.cold[key(n)] = body(n);
    // A peer that owns none of them, so that it reads none itself.
    world.lost.insert(PeerId{6});
    world.place();
    empty(world.node(6));
    world.load(6, 1, numbers(50));
    world.run();
    BOOST_TEST(world.node(6).over.at({1}) == 40U);
    BOOST_TEST(std::ranges::is_sorted(world.node(6).delivered.at({1})));
    BOOST_TEST(world.cold_looks == 1U);
    BOOST_TEST(world.cold_reads == 20U);
    // Their owners have them now.
    world.load(6, 2, numbers(50));
    world.run();
    BOOST_TEST(world.node(6).over.at({2}) == 40U);
    BOOST_TEST(world.cold_reads == 20U);
}

BOOST_AUTO_TEST_CASE(a_silent_cold_tier_costs_one_timeout) {
    ExchangeConfig config;
    config.chain.has_cold = true;
    MapHoldings none;
    Exchange exchange(PeerId{1}, none, config);
    TimePoint now{std::chrono::seconds{5}};
    exchange.fetch_chain(now, {1}, {key(1)}, {false}, {now + seconds{1}, milliseconds{3}});
    const auto look = std::get<Exchange::LookupCold>(*exchange.poll_output());
    BOOST_TEST(look.terms.deadline == now + seconds{1});
    BOOST_TEST(*look.terms.compute == milliseconds{3});
    BOOST_TEST(!exchange.poll_output().has_value());
    BOOST_TEST(exchange.next_timeout() == now + config.cold_lookup_timeout);
    now = exchange.next_timeout();
    exchange.handle_timeout(now);
    BOOST_TEST(std::get<Exchange::Drop>(*exchange.poll_output()).id == look.id);
    BOOST_TEST(std::get<Exchange::FetchOver>(*exchange.poll_output()).prefix == 0U);
    // Late, or of another number than was asked for.
    exchange.handle_items(now, look.id, {{item(1)}});
    BOOST_TEST(!exchange.poll_output().has_value());
    exchange.fetch_chain(now, {3}, {key(1)}, {false}, {.may_be_cold = false});
    BOOST_TEST(std::get<Exchange::FetchOver>(*exchange.poll_output()).prefix == 0U);
    exchange.fetch_chain(now, {2}, {key(1)}, {false});
    const auto second = std::get<Exchange::LookupCold>(*exchange.poll_output());
    exchange.handle_items(now, second.id, {});
    BOOST_TEST(std::get<Exchange::FetchOver>(*exchange.poll_output()).prefix == 0U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_fetch_drops_its_cold_reads) {
    ExchangeConfig config;
    config.chain.has_cold = true;
    MapHoldings none;
    Exchange exchange(PeerId{1}, none, config);
    const TimePoint now{std::chrono::seconds{5}};
    exchange.fetch_chain(now, {1}, {key(1)}, {false});
    const auto look = std::get<Exchange::LookupCold>(*exchange.poll_output());
    exchange.handle_items(now, look.id, {{item(1)}});
    const auto read = std::get<Exchange::ReadCold>(*exchange.poll_output());
    exchange.cancel(now, {1});
    BOOST_TEST(std::get<Exchange::Drop>(*exchange.poll_output()).id == read.id);
    exchange.handle_segment(now, read.id, body(1));
    BOOST_TEST(!exchange.poll_output().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
