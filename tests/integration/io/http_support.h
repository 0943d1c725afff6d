// Coroutines over the exchanges of an HTTP server, which themselves never wait.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "io/async.h"
#include "io/errc.h"
#include "io/http/server.h"

namespace exa::io::test {

// An exchange that a coroutine answers, by the calls that production uses. Dropped before the answer is complete, it
// leaves the client without one.
class AwaitedExchange {
  public:
    AwaitedExchange(boost::asio::io_context& context, std::shared_ptr<http::HttpExchange> exchange)
        : context_(context), exchange_(std::move(exchange)), heard_(std::make_shared<Heard>(context)) {
        exchange_->listen(heard_);
    }

    ~AwaitedExchange() { heard_->on_left = nullptr; }
    AwaitedExchange(const AwaitedExchange&) = delete;
    AwaitedExchange& operator=(const AwaitedExchange&) = delete;

    bool client_left() const { return heard_->left; }
    void on_client_left(std::function<void()> handler) { heard_->on_left = std::move(handler); }
    void annotate(std::string_view key, std::string value) { exchange_->annotate(key, std::move(value)); }
    void add_field(std::string_view name, std::string_view value) { exchange_->add_field(name, value); }

    Awaitable<void> respond(http::HttpResponse response) {
        exchange_->push_answer(std::move(response));
        co_return;
    }
    void start(int status, http::HttpHeaders headers, std::optional<std::uint64_t> length = std::nullopt) {
        exchange_->push_head(status, std::move(headers), length);
    }
    // Waits while the client takes less than comes. errc::broken once it is gone.
    Awaitable<Result<void>> write(std::string chunk) {
        if (!heard_->left) exchange_->push_body(std::move(chunk));
        while (!heard_->left && exchange_->is_full()) co_await heard_->changed.wait();
        if (heard_->left) co_return error(errc::broken, "http client");
        co_return success();
    }
    // Ends the answer; what was written in this iteration of the loop has left when it returns.
    Awaitable<void> finish() {
        exchange_->push_end();
        co_await boost::asio::post(context_, boost::asio::use_awaitable);
    }

  private:
    struct Heard final : http::AnswerListener {
        explicit Heard(boost::asio::io_context& context) : changed(context.get_executor()) {}
        void client_left() override {
            left = true;
            changed.notify();
            if (on_left) on_left();
        }
        void drained() override { changed.notify(); }

        Signal changed;
        bool left = false;
        std::function<void()> on_left;
    };

    boost::asio::io_context& context_;
    std::shared_ptr<http::HttpExchange> exchange_;
    std::shared_ptr<Heard> heard_;
};

// Parameters are by value: a coroutine outlives its caller's.
using HttpCoroutine = std::function<Awaitable<void>(http::HttpRequest request, std::shared_ptr<AwaitedExchange>)>;

// A handler that answers in a coroutine; one that throws leaves the request unanswered.
inline http::HttpServer::Handler in_coroutine(boost::asio::io_context& context, HttpCoroutine answer) {
    return [&context, answer = std::move(answer)](http::HttpRequest request,
                                                  std::shared_ptr<http::HttpExchange> exchange) {
        boost::asio::co_spawn(
            context, answer(std::move(request), std::make_shared<AwaitedExchange>(context, std::move(exchange))),
            [](std::exception_ptr) {});
    };
}

}  // namespace exa::io::test
