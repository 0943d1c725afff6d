#include "membership/id_search.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "base/rng.h"

using namespace exa;

namespace {

bool agrees(std::vector<PeerId> ids, Rng& rng) {
    std::ranges::sort(ids);
    const auto same = [&](std::uint64_t value) {
        const auto expected = std::ranges::lower_bound(ids, PeerId{value}) - ids.begin();
        return membership::lower_bound(ids, PeerId{value}) == static_cast<std::size_t>(expected);
    };
    for (const PeerId id : ids)
        if (!same(id.value) || !same(id.value + 1) || !same(id.value - 1)) return false;
    for (int i = 0; i < 100; ++i)
        if (!same(rng.next())) return false;
    return same(0) && same(~std::uint64_t{0});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(id_search)

BOOST_AUTO_TEST_CASE(it_finds_what_halving_finds_among_random_ids) {
    Rng rng(1);
    for (std::size_t size = 0; size < 600; size += 1 + size / 4) {
        std::vector<PeerId> ids;
        for (std::size_t i = 0; i < size; ++i) ids.push_back(PeerId{rng.next()});
        BOOST_TEST(agrees(ids, rng));
    }
}

BOOST_AUTO_TEST_CASE(it_finds_what_halving_finds_among_ids_that_crowd) {
    Rng rng(2);
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 300}) {
        std::vector<PeerId> ids;
        for (std::uint64_t i = 0; i < 300; ++i) ids.push_back(PeerId{from + i});
        BOOST_TEST(agrees(ids, rng));
        ids.push_back(PeerId{1});
        ids.push_back(PeerId{~std::uint64_t{0}});
        BOOST_TEST(agrees(ids, rng));
    }
}

BOOST_AUTO_TEST_SUITE_END()
