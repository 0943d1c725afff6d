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
    co_return co_await connection->flushed_to(answer, 0);
}

Awaitable<Result<void>> HttpExchange::start(int status, HttpHeaders headers, std::optional<std::uint64_t> length) {
    const auto connection = connection_;
    const auto answer = answer_;
    connection->begin(answer, status, headers, length);
    co_return connection->append(answer, {});
}

Awaitable<Result<void>> HttpExchange::write(std::string chunk) {
    const auto connection = connection_;
    const auto answer = answer_;
    if (auto written = connection->append(answer, std::move(chunk)); !written) co_return written;
    co_return co_await connection->flushed_to(answer, connection->write_buffer_bytes());
}

Awaitable<Result<void>> HttpExchange::finish() {
    const auto connection = connection_;
    const auto answer = answer_;
    connection->end(answer);
    co_return co_await connection->flushed_to(answer, 0);
}

void HttpExchange::add_field(std::string name, std::string value) {
    answer_->fields.add(std::move(name), std::move(value));
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
