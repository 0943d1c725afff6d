#include <boost/asio/post.hpp>
#include <utility>

#include "io/http/connection.h"
#include "io/http/server.h"

namespace exa::io::http {

HttpExchange::HttpExchange(std::shared_ptr<HttpConnection> connection, std::shared_ptr<HttpAnswer> answer)
    : connection_(std::move(connection)), answer_(std::move(answer)) {}

HttpExchange::~HttpExchange() {
    connection_->abandon(answer_);
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

bool HttpExchange::wants_annotations() const {
    return connection_->wants_outcomes();
}

void HttpExchange::annotate(std::string_view key, std::string value) {
    if (!wants_annotations()) return;
    for (auto& [annotated, text] : answer_->annotations) {
        if (annotated != key) continue;
        text = std::move(value);
        return;
    }
    answer_->annotations.emplace_back(key, std::move(value));
}

bool HttpExchange::started() const {
    return answer_->started;
}

}  // namespace exa::io::http
