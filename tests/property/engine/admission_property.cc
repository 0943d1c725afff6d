// Whatever is pushed, popped and given up in whatever order: the queue keeps its bounds, nobody is heard of twice or
// placed past a deadline, tenants share, priorities starve nobody; and the adaptive limit finds what a machine takes.
#include <rapidcheck.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "engine/adaptive_limit.h"
#include "engine/admission_queue.h"

using namespace exa;
using namespace exa::engine;

BOOST_AUTO_TEST_SUITE(admission)

BOOST_AUTO_TEST_CASE(everyone_leaves_once_and_nobody_is_placed_late) {
    BOOST_TEST(rc::check([] {
        const QueueConfig config{.requests_max = *rc::gen::inRange(1U, 12U),
                                 .tokens_max = *rc::gen::inRange<std::uint64_t>(1, 2'000),
                                 .quantum = *rc::gen::inRange(1U, 300U)};
        AdmissionQueue queue(config);
        std::map<WaitTicket, WaitTerms> waiting;
        TimePoint now{};
        const int actions = *rc::gen::inRange(1, 120);
        for (int i = 0; i < actions; ++i) {
            const int kind = *rc::gen::inRange(0, 9);
            if (kind < 5) {
                WaitTerms terms;
                terms.tenant = std::string(1, *rc::gen::inRange('a', 'e'));
                terms.priority = *rc::gen::inRange(0U, AdmissionQueue::levels);
                terms.tokens = *rc::gen::inRange(1U, 500U);
                if (*rc::gen::inRange(0, 3) > 0) terms.deadline = now + Duration(*rc::gen::inRange(0, 100));
                if (const auto pushed = queue.push(now, terms)) {
                    RC_ASSERT(waiting.emplace(pushed.value().ticket, terms).second);
                    if (pushed.value().displaced) {
                        RC_ASSERT(waiting.contains(*pushed.value().displaced));
                        RC_ASSERT(waiting.at(*pushed.value().displaced).priority >= terms.priority);
                        waiting.erase(*pushed.value().displaced);
                    }
                }
            } else if (kind < 7) {
                if (const auto next = queue.pop(now)) {
                    RC_ASSERT(waiting.contains(*next));
                    RC_ASSERT(waiting.at(*next).deadline > now);
                    waiting.erase(*next);
                } else {
                    for (const auto& [ticket, terms] : waiting) RC_ASSERT(terms.deadline <= now);
                }
            } else if (kind == 7) {
                now += Duration(*rc::gen::inRange(0, 60));
                for (const WaitTicket ticket : queue.expire(now)) {
                    RC_ASSERT(waiting.at(ticket).deadline <= now);
                    waiting.erase(ticket);
                }
                for (const auto& [ticket, terms] : waiting) RC_ASSERT(terms.deadline > now);
            } else if (!waiting.empty()) {
                const auto gone = std::next(waiting.begin(), *rc::gen::inRange<long>(0, std::ssize(waiting)));
                RC_ASSERT(queue.erase(gone->first));
                waiting.erase(gone);
            }
            RC_ASSERT(queue.size() <= config.requests_max);
            RC_ASSERT(queue.tokens() <= config.tokens_max || queue.size() == 1);
        }
        now += Duration(1'000);
        for (const WaitTicket ticket : queue.expire(now)) RC_ASSERT(waiting.erase(ticket) == 1U);
        while (const auto next = queue.pop(now)) RC_ASSERT(waiting.erase(*next) == 1U);
        RC_ASSERT(waiting.empty());
        RC_ASSERT(queue.tokens() == 0U);
    }));
}

BOOST_AUTO_TEST_CASE(tenants_that_wait_all_along_differ_by_less_than_a_quantum_and_a_request) {
    BOOST_TEST(rc::check([] {
        const std::uint32_t quantum = *rc::gen::inRange(1U, 2'000U);
        const std::uint32_t largest = *rc::gen::inRange(1U, 1'500U);
        const int tenants = *rc::gen::inRange(2, 6);
        AdmissionQueue queue({.requests_max = 100'000, .tokens_max = 1'000'000'000, .quantum = quantum});
        std::map<WaitTicket, WaitTerms> waiting;
        const auto push = [&](int tenant) {
            WaitTerms terms;
            terms.tenant = std::to_string(tenant);
            terms.tokens = *rc::gen::inRange(1U, largest + 1);
            waiting.emplace(queue.push(TimePoint{}, terms).value().ticket, terms);
        };
        for (int tenant = 0; tenant < tenants; ++tenant)
            for (int i = 0; i < 3; ++i) push(tenant);
        std::map<std::string, std::uint64_t> served;
        for (int tenant = 0; tenant < tenants; ++tenant) served[std::to_string(tenant)] = 0;
        for (int i = 0; i < 60; ++i) {
            const WaitTerms terms = waiting.at(*queue.pop(TimePoint{}));
            served[terms.tenant] += terms.tokens;
            push(std::stoi(terms.tenant));
            const auto by_tokens = [](const auto& a, const auto& b) { return a.second < b.second; };
            const auto [least, most] = std::minmax_element(served.begin(), served.end(), by_tokens);
            RC_ASSERT(most->second - least->second < std::uint64_t{quantum} + largest);
        }
    }));
}

BOOST_AUTO_TEST_CASE(every_priority_gets_its_turn_within_a_bound) {
    BOOST_TEST(rc::check([] {
        AdmissionQueue queue({.requests_max = 10'000, .tokens_max = 1'000'000});
        std::map<WaitTicket, std::uint32_t> levels;
        const auto push = [&](std::uint32_t level) {
            levels.emplace(queue.push(TimePoint{}, {.priority = level, .tokens = 1}).value().ticket, level);
        };
        std::map<std::uint32_t, int> passed;
        for (std::uint32_t level = 0; level < AdmissionQueue::levels; ++level) push(level);
        for (int i = 0; i < 200; ++i) {
            const std::uint32_t level = levels.at(*queue.pop(TimePoint{}));
            for (std::uint32_t other = 0; other < AdmissionQueue::levels; ++other) ++passed[other];
            passed[level] = 0;
            for (const auto& [other, times] : passed)
                RC_ASSERT(times <= static_cast<int>(2 * AdmissionQueue::passed_over_max));
            push(level);
            if (*rc::gen::inRange(0, 3) == 0) push(*rc::gen::inRange(0U, AdmissionQueue::levels));
        }
    }));
}

// A machine whose step takes `fixed` and `each` for every request in it, and clients that want more permits than there
// are. A fifth of the objective is left to the last few.
BOOST_AUTO_TEST_CASE(limit_settles_where_tokens_come_in_time) {
    BOOST_TEST(rc::check([] {
        const Duration fixed(*rc::gen::inRange(1'000, 60'000));
        const Duration each(*rc::gen::inRange(500, 20'000));
        const LimitConfig config;
        AdaptiveLimit limit(config);
        TimePoint now{};
        double sum = 0;
        constexpr int steps = 20'000;
        for (int step = 0; step < steps; ++step) {
            const std::uint32_t in_flight = limit.limit();
            const Duration between = fixed + each * in_flight;
            now += between;
            for (std::uint32_t i = 0; i < in_flight; ++i) limit.handle_token(now, between, in_flight);
            RC_ASSERT(limit.limit() >= config.limit_min && limit.limit() <= config.limit_max);
            if (step >= steps / 2) sum += static_cast<double>(in_flight);
        }
        const double mean = sum / (steps - steps / 2);
        const double room =
            static_cast<double>((config.between_tokens * 4 / 5 - fixed).count()) / static_cast<double>(each.count());
        const double best = std::clamp(std::floor(room), 4.0, 32.0);
        RC_ASSERT(mean <= best + 1);
        RC_ASSERT(mean >= std::max(4.0, 0.7 * best));
    }));
}

BOOST_AUTO_TEST_SUITE_END()
