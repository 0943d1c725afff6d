// Network and links.
#include <boost/test/unit_test.hpp>

#include "sim/net/links.h"
#include "sim/net/network.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t hosts = 4;

HostSet only(std::initializer_list<Host> members) {
    HostSet set(hosts);
    for (const Host host : members) set[host] = 1;
    return set;
}

Rule make(RuleKind kind, HostSet from, HostSet to) {
    Rule rule;
    rule.kind = kind;
    rule.from = std::move(from);
    rule.to = std::move(to);
    return rule;
}

WorldTime at(int ms) {
    return WorldTime{milliseconds{ms}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(net)

BOOST_AUTO_TEST_CASE(a_one_way_cut_stops_one_way_and_counts) {
    Network network({}, hosts, Streams(1));
    std::uint64_t effects = 0;
    const auto rule = network.add(make(RuleKind::cut, only({0}), only({1})), &effects);
    BOOST_TEST(network.send_datagram(at(0), 0, 1, 100).copies == 0U);
    BOOST_TEST(network.send_datagram(at(0), 1, 0, 100).copies == 1U);
    BOOST_TEST(network.send_datagram(at(0), 0, 2, 100).copies == 1U);
    BOOST_TEST(!network.send_link(at(0), 0, 1, 100).passes);
    BOOST_TEST(effects == 2U);
    BOOST_TEST(!network.reaches(0, 1, false));
    BOOST_TEST(network.reaches(1, 0, false));
    network.remove(rule);
    BOOST_TEST(network.send_datagram(at(0), 0, 1, 100).copies == 1U);
}

BOOST_AUTO_TEST_CASE(a_udp_cut_lets_links_pass) {
    Network network({}, hosts, Streams(1));
    std::uint64_t effects = 0;
    network.add(make(RuleKind::cut_udp, only({0}), only({1})), &effects);
    BOOST_TEST(network.send_datagram(at(0), 0, 1, 100).copies == 0U);
    BOOST_TEST(network.send_link(at(0), 0, 1, 100).passes);
    BOOST_TEST(network.reaches(0, 1, false));
    BOOST_TEST(!network.reaches(0, 1, true));
}

BOOST_AUTO_TEST_CASE(loss_loses_about_its_share) {
    Network network({}, hosts, Streams(1));
    std::uint64_t effects = 0;
    Rule rule = make(RuleKind::loss, only({0, 1, 2, 3}), only({0, 1, 2, 3}));
    rule.chance = 0.3;
    network.add(rule, &effects);
    std::size_t arrived = 0;
    for (int i = 0; i < 10'000; ++i) arrived += network.send_datagram(at(i), 0, 1, 100).copies;
    BOOST_TEST(arrived > 6700U);
    BOOST_TEST(arrived < 7300U);
    BOOST_TEST(arrived + effects == 10'000U);
}

BOOST_AUTO_TEST_CASE(taking_one_rule_out_leaves_the_chances_of_the_others) {
    const auto fates = [](bool with_reorder) {
        Network network({}, hosts, Streams(1));
        static std::uint64_t effects = 0;
        Rule loss = make(RuleKind::loss, only({0}), only({1}));
        loss.chance = 0.5;
        network.add(loss, &effects);
        if (with_reorder) {
            Rule reorder = make(RuleKind::reorder, only({0}), only({1}));
            reorder.chance = 0.5;
            reorder.time = milliseconds{50};
            network.add(reorder, &effects);
        }
        std::vector<std::size_t> copies;
        for (int i = 0; i < 200; ++i) copies.push_back(network.send_datagram(at(i), 0, 1, 100).copies);
        return copies;
    };
    BOOST_TEST(fates(true) == fates(false), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_clog_holds_until_it_ends) {
    Network network({}, hosts, Streams(1));
    std::uint64_t effects = 0;
    Rule rule = make(RuleKind::clog, only({0}), only({1}));
    rule.until = at(5000);
    network.add(rule, &effects);
    const auto fate = network.send_datagram(at(1000), 0, 1, 100);
    BOOST_TEST(fate.copies == 1U);
    BOOST_TEST(at(1000) + fate.copy[0].delay >= at(5000));
    BOOST_TEST(effects == 1U);
}

BOOST_AUTO_TEST_CASE(bandwidth_queues_and_then_drops) {
    NetConfig config;
    config.bandwidth = 100'000;
    config.queue_time = milliseconds{50};
    Network network(config, hosts, Streams(1));
    std::size_t arrived = 0;
    Duration longest{0};
    for (int i = 0; i < 100; ++i) {
        const auto fate = network.send_datagram(at(0), 0, 1, 1000);
        arrived += fate.copies;
        if (fate.copies > 0) longest = std::max(longest, fate.copy[0].delay);
    }
    // 10 ms each: those that start within 50 ms.
    BOOST_TEST(arrived == 6U);
    BOOST_TEST(longest >= milliseconds{60});
}

BOOST_AUTO_TEST_CASE(no_datagram_is_dropped_for_one_packet_of_a_slow_line) {
    NetConfig config;
    config.bandwidth = 20'000;
    config.queue_time = milliseconds{50};
    Network network(config, hosts, Streams(1));
    network.send_link(at(0), 0, 1, 1'000'000, TrafficClass::data);
    // Every packet of data takes 75 ms.
    for (int i = 0; i < 20; ++i) BOOST_TEST(network.send_datagram(at(1000 * i), 0, 1, 100).copies == 1U);
}

BOOST_AUTO_TEST_CASE(what_bears_a_forged_address_is_not_on_its_owners_line) {
    NetConfig config;
    config.bandwidth = 100'000;
    Network network(config, hosts, Streams(1));
    for (int i = 0; i < 100; ++i) BOOST_TEST(network.send_datagram(at(0), 0, 1, 60'000, true).copies == 1U);
    BOOST_TEST(network.send_datagram(at(0), 0, 1, 100).copy[0].delay < milliseconds{5});
}

BOOST_AUTO_TEST_CASE(control_overtakes_data_on_a_full_line) {
    NetConfig config;
    config.bandwidth = 100'000;
    Network network(config, hosts, Streams(1));
    const Duration data = network.send_link(at(0), 0, 1, 1'000'000, TrafficClass::data).delay;
    BOOST_TEST(data >= std::chrono::seconds{10});
    // One packet of 1,500 bytes is on the wire, or one piece of data in the socket.
    const auto datagram = network.send_datagram(at(0), 0, 1, 100);
    BOOST_TEST(datagram.copies == 1U);
    BOOST_TEST(datagram.copy[0].delay < milliseconds{20});
    BOOST_TEST(network.send_link(at(0), 0, 1, 100, TrafficClass::control).delay < milliseconds{200});
    BOOST_TEST(network.control_wait_max() <= milliseconds{185});
    BOOST_TEST(network.control_behind_data() == 2U);
    // Data still has its turn, later by what overtook it.
    BOOST_TEST(network.send_link(at(0), 0, 1, 1000, TrafficClass::data).delay > data);
    // A link message of the control plane is on its way, in a piece as long as any: a datagram waits for a packet of
    // it.
    network.send_link(at(0), 1, 0, 1'000'000, TrafficClass::control);
    BOOST_TEST(network.send_datagram(at(0), 1, 0, 100).copies == 1U);
    // And where everything waits in one queue, it does wait.
    config.mutant = Mutant::control_behind_data;
    Network mixed(config, hosts, Streams(1));
    mixed.send_link(at(0), 0, 1, 1'000'000, TrafficClass::data);
    BOOST_TEST(mixed.send_datagram(at(0), 0, 1, 100).copies == 0U);
    BOOST_TEST(mixed.send_link(at(0), 0, 1, 100, TrafficClass::control).delay > std::chrono::seconds{9});
}

BOOST_AUTO_TEST_CASE(data_overtakes_bulk_and_control_overtakes_both) {
    NetConfig config;
    config.bandwidth = 100'000;
    Network network(config, hosts, Streams(1));
    network.send_link(at(0), 0, 1, 1'000'000, TrafficClass::bulk);
    // A piece of bulk takes 164 ms.
    BOOST_TEST(network.send_link(at(0), 0, 1, 10'000, TrafficClass::data).delay < milliseconds{270});
    BOOST_TEST(network.send_link(at(0), 0, 1, 100, TrafficClass::control).delay < milliseconds{170});
    BOOST_TEST(network.control_behind_data() == 1U);
    BOOST_TEST(network.send_link(at(0), 0, 1, 100, TrafficClass::bulk).delay > std::chrono::seconds{10});
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_narrow_line_goes_once_it_is_wide_again) {
    Network network({}, hosts, Streams(1));
    std::uint64_t effects = 0;
    Rule rule = make(RuleKind::bandwidth, only({0}), only({1}));
    rule.rate = 100'000;
    rule.until = at(5000);
    const std::uint32_t number = network.add(rule, &effects);
    BOOST_TEST(network.send_link(at(1000), 0, 1, 100'000, TrafficClass::data).delay >= milliseconds{1000});
    // Ten seconds' worth, of which three have gone by then.
    const Duration much = network.send_link(at(1000), 0, 1, 1'000'000, TrafficClass::data).delay;
    BOOST_TEST(much >= milliseconds{4000});
    BOOST_TEST(much < milliseconds{4010});
    BOOST_TEST(network.send_link(at(4990), 0, 1, 1'000'000, TrafficClass::data).delay < milliseconds{20});
    BOOST_TEST(network.send_link(at(4990), 0, 1, 100, TrafficClass::bulk).delay < milliseconds{20});
    BOOST_TEST(network.send_datagram(at(4990), 0, 1, 1000).copies == 1U);
    network.remove(number);
    BOOST_TEST(network.send_link(at(5000), 0, 1, 1'000'000, TrafficClass::data).delay < milliseconds{2});
}

BOOST_AUTO_TEST_CASE(a_link_keeps_its_order_and_dials_once) {
    NetConfig config;
    config.latency_max = milliseconds{50};
    Network network(config, hosts, Streams(1));
    Links links(network);
    const LinkEnds ends{0, 1, 1, 1, Generation{1}};
    const LinkResult first = links.send(at(0), LinkPool::control, ends, 10);
    BOOST_TEST(first.dialled);
    WorldTime last = first.at;
    for (int i = 1; i < 100; ++i) {
        const LinkResult next = links.send(at(i), LinkPool::control, ends, 10);
        BOOST_TEST(!next.dialled);
        BOOST_TEST(next.kind == LinkResult::Kind::arrives);
        BOOST_TEST(next.at >= last);
        last = next.at;
    }
    BOOST_TEST(links.open() == 1U);
    BOOST_TEST(links.send(at(200), LinkPool::data, ends, 10).dialled);
}

BOOST_AUTO_TEST_CASE(a_crash_is_silent) {
    Network network({}, hosts, Streams(1));
    Links links(network);
    links.send(at(0), LinkPool::control, {0, 1, 1, 1, Generation{1}}, 10);
    // On the open link nothing comes back; a dial times out.
    const LinkResult first = links.send(at(10), LinkPool::control, {0, 1, 1, 0, Generation{1}}, 10);
    BOOST_TEST((first.kind == LinkResult::Kind::vanishes));
    BOOST_TEST((first.breaks == at(10) + NetConfig{}.silence));
    const LinkResult second = links.send(at(10), LinkPool::control, {0, 1, 1, 0, Generation{1}}, 10);
    BOOST_TEST((second.breaks == world_never), "the first that vanished has told when the link is given up");
    BOOST_TEST(!links.answers(LinkPool::control, {0, 1, 1, 0, Generation{1}}));
    BOOST_TEST(links.answers(LinkPool::control, {0, 1, 1, 1, Generation{1}}));
    const LinkResult dial = links.send(at(10), LinkPool::control, {0, 2, 1, 0}, 10);
    BOOST_TEST(dial.kind == LinkResult::Kind::fails);
    BOOST_TEST(dial.at == at(10) + NetConfig{}.connect_timeout);
}

BOOST_AUTO_TEST_CASE(a_restarted_process_resets_an_old_link) {
    Network network({}, hosts, Streams(1));
    Links links(network);
    links.send(at(0), LinkPool::control, {0, 1, 1, 1, Generation{1}}, 10);
    const LinkResult reset = links.send(at(10), LinkPool::control, {0, 1, 1, 2, Generation{2}}, 10);
    BOOST_TEST(reset.kind == LinkResult::Kind::fails);
    BOOST_TEST(reset.at < at(20));
    BOOST_TEST(
        (links.send(at(30), LinkPool::control, {0, 1, 1, 2, Generation{2}}, 10).kind == LinkResult::Kind::arrives));
}

BOOST_AUTO_TEST_CASE(what_was_sent_into_a_cut_comes_after_it) {
    Network network({}, hosts, Streams(1));
    Links links(network);
    links.send(at(0), LinkPool::control, {0, 1, 1, 1, Generation{1}}, 10);
    std::uint64_t effects = 0;
    Rule rule = make(RuleKind::cut, only({0}), only({1}));
    rule.until = at(10'000);
    network.add(rule, &effects);
    const LinkResult held = links.send(at(1000), LinkPool::control, {0, 1, 1, 1, Generation{1}}, 10);
    BOOST_TEST(held.kind == LinkResult::Kind::arrives);
    BOOST_TEST(held.at > at(10'000));
}

BOOST_AUTO_TEST_SUITE_END()
