#include "app/shared/callback_guard.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

using exa::app::shared::CallbackGuard;

BOOST_AUTO_TEST_SUITE(callback_guard)

BOOST_AUTO_TEST_CASE(a_callback_runs_until_the_guard_is_closed) {
    CallbackGuard guard;
    int sum = 0;
    const std::function<int(int)> add = guard.wrap([&](int value) { return sum += value; });
    BOOST_TEST(add(2) == 2);
    BOOST_TEST(add(3) == 5);
    guard.close();
    guard.close();
    BOOST_TEST(add(4) == 0);
    BOOST_TEST(sum == 5);
}

BOOST_AUTO_TEST_CASE(a_callback_outlives_its_guard) {
    std::optional<CallbackGuard> guard(std::in_place);
    auto owner = std::make_shared<int>(7);
    const std::function<std::shared_ptr<int>()> get = guard->wrap([&owner] { return owner; });
    BOOST_TEST(*get() == 7);
    guard.reset();
    BOOST_TEST(get() == nullptr);
}

BOOST_AUTO_TEST_CASE(closing_waits_for_a_callback_that_runs) {
    CallbackGuard guard;
    std::atomic<bool> entered = false, leave = false, ended = false, closed = false;
    const std::function<void()> work = guard.wrap([&] {
        entered = true;
        entered.notify_all();
        leave.wait(false);
        ended = true;
    });
    std::jthread caller([&] { work(); });
    entered.wait(false);
    std::jthread closer([&] {
        guard.close();
        BOOST_TEST(ended.load());
        closed = true;
    });
    BOOST_TEST(!closed.load());
    leave = true;
    leave.notify_all();
    closer.join();
    BOOST_TEST(closed.load());
}

BOOST_AUTO_TEST_CASE(arguments_are_handed_on_without_a_copy) {
    CallbackGuard guard;
    const std::function<int(std::unique_ptr<int>)> take = guard.wrap([](std::unique_ptr<int> value) { return *value; });
    BOOST_TEST(take(std::make_unique<int>(5)) == 5);
}

BOOST_AUTO_TEST_SUITE_END()
