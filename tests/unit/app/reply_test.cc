#include "app/reply.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <variant>

#include "io/errc.h"

BOOST_AUTO_TEST_SUITE(reply)

namespace asio = boost::asio;
using namespace exa::app;
using namespace exa;

namespace {

// What a test puts in, it gives out.
class HandReply final : public ReplyReader {
  public:
    void put(ReplyPart part) {
        parts_.push_back(std::move(part));
        if (on_ready_) on_ready_();
    }
    void wake() { on_ready_(); }
    bool is_watched() const { return static_cast<bool>(on_ready_); }

    std::optional<Result<ReplyPart>> poll() override {
        if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
        if (parts_.empty()) return std::nullopt;
        ReplyPart part = std::move(parts_.front());
        parts_.pop_front();
        return Result<ReplyPart>(std::move(part));
    }
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override {
        cancelled_ = true;
        if (on_ready_) on_ready_();
    }

  private:
    std::deque<ReplyPart> parts_;
    std::function<void()> on_ready_;
    bool cancelled_ = false;
};

asio::awaitable<void> read_text(PulledReply& reply, std::optional<Duration> timeout, std::string& text) {
    while (true) {
        const auto part = co_await reply.read(timeout);
        if (!part) {
            text += part.error().code.message();
            co_return;
        }
        if (std::holds_alternative<wire::End>(part.value())) co_return;
        text += std::get<wire::Data>(part.value()).bytes + ",";
    }
}

wire::Data data(std::string bytes) {
    return {0, {}, std::move(bytes)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_waiting_reader_gets_parts_as_they_come_and_not_for_a_wake_up_without_any) {
    asio::io_context context;
    const auto hand = std::make_shared<HandReply>();
    PulledReply reply(context.get_executor(), hand);
    std::string text;
    co_spawn(context, read_text(reply, std::nullopt, text), asio::detached);
    context.poll();
    hand->wake();
    context.poll();
    BOOST_TEST(text.empty());
    hand->put(data("a"));
    hand->put(data("b"));
    context.poll();
    BOOST_TEST(text == "a,b,");
    hand->put(wire::End{});
    context.poll();
    BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_timeout_and_the_reply_can_still_be_read) {
    asio::io_context context;
    const auto hand = std::make_shared<HandReply>();
    PulledReply reply(context.get_executor(), hand);
    std::string text;
    co_spawn(context, read_text(reply, std::chrono::milliseconds(1), text), asio::detached);
    context.run();
    BOOST_TEST(text == io::make_error_code(io::errc::timed_out).message());
    hand->put(data("late"));
    BOOST_TEST_REQUIRE(reply.poll().has_value());
    BOOST_TEST(!reply.poll().has_value());
}

BOOST_AUTO_TEST_CASE(cancel_ends_a_wait) {
    asio::io_context context;
    const auto hand = std::make_shared<HandReply>();
    PulledReply reply(context.get_executor(), hand);
    std::string text;
    co_spawn(context, read_text(reply, std::nullopt, text), asio::detached);
    context.poll();
    reply.cancel();
    context.poll();
    BOOST_TEST(text == io::make_error_code(io::errc::cancelled).message());
}

BOOST_AUTO_TEST_CASE(a_reply_does_not_call_a_reader_that_has_gone) {
    asio::io_context context;
    const auto hand = std::make_shared<HandReply>();
    {
        const PulledReply reply(context.get_executor(), hand);
        BOOST_TEST(hand->is_watched());
    }
    BOOST_TEST(!hand->is_watched());
}

BOOST_AUTO_TEST_CASE(a_known_answer_is_read_without_waiting_and_closed_behind_its_end) {
    const auto known = reply_of({wire::Head{400, "application/json"}, data("{}"), wire::End{}});
    BOOST_TEST(std::get<wire::Head>(known->poll()->value()).status == 400);
    BOOST_TEST(std::get<wire::Data>(known->poll()->value()).bytes == "{}");
    BOOST_TEST((std::get<wire::End>(known->poll()->value()) == wire::End{}));
    BOOST_TEST((known->poll()->error().code == io::errc::closed));
    known->cancel();
    BOOST_TEST((known->poll()->error().code == io::errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()
