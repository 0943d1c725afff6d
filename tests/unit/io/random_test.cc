#include "io/random.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <set>
#include <vector>

BOOST_AUTO_TEST_SUITE(system_random)

BOOST_AUTO_TEST_CASE(ids_do_not_repeat_and_are_never_zero) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1'000; ++i) seen.insert(exa::io::random_u64());
    BOOST_TEST(seen.size() == 1'000U);
    BOOST_TEST(!seen.contains(0));
}

BOOST_AUTO_TEST_CASE(whole_buffer_is_filled) {
    // 64 KiB: more than one call gives on old kernels. Every block of 64 bytes that stays zero is one that was left.
    std::vector<std::uint8_t> bytes(64 * 1024);
    exa::io::fill_random(bytes);
    for (std::size_t at = 0; at < bytes.size(); at += 64)
        BOOST_TEST(std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                               bytes.begin() + static_cast<std::ptrdiff_t>(at) + 64, [](auto b) { return b != 0; }));
    exa::io::fill_random({});
}

BOOST_AUTO_TEST_SUITE_END()
