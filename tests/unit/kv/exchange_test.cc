#include "kv/exchange.h"

#include <boost/test/unit_test.hpp>
#include <numeric>

#include "mesh.h"

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
void empty(Mesh::Node& node) {
    node.holdings.items.clear();
    node.bodies.clear();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exchange)

BOOST_AUTO_TEST_CASE(what_is_stored_at_one_peer_comes_to_all_its_owners) {
    Mesh mesh(8);
    for (const std::uint64_t n : numbers(100)) mesh.put(1, n);
    mesh.run();
    for (const std::uint64_t n : numbers(100)) BOOST_TEST(mesh.copies_of(n) == 2U);
    BOOST_TEST(mesh.node(1).exchange->is_settled());
    std::size_t owed = 0;
    for (const std::uint64_t n : numbers(100))
        for (const PeerId owner : mesh.placement->owners(key(n))) owed += owner != PeerId{1} ? 1 : 0;
    BOOST_TEST(mesh.node(1).kept.size() == owed);
}

BOOST_AUTO_TEST_CASE(a_chain_is_loaded_in_order_by_a_peer_that_has_nothing) {
    Mesh mesh(8);
    for (const std::uint64_t n : numbers(60)) mesh.put(1, n);
    mesh.run();
    empty(mesh.node(5));
    mesh.load(5, 7, numbers(60));
    mesh.run();
    // What 5 itself should keep has one other owner.
    BOOST_TEST(mesh.node(5).over.at({7}) == 60U);
    BOOST_TEST(std::ranges::is_sorted(mesh.node(5).given.at({7})));
    BOOST_TEST(mesh.node(5).given.at({7}).size() == 60U);
}

BOOST_AUTO_TEST_CASE(a_load_outlives_an_owner_that_dies_in_the_middle) {
    Mesh mesh(6);
    for (const std::uint64_t n : numbers(80)) mesh.put(1, n);
    mesh.run();
    mesh.crash(1);
    mesh.place();
    empty(mesh.node(2));
    mesh.load(2, 1, numbers(80));
    mesh.run(milliseconds{1});
    mesh.crash(4);
    mesh.run();
    const std::uint32_t given = mesh.node(2).over.at({1});
    // It ends before the first segment that nobody else has.
    std::uint32_t expected = 0;
    while (expected < 80 &&
           (mesh.node(3).bodies.contains(key(expected)) || mesh.node(5).bodies.contains(key(expected)) ||
            mesh.node(6).bodies.contains(key(expected)) || expected < mesh.node(2).given[{1}].size()))
        ++expected;
    BOOST_TEST(given == expected);
    BOOST_TEST(given > 0U);
}

BOOST_AUTO_TEST_CASE(who_does_not_answer_costs_the_patience_for_looks_and_no_more) {
    ExchangeConfig config;
    Mesh mesh(3, config);
    for (const std::uint64_t n : numbers(10)) mesh.put(1, n);
    mesh.run();
    empty(mesh.node(2));
    mesh.node(3).up = false;  // nobody has noticed yet: questions to it fail after a while
    mesh.load(2, 1, numbers(10));
    const TimePoint began = mesh.now;
    mesh.run(seconds{2});
    BOOST_TEST(mesh.node(2).over.contains({1}));
    BOOST_TEST((mesh.now - began <= seconds{2}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_load_is_not_heard_of_again) {
    Mesh mesh(4);
    for (const std::uint64_t n : numbers(20)) mesh.put(1, n);
    mesh.run();
    empty(mesh.node(3));
    mesh.load(3, 1, numbers(20));
    mesh.node(3).exchange->cancel(mesh.now, {1});
    std::size_t drops = 0;
    while (auto output = mesh.node(3).exchange->poll_output()) drops += std::holds_alternative<Exchange::Drop>(*output);
    BOOST_TEST(drops > 0U);
    mesh.run();
    BOOST_TEST(!mesh.node(3).over.contains({1}));
    BOOST_TEST(mesh.node(3).given.empty());
}

BOOST_AUTO_TEST_CASE(after_a_loss_every_segment_has_its_copies_again) {
    Mesh mesh(6);
    for (const std::uint64_t n : numbers(200)) mesh.put(1 + n % 6, n);
    mesh.run();
    mesh.crash(3);
    mesh.place();
    mesh.run(seconds{5});
    mesh.lost.insert(PeerId{3});
    mesh.place();
    mesh.run();
    for (const std::uint64_t n : numbers(200)) BOOST_TEST(mesh.copies_of(n) == 2U);
    for (const auto& [id, node] : mesh.nodes)
        if (node.up) BOOST_TEST(node.exchange->is_settled());
}

BOOST_AUTO_TEST_CASE(who_comes_back_gets_what_was_written_meanwhile) {
    Mesh mesh(4);
    mesh.crash(2);
    mesh.place();
    for (const std::uint64_t n : numbers(50)) mesh.put(1, n);
    mesh.run();
    mesh.restart(2);
    mesh.place();
    mesh.run();
    for (const std::uint64_t n : numbers(50)) BOOST_TEST(mesh.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(what_a_disk_has_lost_comes_back_from_the_other_owner_at_once) {
    Mesh mesh(8);
    for (const std::uint64_t n : numbers(100)) mesh.put(1, n);
    mesh.run(seconds{10});
    for (const std::uint64_t n : numbers(100)) mesh.rot(mesh.placement->owners(key(n)).front().value, n);
    const std::uint64_t before = mesh.fetched;
    mesh.run(milliseconds{900});
    for (const std::uint64_t n : numbers(100)) BOOST_TEST(mesh.copies_of(n) == 2U);
    BOOST_TEST(mesh.fetched - before == 100U);
    std::uint64_t recovered = 0;
    for (auto& [id, node] : mesh.nodes) recovered += node.exchange->recovery().recovered();
    BOOST_TEST(recovered == 100U);
}

BOOST_AUTO_TEST_CASE(what_no_owner_has_any_more_comes_back_from_whoever_has_it) {
    Mesh mesh(8);
    const std::uint64_t server = 1;
    for (const std::uint64_t n : numbers(100)) mesh.put(server, n);
    mesh.run(seconds{10});
    std::vector<std::uint64_t> foreign;
    for (const std::uint64_t n : numbers(100)) {
        if (mesh.placement->owns(PeerId{server}, key(n))) continue;
        foreign.push_back(n);
        for (const PeerId owner : mesh.placement->owners(key(n))) mesh.rot(owner.value, n);
    }
    BOOST_REQUIRE(foreign.size() > 40U);
    mesh.run(milliseconds{900});
    for (const std::uint64_t n : foreign) BOOST_TEST(mesh.copies_of(n) == 0U);
    mesh.run(seconds{2});
    for (const std::uint64_t n : foreign) BOOST_TEST(mesh.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(who_could_not_give_what_a_disk_has_lost_is_asked_again) {
    Mesh mesh(3);
    mesh.put(1, 0);
    mesh.run(seconds{10});
    mesh.question_loss = 1;
    mesh.rot(mesh.placement->owners(key(0)).front().value, 0);
    mesh.run(seconds{100});
    BOOST_TEST(mesh.copies_of(0) == 1U);
    mesh.question_loss = 0;
    mesh.run(seconds{100});
    BOOST_TEST(mesh.copies_of(0) == 2U);
}

BOOST_AUTO_TEST_CASE(a_disk_that_takes_nothing_is_asked_again_after_minutes_only) {
    Mesh mesh(2);
    mesh.node(2).stores = false;
    for (const std::uint64_t n : numbers(10)) mesh.put(1, n);
    mesh.run(std::chrono::minutes{9});
    BOOST_TEST(mesh.node(1).exchange->is_settled());
    BOOST_TEST(mesh.node(1).exchange->spread().refused == 10U);
    BOOST_TEST(mesh.node(1).kept.empty());
    mesh.node(2).stores = true;
    mesh.run(std::chrono::minutes{12});
    for (const std::uint64_t n : numbers(10)) BOOST_TEST(mesh.copies_of(n) == 2U);
}

BOOST_AUTO_TEST_CASE(a_segment_that_does_not_verify_is_not_stored_and_comes_again) {
    Mesh mesh(2);
    mesh.segment_loss = 1;
    mesh.put(1, 1);
    mesh.run(seconds{1});
    BOOST_TEST(mesh.node(2).bodies.empty());
    mesh.segment_loss = 0;
    mesh.run();
    BOOST_TEST(mesh.copies_of(1) == 2U);
}

BOOST_AUTO_TEST_CASE(a_fetch_for_the_disk_is_given_up_when_its_peer_is_silent_and_not_when_its_line_is_slow) {
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
    BOOST_TEST((std::get<Exchange::Drop>(*last).id == second));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_value_or_a_prompt_waits_for_no_slow_line) {
    MapHoldings holdings;
    Exchange exchange(PeerId{1}, holdings, {});
    TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.handle_timeout(now);  // of repair, that finds nothing to do
    exchange.fetch(now, {1}, item(1), {PeerId{2}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    exchange.load(now, {2}, {key(2)}, {false});
    const AskId look = std::get<Exchange::Send>(*exchange.poll_output()).id;
    exchange.handle_items(now, look, std::vector{item(2)});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    now += seconds{4};
    exchange.handle_progress(now, PeerId{2});
    now += seconds{1};
    exchange.handle_timeout(now);
    std::size_t over = 0;
    while (const auto output = exchange.poll_output())
        if (const auto* end = std::get_if<Exchange::LoadOver>(&*output)) over += end->given == 0U ? 1 : 0;
    BOOST_TEST(over == 2U);
}

BOOST_AUTO_TEST_CASE(a_move_goes_where_it_is_sent) {
    Mesh mesh(9);
    std::uint64_t target = 2;
    while (mesh.placement->owns(PeerId{target}, key(1))) ++target;
    mesh.put(1, 1);
    mesh.node(1).exchange->move(mesh.now, PeerId{target}, item(1));
    mesh.put(1, 2);  // what polls the outputs
    mesh.run();
    BOOST_TEST(mesh.node(target).bodies.contains(key(1)));
}

BOOST_AUTO_TEST_CASE(the_last_version_is_found_and_fetched_from_wherever_it_is) {
    Mesh mesh(6);
    mesh.put_value(1, 7, 5);
    mesh.run();
    mesh.put_value(2, 7, 9);
    mesh.run();
    std::uint64_t loads = 0;
    for (std::uint64_t id = 3; id <= 6; ++id) {
        mesh.find(id, 1, 7);
        mesh.run();
        const ValueVerdict verdict = mesh.node(id).found.at({1}).at(0);
        BOOST_TEST(verdict.stamp == 9U);
        BOOST_TEST(verdict.is_found());
        if (verdict.is_local) continue;
        mesh.fetch(id, ++loads, 7, verdict.holders);
        mesh.run();
        BOOST_TEST(mesh.node(id).over.at({loads}) == 1U);
        BOOST_TEST(mesh.node(id).given.at({loads}).size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_fetch_goes_on_with_the_next_holder_and_ends_with_the_last) {
    Mesh mesh(4);
    mesh.put_value(1, 7, 5);
    mesh.run();
    const auto owners = mesh.placement->owners(key(7));
    std::uint64_t outside = 1;
    while (mesh.placement->owns(PeerId{outside}, key(7))) ++outside;
    empty(mesh.nodes.at(owners[0]));
    mesh.fetch(outside, 1, 7, owners);
    mesh.run();
    BOOST_TEST(mesh.node(outside).over.at({1}) == 1U);
    empty(mesh.nodes.at(owners[1]));
    mesh.fetch(outside, 2, 7, owners);
    mesh.run();
    BOOST_TEST(mesh.node(outside).over.at({2}) == 0U);
}

BOOST_AUTO_TEST_CASE(who_owns_no_value_is_told_when_its_owners_have_it) {
    Mesh mesh(4);
    std::uint64_t outside = 1;
    while (mesh.placement->owns(PeerId{outside}, key(7))) ++outside;
    mesh.put_value(outside, 7, 5);
    mesh.put(outside, 8);
    mesh.run();
    Item version = item(7);
    version.stamp = 5;
    BOOST_TEST((mesh.node(outside).spares == std::vector{version}));
    BOOST_TEST(mesh.copies_of(7) == 2U);
    for (const PeerId owner : mesh.placement->owners(key(7))) BOOST_TEST(mesh.nodes.at(owner).spares.empty());
}

BOOST_AUTO_TEST_CASE(an_owner_that_hangs_holds_up_one_search_in_a_while) {
    MapHoldings holdings;
    Exchange exchange(PeerId{1}, holdings, {});
    TimePoint now{seconds{1}};
    exchange.handle_placement(now, placement_of(2));
    exchange.handle_timeout(now);  // of repair, that finds nothing to do
    exchange.find(now, {1}, {{{key(1), 0, 0}}});
    BOOST_TEST(std::holds_alternative<Exchange::Send>(*exchange.poll_output()));
    BOOST_TEST(!exchange.poll_output().has_value());
    now = exchange.next_timeout();
    BOOST_TEST((now == TimePoint{seconds{1}} + ExchangeConfig{}.find_patience));
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
    exchange.load(now, {1}, {key(1)}, {false});
    const auto look = std::get<Exchange::Send>(*exchange.poll_output());
    BOOST_TEST((look.question.kind == QuestionKind::look));
    exchange.handle_items(now, look.id, std::vector<Item>(3));
    BOOST_TEST(std::get<Exchange::LoadOver>(*exchange.poll_output()).given == 0U);
    exchange.handle_segment(now, look.id, body(1));
    exchange.handle_outcomes(now, look.id, std::vector{OfferOutcome::held});
    exchange.handle_failed(now, {999});
    BOOST_TEST(!exchange.poll_output().has_value());

    exchange.add(now, item(2));
    const auto offer = std::get<Exchange::Send>(*exchange.poll_output());
    exchange.handle_outcomes(now, offer.id, std::vector(2, OfferOutcome::held));
    BOOST_TEST(exchange.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(what_no_peer_has_comes_from_the_cold_tier_read_once_for_all) {
    ExchangeConfig config;
    config.load.has_cold = true;
    Mesh mesh(6, config);
    for (const std::uint64_t n : numbers(20)) mesh.put(1, n);
    mesh.run();
    for (std::uint64_t n = 20; n < 40; ++n) mesh.cold[key(n)] = body(n);
    // A peer that owns none of them, so that it reads none itself.
    mesh.lost.insert(PeerId{6});
    mesh.place();
    empty(mesh.node(6));
    mesh.load(6, 1, numbers(50));
    mesh.run();
    BOOST_TEST(mesh.node(6).over.at({1}) == 40U);
    BOOST_TEST(std::ranges::is_sorted(mesh.node(6).given.at({1})));
    BOOST_TEST(mesh.cold_looks == 1U);
    BOOST_TEST(mesh.cold_reads == 20U);
    // Their owners have them now.
    mesh.load(6, 2, numbers(50));
    mesh.run();
    BOOST_TEST(mesh.node(6).over.at({2}) == 40U);
    BOOST_TEST(mesh.cold_reads == 20U);
}

BOOST_AUTO_TEST_CASE(a_cold_tier_that_does_not_answer_costs_its_patience_and_no_more) {
    ExchangeConfig config;
    config.load.has_cold = true;
    MapHoldings none;
    Exchange exchange(PeerId{1}, none, config);
    TimePoint now{std::chrono::seconds{5}};
    exchange.load(now, {1}, {key(1)}, {false}, {now + seconds{1}, milliseconds{3}});
    const auto look = std::get<Exchange::LookCold>(*exchange.poll_output());
    BOOST_TEST((look.terms.deadline == now + seconds{1}));
    BOOST_TEST((*look.terms.compute == milliseconds{3}));
    BOOST_TEST(!exchange.poll_output().has_value());
    BOOST_TEST((exchange.next_timeout() == now + config.cold_look_patience));
    now = exchange.next_timeout();
    exchange.handle_timeout(now);
    BOOST_TEST((std::get<Exchange::Drop>(*exchange.poll_output()).id == look.id));
    BOOST_TEST(std::get<Exchange::LoadOver>(*exchange.poll_output()).given == 0U);
    // Late, or of another number than was asked for.
    exchange.handle_items(now, look.id, {{item(1)}});
    BOOST_TEST(!exchange.poll_output().has_value());
    exchange.load(now, {3}, {key(1)}, {false}, {.may_be_cold = false});
    BOOST_TEST(std::get<Exchange::LoadOver>(*exchange.poll_output()).given == 0U);
    exchange.load(now, {2}, {key(1)}, {false});
    const auto second = std::get<Exchange::LookCold>(*exchange.poll_output());
    exchange.handle_items(now, second.id, {});
    BOOST_TEST(std::get<Exchange::LoadOver>(*exchange.poll_output()).given == 0U);
}

BOOST_AUTO_TEST_CASE(a_cancelled_load_drops_its_cold_reads) {
    ExchangeConfig config;
    config.load.has_cold = true;
    MapHoldings none;
    Exchange exchange(PeerId{1}, none, config);
    const TimePoint now{std::chrono::seconds{5}};
    exchange.load(now, {1}, {key(1)}, {false});
    const auto look = std::get<Exchange::LookCold>(*exchange.poll_output());
    exchange.handle_items(now, look.id, {{item(1)}});
    const auto read = std::get<Exchange::ReadCold>(*exchange.poll_output());
    exchange.cancel(now, {1});
    BOOST_TEST((std::get<Exchange::Drop>(*exchange.poll_output()).id == read.id));
    exchange.handle_segment(now, read.id, body(1));
    BOOST_TEST(!exchange.poll_output().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
