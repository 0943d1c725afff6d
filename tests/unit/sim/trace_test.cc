#include "sim/world/trace.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "sim/world/streams.h"

using namespace exa;
using namespace exa::sim;

namespace {

std::uint64_t hash_of(std::vector<TraceEntry> entries) {
    Trace trace;
    for (const TraceEntry& entry : entries) trace.note(entry);
    return trace.hash();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trace)

BOOST_AUTO_TEST_CASE(every_field_and_the_order_reach_the_hash) {
    const TraceEntry a{.at = WorldTime{Duration{1}}, .kind = EventKind::datagram, .host = 1, .from = 2, .digest = 3};
    TraceEntry later = a, other_host = a, other_from = a, other_bytes = a, other_kind = a, other_arg = a;
    later.at += Duration{1};
    other_host.host = 2;
    other_from.from = 3;
    other_bytes.digest = 4;
    other_kind.kind = EventKind::sync;
    other_arg.arg = 1;
    for (const TraceEntry& b : {later, other_host, other_from, other_bytes, other_kind, other_arg}) {
        BOOST_TEST(hash_of({a}) != hash_of({b}));
        BOOST_TEST(hash_of({a, b}) != hash_of({b, a}));
    }
    BOOST_TEST(hash_of({a, a}) == hash_of({a, a}));
}

BOOST_AUTO_TEST_CASE(a_listener_sees_all_entries_numbered_and_can_end_the_run) {
    Trace trace;
    std::vector<std::uint64_t> numbers;
    trace.listen([&](const TraceEntry& entry) {
        numbers.push_back(entry.number);
        return numbers.size() < 2;
    });
    trace.note({});
    BOOST_TEST(!trace.stopped());
    trace.note({});
    BOOST_TEST(trace.stopped());
    BOOST_TEST(numbers == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(streams_of_one_seed_differ_by_purpose_and_number) {
    const Streams streams(7);
    BOOST_TEST(streams.seed_of("loss") == Streams(7).seed_of("loss"));
    BOOST_TEST(streams.seed_of("loss") != streams.seed_of("latency"));
    BOOST_TEST(streams.seed_of("loss", 1) != streams.seed_of("loss", 2));
    BOOST_TEST(streams.seed_of("loss") != Streams(8).seed_of("loss"));
}

BOOST_AUTO_TEST_SUITE_END()
