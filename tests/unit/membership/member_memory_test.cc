#include "membership/member_memory.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(member_memory)

BOOST_AUTO_TEST_CASE(members_come_back_as_they_were_written_and_a_damaged_file_is_none) {
    const std::vector<RememberedMember> members{{PeerId{1}, endpoint(1), "a"}, {PeerId{~0ULL}, endpoint(2), "b c"}};
    const std::string text = format_members(members);
    BOOST_TEST((parse_members(text).value() == members));
    BOOST_TEST(parse_members(format_members({})).value().empty());
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string damaged = text;
        damaged[at] ^= 1;
        BOOST_TEST(!parse_members(damaged).has_value());
        BOOST_TEST(!parse_members(text.substr(0, at)).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_member_is_unmet_until_it_or_word_of_it_or_its_successor_came) {
    Bench bench(2);
    MemberMemory memory;
    memory.start(start, {{PeerId{101}, endpoint(101), "peer-101"},
                         {PeerId{200}, endpoint(200), "peer-102"},
                         {PeerId{201}, endpoint(201), "peer-201"},
                         {PeerId{202}, endpoint(202), "peer-202"}});
    bench.roster.apply(start, whole(202), wire::MemberState::dead);
    const auto unmet = memory.unmet(bench.roster);
    BOOST_REQUIRE(unmet.size() == 1U);
    BOOST_TEST(unmet[0].name == "peer-201");
}

BOOST_AUTO_TEST_CASE(the_file_holds_all_that_have_not_left_and_is_written_when_it_changed) {
    Bench bench(3);
    MemberMemory memory;
    bench.set_liveness(102, Liveness::dead);
    bench.set_liveness(103, Liveness::left);
    const auto first = memory.take_file(bench.now, bench.config, bench.roster);
    const std::vector<RememberedMember> expected{{PeerId{101}, endpoint(101), "peer-101"},
                                                 {PeerId{102}, endpoint(102), "peer-102"}};
    BOOST_TEST((parse_members(first.value()).value() == expected));
    BOOST_TEST(!memory.take_file(bench.now, bench.config, bench.roster).has_value());
    bench.roster.apply(bench.now, whole(104));
    BOOST_TEST(!memory.take_file(bench.now, bench.config, bench.roster).has_value());
    bench.now += seconds{5};
    BOOST_TEST(parse_members(memory.take_file(bench.now, bench.config, bench.roster).value()).value().size() == 3U);
    // A suspicion changes nothing that is worth a write.
    bench.set_liveness(104, Liveness::suspect);
    bench.now += seconds{5};
    BOOST_TEST(!memory.take_file(bench.now, bench.config, bench.roster).has_value());
}

BOOST_AUTO_TEST_CASE(unmet_members_stay_in_the_file_for_as_long_as_lost_ones_are_remembered) {
    Bench bench(1);
    MemberMemory memory;
    memory.start(start, {{PeerId{200}, endpoint(200), "peer-200"}});
    BOOST_TEST(parse_members(memory.take_file(bench.now, bench.config, bench.roster).value()).value().size() == 2U);
    bench.now += bench.config.lost_retention + seconds{1};
    bench.set_liveness(101, Liveness::dead);
    BOOST_TEST(parse_members(memory.take_file(bench.now, bench.config, bench.roster).value()).value().size() == 1U);
    BOOST_TEST(memory.unmet(bench.roster).empty());
}

BOOST_AUTO_TEST_CASE(of_a_large_cluster_a_part_is_remembered) {
    Bench bench(600);
    MemberMemory memory;
    const auto file = memory.take_file(bench.now, bench.config, bench.roster);
    BOOST_TEST(parse_members(file.value()).value().size() == MemberMemory::members_max);
}

BOOST_AUTO_TEST_SUITE_END()
