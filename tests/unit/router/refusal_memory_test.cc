#include "router/refusal_memory.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"

BOOST_AUTO_TEST_SUITE(refusal_memory)

using namespace exa;
using exa::router::RefusalMemory;
using namespace std::chrono_literals;

constexpr TimePoint start{1000s};

BOOST_AUTO_TEST_CASE(who_was_refused_is_as_old_as_it_was_and_others_come_now) {
    RefusalMemory memory;
    memory.remember(start + 2s, 7, start);
    BOOST_TEST((memory.asked(start + 3s, 7) == start));
    BOOST_TEST((memory.asked(start + 3s, 8) == start + 3s));
    memory.remember(start + 4s, 7, start + 1s);
    BOOST_TEST((memory.asked(start + 5s, 7) == start), "the older of two equal ones");
    memory.remember(start, 0, start);
    BOOST_TEST((memory.asked(start + 5s, 0) == start + 5s), "nothing is known of it");
}

BOOST_AUTO_TEST_CASE(refusals_are_forgotten_by_age_and_by_number) {
    RefusalMemory memory;
    memory.remember(start, 7, start);
    memory.remember(start + RefusalMemory::life, 8, start + 50s);
    BOOST_TEST((memory.asked(start + 70s, 7) == start + 70s));
    for (std::uint64_t request = 100; request < 100 + RefusalMemory::kept_max; ++request)
        memory.remember(start + 61s, request, start + 61s);
    BOOST_TEST(memory.size() == RefusalMemory::kept_max);
    BOOST_TEST((memory.asked(start + 62s, 8) == start + 62s));
    BOOST_TEST((memory.asked(start + 62s, 100) == start + 61s));
}

BOOST_AUTO_TEST_SUITE_END()
