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

BOOST_AUTO_TEST_SUITE_END()
