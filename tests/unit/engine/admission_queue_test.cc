#include "engine/admission_queue.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/errc.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(admission_queue)

using namespace exa;
using engine::AdmissionQueue;
using engine::QueueConfig;
using engine::WaitTerms;
using engine::WaitTicket;
using std::chrono::seconds;

namespace {

constexpr TimePoint start{};

WaitTicket push(AdmissionQueue& queue, WaitTerms terms) {
    const auto pushed = queue.push(start, std::move(terms));
    BOOST_TEST_REQUIRE(pushed.has_value());
    BOOST_TEST(!pushed.value().displaced.has_value());
    return pushed.value().ticket;
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_tenant_keeps_its_order) {
    AdmissionQueue queue({});
    const WaitTicket first = push(queue, {.tokens = 5'000});
    const WaitTicket second = push(queue, {.tokens = 1});
    BOOST_TEST(queue.size() == 2U);
    BOOST_TEST(queue.tokens() == 5'001U);
    BOOST_TEST(queue.pop(start) == first);
    BOOST_TEST(queue.pop(start) == second);
    BOOST_TEST(!queue.pop(start).has_value());
    BOOST_TEST(queue.tokens() == 0U);
}

BOOST_AUTO_TEST_CASE(many_requests_of_one_tenant_do_not_keep_another_waiting) {
    AdmissionQueue queue({.quantum = 100});
    for (int i = 0; i < 20; ++i) push(queue, {.tenant = "many", .tokens = 100});
    const WaitTicket one = push(queue, {.tenant = "few", .tokens = 100});
    queue.pop(start);
    BOOST_TEST(queue.pop(start) == one);
}

BOOST_AUTO_TEST_CASE(higher_priority_goes_first_but_not_for_ever) {
    AdmissionQueue queue({});
    const WaitTicket low = push(queue, {.priority = 2, .tokens = 1});
    for (int i = 0; i < 20; ++i) push(queue, {.priority = 0, .tokens = 1});
    std::uint32_t before = 0;
    while (queue.pop(start) != low) ++before;
    BOOST_TEST(before == AdmissionQueue::passed_over_max);
}

BOOST_AUTO_TEST_CASE(of_one_tenant_the_nearest_deadline_is_next_and_equal_ones_keep_their_turn) {
    AdmissionQueue queue({});
    const WaitTicket first = push(queue, {.tokens = 1, .deadline = start + seconds(5)});
    const WaitTicket second = push(queue, {.tokens = 1, .deadline = start + seconds(5)});
    const WaitTicket endless = push(queue, {.tokens = 1});
    const WaitTicket older = push(queue, {.tokens = 1, .deadline = start + seconds(3)});
    const WaitTicket other = push(queue, {.tenant = "other", .tokens = 1, .deadline = start + seconds(1)});
    for (const WaitTicket expected : {older, first, second, endless, other}) BOOST_TEST((queue.pop(start) == expected));
}

BOOST_AUTO_TEST_CASE(nobody_gets_a_place_past_his_deadline) {
    AdmissionQueue queue({});
    const WaitTicket early = push(queue, {.tokens = 1, .deadline = start + seconds(1)});
    const WaitTicket late = push(queue, {.tokens = 1, .deadline = start + seconds(2)});
    BOOST_TEST(queue.next_deadline() == start + seconds(1));
    BOOST_TEST(queue.pop(start + seconds(1)) == late);
    BOOST_TEST(queue.expire(start + seconds(1)) == std::vector{early});
    BOOST_TEST(queue.expire(start + seconds(9)).empty());
    BOOST_TEST(queue.next_deadline() == time_never);
}

BOOST_AUTO_TEST_CASE(full_queue_is_busy_and_changes_nothing) {
    AdmissionQueue queue({.requests_max = 2});
    const WaitTicket first = push(queue, {.tokens = 10});
    push(queue, {.tokens = 10});
    const auto third = queue.push(start, {.tokens = 1});
    BOOST_REQUIRE(!third.has_value());
    BOOST_TEST(third.error().code == engine::errc::busy);
    BOOST_TEST(queue.size() == 2U);
    BOOST_TEST(queue.pop(start) == first);
}

BOOST_AUTO_TEST_CASE(tokens_are_bounded_but_one_request_always_fits) {
    AdmissionQueue queue({.tokens_max = 100});
    push(queue, {.tokens = 1'000});
    BOOST_TEST(!queue.push(start, {.tokens = 1}).has_value());
    queue.pop(start);
    push(queue, {.tokens = 60});
    push(queue, {.tokens = 40});
    BOOST_TEST(!queue.push(start, {.tokens = 1}).has_value());
}

BOOST_AUTO_TEST_CASE(nobody_waits_in_a_queue_for_none) {
    AdmissionQueue queue({.requests_max = 0});
    BOOST_TEST(!queue.push(start, {.tokens = 1}).has_value());
}

BOOST_AUTO_TEST_CASE(full_queue_takes_another_tenant_for_the_last_of_the_greediest) {
    AdmissionQueue queue({.requests_max = 3});
    push(queue, {.tenant = "many", .tokens = 10});
    push(queue, {.tenant = "many", .tokens = 10});
    const WaitTicket last = push(queue, {.tenant = "many", .tokens = 10});
    const auto pushed = queue.push(start, {.tenant = "few", .tokens = 10});
    BOOST_REQUIRE(pushed.has_value());
    BOOST_TEST(pushed.value().displaced == last);
    // Now it would leave the greediest with less than the newcomer's tenant had.
    BOOST_TEST(!queue.push(start, {.tenant = "few", .tokens = 10}).has_value());
    BOOST_TEST(queue.size() == 3U);
}

BOOST_AUTO_TEST_CASE(full_queue_takes_a_higher_priority_for_a_lower_one) {
    AdmissionQueue queue({.requests_max = 2});
    push(queue, {.priority = 1, .tokens = 1});
    const WaitTicket low = push(queue, {.priority = 2, .tokens = 1});
    const auto pushed = queue.push(start, {.priority = 0, .tokens = 100});
    BOOST_REQUIRE(pushed.has_value());
    BOOST_TEST(pushed.value().displaced == low);
    BOOST_TEST(!queue.push(start, {.priority = 2, .tokens = 1}).has_value());
}

BOOST_AUTO_TEST_CASE(who_gave_up_is_not_heard_of_again) {
    AdmissionQueue queue({});
    const WaitTicket gone = push(queue, {.tokens = 1, .deadline = start + seconds(1)});
    const WaitTicket overdue = push(queue, {.tokens = 1, .deadline = start + seconds(1)});
    BOOST_TEST(queue.erase(gone));
    BOOST_TEST(!queue.erase(gone));
    BOOST_TEST(!queue.pop(start + seconds(5)).has_value());
    BOOST_TEST(queue.erase(overdue));
    BOOST_TEST(queue.expire(start + seconds(5)).empty());
    BOOST_TEST(queue.tokens() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
