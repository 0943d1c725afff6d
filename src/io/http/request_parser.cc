#include "io/http/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace exa::io {

namespace http = boost::beast::http;

struct RequestParser::Impl {
    http::request_parser<http::string_body> parser;
    HttpFault fault;
    std::uint32_t header_bytes_max = 0;
    std::uint64_t body_bytes_max = 0;
    bool checked = false;

    HttpFault fault_of(const boost::system::error_code& code) const;
    std::optional<HttpFault> check_header() const;
};

HttpFault RequestParser::Impl::fault_of(const boost::system::error_code& code) const {
    if (code == http::error::header_limit)
        return {431, "The request header is longer than " + std::to_string(header_bytes_max) + " bytes.",
                "header_too_large"};
    if (code == http::error::body_limit)
        return {413, "The request body is longer than " + std::to_string(body_bytes_max) + " bytes.",
                "request_too_large"};
    if (code == http::error::bad_version) return {505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.", "bad_version"};
    return {400, "The request is not valid HTTP: " + code.message() + ".", "bad_request"};
}

// What Beast lets through and RFC 9112 does not (sections 3.2 and 6.1): each of these is a way to smuggle a request.
std::optional<HttpFault> RequestParser::Impl::check_header() const {
    const auto& message = parser.get();
    const bool coded = message.count(http::field::transfer_encoding) > 0;
    if (coded && (!parser.chunked() || message.version() < 11))
        return HttpFault{400, "Only the chunked transfer coding is understood.", "bad_request"};
    if (message.version() >= 11 && message.count(http::field::host) != 1)
        return HttpFault{400, "A request needs one host header.", "bad_request"};
    if (message.version() > 11) return fault_of(http::error::bad_version);
    return std::nullopt;
}

RequestParser::RequestParser(std::uint32_t header_bytes_max, std::uint64_t body_bytes_max)
    : impl_(std::make_unique<Impl>()) {
    impl_->header_bytes_max = header_bytes_max;
    impl_->body_bytes_max = body_bytes_max;
    impl_->parser.header_limit(header_bytes_max);
    impl_->parser.body_limit(body_bytes_max);
    impl_->parser.eager(false);
}

RequestParser::~RequestParser() = default;

std::optional<std::size_t> RequestParser::feed(std::string_view bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && !impl_->parser.is_done()) {
        boost::system::error_code code;
        const std::string_view rest = bytes.substr(taken);
        taken += impl_->parser.put(boost::asio::buffer(rest), code);
        if (code && code != http::error::need_more) {
            impl_->fault = impl_->fault_of(code);
            return std::nullopt;
        }
        if (impl_->parser.is_header_done() && !std::exchange(impl_->checked, true)) {
            if (auto fault = impl_->check_header()) {
                impl_->fault = std::move(*fault);
                return std::nullopt;
            }
        }
        if (code == http::error::need_more) break;
    }
    return taken;
}

const HttpFault& RequestParser::fault() const {
    return impl_->fault;
}

bool RequestParser::header_done() const {
    return impl_->parser.is_header_done();
}

bool RequestParser::done() const {
    return impl_->parser.is_done();
}

bool RequestParser::expects_continue() const {
    const auto expect = impl_->parser.get()[http::field::expect];
    return knows_chunks() && equal_without_case({expect.data(), expect.size()}, "100-continue");
}

bool RequestParser::knows_chunks() const {
    return impl_->parser.get().version() >= 11;
}

HttpRequest RequestParser::take() {
    HttpRequest request;
    request.keep_alive = impl_->parser.keep_alive();
    auto message = impl_->parser.release();
    request.method = std::string(message.method_string());
    const std::string_view target(message.target().data(), message.target().size());
    const auto question = target.find('?');
    request.path = std::string(target.substr(0, question));
    if (question != std::string_view::npos) request.query = std::string(target.substr(question + 1));
    for (const auto& field : message) request.headers.add(std::string(field.name_string()), std::string(field.value()));
    request.body = std::move(message.body());
    return request;
}

}  // namespace exa::io
