#include <boost/asio/post.hpp>
#include <utility>

#include "io/http/connection.h"
#include "io/http/server.h"

namespace exa::io {

HttpExchange::HttpExchange(std::shared_ptr<HttpConnection> connection, std::shared_ptr<HttpAnswer> answer)
    : connection_(std::move(connection)), answer_(std::move(answer)) {}

HttpExchange::~HttpExchange() {
    connection_->abandon(answer_);
}

Awaitable<Result<void>> HttpExchange::respond(HttpResponse response) {
    const auto connection = connection_;
    const auto answer = answer_;
    connection->begin(answer, response.status, response.headers, response.body.size());
    if (auto written = connection->append(answer, std::move(response.body)); !written) co_return written;
    connection->end(answer);
    connection->flush_now();
    co_return co_await connection->flushed_to(answer, 0);
}

Awaitable<Result<void>> HttpExchange::start(int status, HttpHeaders headers, std::optional<std::uint64_t> length) {
    const auto connection = connection_;
    const auto answer = answer_;
    connection->begin(answer, status, headers, length);
    connection->flush_later();
    co_return connection->append(answer, {});
}

Awaitable<Result<void>> HttpExchange::write(std::string chunk) {
    const auto connection = connection_;
    const auto answer = answer_;
    if (auto written = connection->append(answer, std::move(chunk)); !written) co_return written;
    connection->flush_later();
    co_return co_await connection->flushed_to(answer, connection->write_buffer_bytes());
}

Awaitable<Result<void>> HttpExchange::finish() {
    const auto connection = connection_;
    const auto answer = answer_;
    connection->end(answer);
    connection->flush_later();
    co_return co_await connection->flushed_to(answer, 0);
}

void HttpExchange::push_answer(HttpResponse response) {
    connection_->begin(answer_, response.status, response.headers, response.body.size());
    if (!connection_->append(answer_, std::move(response.body))) return;
    connection_->end(answer_);
    connection_->flush_now();
}

void HttpExchange::push_head(int status, HttpHeaders headers, std::optional<std::uint64_t> length) {
    connection_->begin(answer_, status, headers, length);
    connection_->flush_later();
}

void HttpExchange::push_body(std::string chunk) {
    if (connection_->append(answer_, std::move(chunk))) connection_->flush_later();
}

void HttpExchange::push_end() {
    connection_->end(answer_);
    connection_->flush_later();
}

bool HttpExchange::is_full() const {
    return !answer_->complete && connection_->ask_for_room(*answer_);
}

void HttpExchange::listen(std::shared_ptr<AnswerListener> listener) {
    if (connection_->client_gone())
        boost::asio::post(connection_->executor(), [listener = std::move(listener)] { listener->client_left(); });
    else if (!answer_->complete)
        answer_->listener = std::move(listener);
}

void HttpExchange::add_field(std::string_view name, std::string_view value) {
    answer_->fields.add(name, value);
}

bool HttpExchange::takes_notes() const {
    return connection_->wants_outcomes();
}

void HttpExchange::note(std::string_view key, std::string value) {
    if (!takes_notes()) return;
    for (auto& [noted, text] : answer_->notes) {
        if (noted != key) continue;
        text = std::move(value);
        return;
    }
    answer_->notes.emplace_back(key, std::move(value));
}

bool HttpExchange::started() const {
    return answer_->started;
}

bool HttpExchange::disconnected() const {
    return answer_->deserted || (!answer_->complete && connection_->client_gone());
}

void HttpExchange::on_disconnect(std::function<void()> handler) {
    if (connection_->client_gone() && handler)
        boost::asio::post(connection_->executor(), std::move(handler));
    else if (!answer_->complete)
        answer_->on_disconnect = std::move(handler);
}

}  // namespace exa::io
