#include "app/shared/mailbox.h"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(mailbox)

using namespace exa;
namespace asio = boost::asio;
using app::shared::Mailbox;

namespace {

struct Reader final : app::shared::Recipient {
    void take(std::size_t index, std::vector<engine::TokenEvent>) override { heard.push_back(index); }
    std::vector<std::size_t> heard;
};

struct Bench {
    void send(std::size_t index, bool at_once) { box->send({reader, index, {}}, at_once); }

    // Deliveries closely behind one another, so that messages that may wait do from now on. False where the machine
    // stalled meanwhile.
    bool crowd() {
        const auto begun = std::chrono::steady_clock::now();
        for (unsigned i = 0; i <= Mailbox::crowded_after; ++i) {
            send(0, false);
            context.poll();
            context.restart();
        }
        reader->heard.clear();
        return std::chrono::steady_clock::now() - begun < Mailbox::pace;
    }

    asio::io_context context;
    std::shared_ptr<Reader> reader = std::make_shared<Reader>();
    std::shared_ptr<Mailbox> box = std::make_shared<Mailbox>(context.get_executor());
};

}  // namespace

BOOST_AUTO_TEST_CASE(letters_of_one_turn_are_one_delivery_in_their_order) {
    Bench bench;
    for (std::size_t i = 0; i < 5; ++i) bench.send(i, i % 2 == 0);
    BOOST_TEST(bench.reader->heard.empty());
    BOOST_TEST(bench.context.poll() == 1U);
    BOOST_TEST(bench.reader->heard == (std::vector<std::size_t>{0, 1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_letter_to_somebody_who_left_is_dropped) {
    Bench bench;
    bench.send(1, true);
    bench.box->send({std::weak_ptr<Reader>{}, 2, {}}, true);
    bench.context.poll();
    BOOST_TEST(bench.reader->heard == std::vector<std::size_t>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(letters_of_a_crowd_wait_for_one_another_but_not_for_long) {
    Bench bench;
    if (!bench.crowd()) return;
    bench.send(1, false);
    bench.send(2, false);
    BOOST_TEST(bench.context.run_one() == 1U);  // the timer's
    BOOST_TEST(bench.reader->heard == (std::vector<std::size_t>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_must_not_wait_takes_along_what_waits) {
    Bench bench;
    if (!bench.crowd()) return;
    bench.send(1, false);
    bench.send(2, true);
    BOOST_TEST(bench.context.poll_one() == 1U);
    BOOST_TEST(bench.reader->heard == (std::vector<std::size_t>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_crowd_that_has_gone_leaves_no_timer) {
    Bench bench;
    bench.crowd();
    bench.context.run();  // ends when there is nothing to do
    bench.send(1, false);
    bench.context.restart();
    BOOST_TEST(bench.context.poll() == 1U);
    BOOST_TEST(bench.reader->heard.size() == 1U);
}

BOOST_AUTO_TEST_CASE(letters_of_many_threads_all_arrive) {
    Bench bench;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (std::size_t n = 0; n < 2'000; ++n) bench.send(n, n % 7 == 0);
            });
        while (bench.reader->heard.size() < 4'000) {
            bench.context.restart();
            bench.context.run_for(std::chrono::milliseconds(1));
        }
    }
    bench.context.restart();
    bench.context.run();
    BOOST_TEST(bench.reader->heard.size() == 8'000U);
}

BOOST_AUTO_TEST_SUITE_END()
