#include "ring/pool_key.h"

#include <boost/test/unit_test.hpp>
#include <set>

using exa::ring::pool_hash;
using exa::ring::PoolKey;

BOOST_AUTO_TEST_SUITE(pool_key)

BOOST_AUTO_TEST_CASE(hash_is_the_wire_contract) {
    BOOST_TEST(pool_hash(PoolKey{"smollm2-135m", "chat", "", "1"}) == 10927760054188674108u);
}

BOOST_AUTO_TEST_CASE(field_boundaries_count) {
    const std::set<std::uint64_t> hashes{pool_hash({"ab", "c", "d", "e"}), pool_hash({"a", "bc", "d", "e"}),
                                         pool_hash({"ab", "cd", "", "e"}), pool_hash({"ab", "c", "", "de"}),
                                         pool_hash({"c", "ab", "d", "e"}), pool_hash({"", "", "", ""})};
    BOOST_TEST(hashes.size() == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
