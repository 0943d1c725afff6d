// What is believed in the end does not depend on the order in which it was heard, nor on how often.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/membership/driver.h"

using namespace exa;
using namespace exa::membership;

namespace {

using Heard = std::vector<std::pair<int, int>>;  // incarnation, state

wire::DigestEntry belief(const Heard& heard) {
    samples::Driver driver;
    driver.gather(4);
    for (const auto& [incarnation, state] : heard)
        driver
            .give(102, {samples::fact(101, static_cast<wire::MemberState>(state),
                                      static_cast<std::uint64_t>(incarnation), 103)})
            .value();
    return driver.core.roster().digest(PeerId{101});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order)

BOOST_AUTO_TEST_CASE(facts_lead_to_the_same_belief_in_any_order) {
    const bool holds = rc::check("the highest (incarnation, state) wins", [] {
        const auto standings = *rc::gen::inRange(3, 5);  // with and without leaving
        const auto heard =
            *rc::gen::container<Heard>(rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, standings)));
        Heard backwards(heard.rbegin(), heard.rend());
        Heard twice = heard;
        twice.insert(twice.end(), backwards.begin(), backwards.end());
        const auto first = belief(heard);
        for (const Heard& other : {backwards, twice}) {
            const auto second = belief(other);
            RC_ASSERT(first.state == second.state);
            if (first.state != wire::MemberState::left) RC_ASSERT(first.incarnation == second.incarnation);
        }
        std::pair<int, int> highest{0, 0};
        for (const auto& fact : heard) highest = std::max(highest, fact);
        if (first.state != wire::MemberState::left)
            RC_ASSERT((std::pair(static_cast<int>(first.incarnation.value), static_cast<int>(first.state)) == highest));
    });
    BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(records_lead_to_the_same_version_in_any_order) {
    const bool holds = rc::check("the last version of the last instance wins", [] {
        const auto heard = *rc::gen::nonEmpty(rc::gen::container<Heard>(
            rc::gen::pair(rc::gen::inRange(1, 4), rc::gen::inRange(1, 6))));  // generation, version
        Roster forwards = samples::roster(0);
        Roster backwards = samples::roster(0);
        std::pair<int, int> last{0, 0};
        const auto apply = [](Roster& roster, const std::pair<int, int>& version) {
            wire::PeerRecord record = samples::record(101, static_cast<std::uint64_t>(version.first));
            record.version = static_cast<std::uint64_t>(version.second);
            record.rack = std::to_string(version.second);
            roster.apply(samples::start, samples::whole(record));
        };
        for (const auto& version : heard) {
            apply(forwards, version);
            last = std::max(last, version);
        }
        for (auto at = heard.rbegin(); at != heard.rend(); ++at) apply(backwards, *at);
        const wire::PeerRecord& record = *forwards.find(PeerId{101})->record;
        RC_ASSERT((record == *backwards.find(PeerId{101})->record));
        RC_ASSERT(record.generation.value == static_cast<std::uint64_t>(last.first));
        RC_ASSERT(record.rack == std::to_string(last.second));
    });
    BOOST_TEST(holds);
}

BOOST_AUTO_TEST_SUITE_END()
