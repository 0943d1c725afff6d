#include "base/flat_map.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>

#include "base/rng.h"

using namespace exa;

namespace {

struct Mixed {
    std::uint64_t operator()(std::uint64_t key) const { return mix64(key); }
};
// Everybody wants one of two cells: long runs, which wrap round the end.
struct Crowded {
    std::uint64_t operator()(std::uint64_t key) const { return ~(key & 1); }
};

template <class Hash>
bool agrees_with_a_map(std::uint64_t seed, std::uint64_t keys) {
    FlatMap<std::uint64_t, std::uint64_t, Hash> flat;
    std::map<std::uint64_t, std::uint64_t> model;
    Rng rng(seed);
    for (int step = 0; step < 4000; ++step) {
        const std::uint64_t key = rng.below(keys);
        if (rng.below(2) == 0) {
            const std::uint64_t value = rng.next();
            flat.put(key, value);
            model[key] = value;
        } else if (flat.erase(key) != (model.erase(key) == 1)) {
            return false;
        }
        if (flat.size() != model.size()) return false;
        const std::uint64_t other = rng.below(keys);
        const std::uint64_t* found = flat.find(other);
        const auto at = model.find(other);
        if ((found == nullptr) != (at == model.end()) || (found != nullptr && *found != at->second)) return false;
    }
    return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(flat_map)

BOOST_AUTO_TEST_CASE(it_holds_what_a_map_holds_after_the_same_orders) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        BOOST_TEST(agrees_with_a_map<Mixed>(seed, 300));
        BOOST_TEST(agrees_with_a_map<Crowded>(seed, 20));
    }
}

BOOST_AUTO_TEST_CASE(an_empty_one_finds_nothing_and_erases_nothing) {
    FlatMap<std::uint64_t, int, Mixed> map;
    BOOST_TEST(map.find(0) == nullptr);
    BOOST_TEST(!map.erase(0));
    map.put(0, 1);
    map.clear();
    BOOST_TEST(map.empty());
    BOOST_TEST(map.find(0) == nullptr);
}

BOOST_AUTO_TEST_CASE(values_are_let_go_when_they_are_erased) {
    const auto watched = std::make_shared<int>(1);
    FlatMap<std::uint64_t, std::shared_ptr<int>, Mixed> map;
    for (std::uint64_t key = 0; key < 20; ++key) map.put(key, watched);
    for (std::uint64_t key = 0; key < 20; ++key) map.erase(key);
    BOOST_TEST(watched.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
