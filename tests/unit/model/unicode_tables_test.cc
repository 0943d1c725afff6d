#include "model/unicode_tables.h"
#include "support/print.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(unicode_tables)

BOOST_AUTO_TEST_CASE(runs_begin_at_zero_ascend_and_alternate) {
    using exa::model::char_class_runs;
    BOOST_TEST((char_class_runs.front() >> 2) == 0U);
    BOOST_TEST(std::ranges::adjacent_find(char_class_runs, std::greater_equal<>()) == char_class_runs.end());
    BOOST_TEST(std::ranges::adjacent_find(char_class_runs, {}, [](std::uint32_t run) { return run & 3U; }) ==
               char_class_runs.end());
    BOOST_TEST((char_class_runs.back() >> 2) < 0x110000U);
}

// Unicode 15.1's own counts: DerivedGeneralCategory.txt for L* and N*, PropList.txt for White_Space.
BOOST_AUTO_TEST_CASE(classes_are_as_large_as_in_unicode_15_1) {
    std::array<std::uint32_t, 4> sizes{};
    const auto& runs = exa::model::char_class_runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::uint32_t end = i + 1 < runs.size() ? runs[i + 1] >> 2 : 0x110000U;
        sizes[runs[i] & 3U] += end - (runs[i] >> 2);
    }
    BOOST_TEST(sizes[1] == 136'726U);
    BOOST_TEST(sizes[2] == 1'831U);
    BOOST_TEST(sizes[3] == 25U);
}

BOOST_AUTO_TEST_SUITE_END()
