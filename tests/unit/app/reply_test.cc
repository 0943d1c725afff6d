#include "app/reply.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <tuple>

BOOST_AUTO_TEST_SUITE(reply)

namespace asio = boost::asio;
using namespace exa::app;
using namespace exa;

namespace {

asio::awaitable<void> write_numbers(std::shared_ptr<ReplyWriter> writer, int count, int& written) {
    for (int i = 0; i < count; ++i) {
        wire::Data data;
        data.bytes = std::to_string(i);
        if (!co_await writer->write(std::move(data))) co_return;
        ++written;
    }
    std::ignore = co_await writer->write(wire::End{});
}

asio::awaitable<void> read_text(std::shared_ptr<ReplyReader> reader, std::string& text, bool& broken) {
    while (true) {
        const auto part = co_await reader->read(std::chrono::seconds(10));
        if (!part) {
            broken = true;
            co_return;
        }
        if (std::holds_alternative<wire::End>(part.value())) co_return;
        text += std::get<wire::Data>(part.value()).bytes + ",";
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(parts_arrive_in_order_and_writer_waits_for_the_reader) {
    asio::io_context context;
    LocalReply ends = make_local_reply(context.get_executor());
    int written = 0;
    co_spawn(context, write_numbers(std::move(ends.writer), 100, written), asio::detached);
    context.poll();
    BOOST_TEST(written == 64);
    std::string text;
    bool broken = false;
    co_spawn(context, read_text(ends.reader, text, broken), asio::detached);
    context.poll();
    BOOST_TEST(written == 100);
    BOOST_TEST(text.starts_with("0,1,2,"));
    BOOST_TEST(text.ends_with("98,99,"));
    BOOST_TEST(!broken);
}

BOOST_AUTO_TEST_CASE(reader_hears_of_a_writer_that_went_away_after_what_it_wrote) {
    asio::io_context context;
    LocalReply ends = make_local_reply(context.get_executor());
    std::string text;
    bool broken = false;
    co_spawn(context, read_text(ends.reader, text, broken), asio::detached);
    int written = 0;
    co_spawn(context, write_numbers(ends.writer, 0, written), asio::detached);
    context.poll();
    BOOST_TEST(!broken);

    LocalReply second = make_local_reply(context.get_executor());
    co_spawn(context, read_text(second.reader, text, broken), asio::detached);
    context.restart();
    context.poll();
    second.writer.reset();
    context.restart();
    context.poll();
    BOOST_TEST(broken);
}

BOOST_AUTO_TEST_CASE(cancel_wakes_a_waiting_writer_and_calls_the_handler_once) {
    asio::io_context context;
    LocalReply ends = make_local_reply(context.get_executor());
    int calls = 0;
    ends.writer->on_cancel([&] { ++calls; });
    int written = 0;
    co_spawn(context, write_numbers(ends.writer, 100, written), asio::detached);
    context.poll();
    ends.reader->cancel();
    ends.reader->cancel();
    context.restart();
    context.poll();
    BOOST_TEST(written == 64);
    BOOST_TEST(calls == 1);
    ends.writer->on_cancel([&] { ++calls; });
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_SUITE_END()
