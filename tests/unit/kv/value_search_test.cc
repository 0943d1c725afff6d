#include "kv/value_search.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;

namespace {

constexpr std::uint32_t some = segment_header_size + 8;

Item version(std::uint64_t number, std::uint64_t stamp, std::uint32_t bytes = some) {
    return {key(number), stamp, bytes};
}

// A search by a peer among four, for one value.
struct Case {
    // The owners of value 0 are `first` and `second`; `outside` is none.
    Case() {
        const auto owners = placement->owners(key(0));
        first = owners[0];
        second = owners[1];
        for (std::uint64_t id = 1; id <= 4; ++id)
            if (PeerId{id} != first && PeerId{id} != second) outside = PeerId{id};
    }

    // `answers`: what each owner says; whoever says nothing fails.
    ValueVerdict run(PeerId self, KnownValue known, const std::map<PeerId, Item>& answers) {
        ValueSearch search({known}, self, *placement, [](PeerId) { return false; });
        asked.clear();
        while (const auto asks = search.next_ask()) {
            asked.push_back(asks->to);
            const auto answer = answers.find(asks->to);
            if (answer == answers.end())
                search.failed(*asks);
            else
                search.answered(*asks, {&answer->second, 1});
        }
        BOOST_TEST(search.is_over());
        return search.verdicts().at(0);
    }

    std::shared_ptr<const Placement> placement = placement_of(4);
    PeerId first, second, outside;
    std::vector<PeerId> asked;
};

const KnownValue nothing{{key(0), 0, 0}};

}  // namespace

BOOST_AUTO_TEST_SUITE(value_search)

BOOST_FIXTURE_TEST_CASE(the_later_of_two_owners_answers_is_the_last_version, Case) {
    const auto verdict = run(outside, nothing, {{first, version(0, 5)}, {second, version(0, 9)}});
    BOOST_TEST(verdict.stamp == 9u);
    BOOST_TEST(verdict.holders == std::vector{second});
    BOOST_TEST(verdict.is_sure);
    BOOST_TEST(verdict.is_found());
    BOOST_TEST(asked.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(all_who_have_the_last_version_are_named, Case) {
    const auto verdict = run(outside, nothing, {{first, version(0, 9)}, {second, version(0, 9)}});
    BOOST_TEST(verdict.holders.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_later_removal_hides_a_value, Case) {
    const auto verdict = run(outside, {version(0, 5)}, {{first, version(0, 9, 0)}, {second, version(0, 5)}});
    BOOST_TEST(verdict.is_removal);
    BOOST_TEST(!verdict.is_found());
    BOOST_TEST(verdict.stamp == 9u);
}

BOOST_FIXTURE_TEST_CASE(what_was_written_after_a_removal_is_found, Case) {
    BOOST_TEST(run(outside, nothing, {{first, version(0, 9, 0)}, {second, version(0, 12)}}).is_found());
}

BOOST_FIXTURE_TEST_CASE(an_owners_own_version_counts_when_the_other_has_none, Case) {
    const auto verdict = run(first, {version(0, 5)}, {{second, nothing.item}});
    BOOST_TEST(verdict.is_local);
    BOOST_TEST(asked == std::vector{second});
}

BOOST_FIXTURE_TEST_CASE(an_owner_that_missed_a_write_hears_of_it, Case) {
    const auto verdict = run(first, {version(0, 5)}, {{second, version(0, 9)}});
    BOOST_TEST(!verdict.is_local);
    BOOST_TEST(verdict.holders == std::vector{second});
}

BOOST_FIXTURE_TEST_CASE(a_copy_counts_only_as_far_as_an_owner_vouches_for_it, Case) {
    BOOST_TEST(run(outside, {version(0, 5)}, {{first, version(0, 5)}, {second, nothing.item}}).is_local);
    // Written over, and what wrote it over is gone: neither this nor anything older.
    BOOST_TEST(!run(outside, {version(0, 5)}, {{first, nothing.item}, {second, nothing.item}}).is_found());
    BOOST_TEST(!run(outside, {version(0, 5)}, {{first, version(0, 3)}, {second, nothing.item}}).is_found());
}

BOOST_FIXTURE_TEST_CASE(a_copy_on_its_way_to_the_owners_counts, Case) {
    BOOST_TEST(run(outside, {version(0, 5), true}, {{first, nothing.item}, {second, version(0, 3)}}).is_local);
    BOOST_TEST(!run(outside, {version(0, 5), true}, {{first, nothing.item}, {second, version(0, 7)}}).is_local);
}

BOOST_FIXTURE_TEST_CASE(a_copy_is_a_miss_when_no_owner_answers_and_ones_own_write_is_not, Case) {
    const auto verdict = run(outside, {version(0, 5)}, {});
    BOOST_TEST(!verdict.is_found());
    BOOST_TEST(!verdict.is_sure);
    BOOST_TEST(run(outside, {version(0, 5), true}, {}).is_local);
    BOOST_TEST(run(first, {version(0, 5)}, {}).is_local);
}

BOOST_FIXTURE_TEST_CASE(one_silent_owner_makes_it_unsure_and_no_miss, Case) {
    const auto verdict = run(outside, nothing, {{second, version(0, 5)}});
    BOOST_TEST(verdict.is_found());
    BOOST_TEST(!verdict.is_sure);
}

BOOST_FIXTURE_TEST_CASE(who_is_out_of_reach_or_avoided_is_not_asked, Case) {
    placement = placement_of(4, {first.value});
    BOOST_TEST(!run(outside, nothing, {{second, nothing.item}}).is_sure);
    BOOST_TEST(asked == std::vector{second});
    ValueSearch search({nothing}, outside, *placement_of(4), [](PeerId) { return true; });
    BOOST_TEST(search.is_over());
    BOOST_TEST(!search.verdicts().at(0).is_sure);
}

BOOST_FIXTURE_TEST_CASE(an_answer_about_another_key_says_nothing, Case) {
    const auto verdict = run(outside, {version(0, 5)}, {{first, version(1, 9)}, {second, version(0, 5)}});
    BOOST_TEST(verdict.stamp == 5u);
    BOOST_TEST(!verdict.is_sure);
}

BOOST_AUTO_TEST_CASE(the_version_in_memory_counts_unless_the_one_on_disk_is_later) {
    const Item older{key(1), 5, 4096};
    const Item later{key(1), 6, 0};
    const KnownValue nothing{{key(1), 0, 0}};
    BOOST_TEST(known_value(nothing, older, false) == (KnownValue{older, false}));
    BOOST_TEST(known_value({older, true}, later, false) == (KnownValue{later, false}));
    BOOST_TEST(known_value({later, true}, older, true) == (KnownValue{later, true}));
    // On disk, too: its owners may not have it.
    BOOST_TEST(known_value({older, true}, older, false) == (KnownValue{older, true}));
}

BOOST_AUTO_TEST_CASE(each_owner_is_asked_once_for_all_of_its_values_within_the_limit_of_a_question) {
    std::vector<KnownValue> values;
    for (std::uint64_t n = 0; n < 2 * question_items_max; ++n) values.push_back({{key(n), 0, 0}});
    ValueSearch search(values, PeerId{1}, *placement_of(2), [](PeerId) { return false; });
    std::size_t questions = 0;
    while (const auto asks = search.next_ask()) {
        BOOST_TEST(asks->places.size() == question_items_max);
        ++questions;
        search.failed(*asks);
    }
    BOOST_TEST(questions == 2u);
    BOOST_TEST(search.verdicts().size() == values.size());
}

BOOST_AUTO_TEST_SUITE_END()
