#include "io/http/response_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>

#include "io/http/last_chunk.h"

namespace exa::io::http {

namespace beast_http = boost::beast::http;

namespace {

constexpr std::uint32_t header_bytes_max = 64 * 1024;

using Code = boost::system::error_code;

// Of "HTTP/1.1 200".
constexpr std::size_t status_bytes = 12;

bool has_bare_status(std::string_view bytes) {
    return bytes.size() > status_bytes && bytes.starts_with("HTTP/1.") &&
           (bytes[status_bytes] == '\r' || bytes[status_bytes] == '\n');
}

class Parser final : public beast_http::basic_parser<false> {
  public:
    explicit Parser(ResponseSink& sink) : sink_(&sink) {
        eager(true);
        header_limit(header_bytes_max);
        body_limit(std::numeric_limits<std::uint64_t>::max());
    }

    bool is_stopped() const { return stopped_; }
    bool is_interim() const { return head_.status / 100 == 1; }

  private:
    using Text = boost::beast::string_view;

    void on_request_impl(beast_http::verb, Text, Text, int, Code&) override {}
    void on_response_impl(int status, Text, int, Code&) override { head_.status = status; }
    void on_field_impl(beast_http::field, Text name, Text value, Code&) override {
        head_.headers.add({name.data(), name.size()}, {value.data(), value.size()});
    }
    void on_header_impl(Code&) override {
        if (!is_interim()) sink_->on_head(head_);
    }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
    std::size_t on_body_impl(Text body, Code& code) override {
        pass_on(body, code);
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, Text, Code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, Text body, Code& code) override {
        pass_on(body, code);
        return body.size();
    }
    void on_finish_impl(Code&) override {}

    void pass_on(Text body, Code& code) {
        if (body.empty() || sink_->on_body({body.data(), body.size()})) return;
        stopped_ = true;
        code = beast_http::error::end_of_stream;
    }

    ResponseSink* sink_;
    ResponseHead head_;
    bool stopped_ = false;
};

}  // namespace

struct ResponseParser::Impl {
    std::optional<Parser> parser;
    ResponseSink* sink = nullptr;
    bool has_status = false;  // of the answer that has begun
    std::string fault;
};

ResponseParser::ResponseParser() : impl_(std::make_unique<Impl>()) {}
ResponseParser::~ResponseParser() = default;

void ResponseParser::begin(ResponseSink& sink) {
    impl_->sink = &sink;
    impl_->has_status = false;
    impl_->parser.emplace(sink);
}

std::optional<std::size_t> ResponseParser::feed(std::string_view bytes) {
    std::size_t taken = 0;
    while (taken < bytes.size() && !impl_->parser->is_done()) {
        Code code;
        const std::string_view rest = bytes.substr(taken);
        if (must_wait_for_more(*impl_->parser, rest.size())) break;
        // The blank after the status code is missing where a server sends no reason (RFC 9112 section 4 wants it all
        // the same).
        const bool is_bare = !impl_->has_status && has_bare_status(rest);
        const std::string repaired =
            is_bare ? std::string(rest.substr(0, status_bytes)).append(" ").append(rest.substr(status_bytes)) : "";
        const std::size_t some =
            impl_->parser->put(boost::asio::buffer(is_bare ? std::string_view(repaired) : rest), code);
        taken += some - (is_bare && some > 0 ? 1 : 0);
        impl_->has_status = impl_->has_status || some > 0;
        if (code && code != beast_http::error::need_more) {
            impl_->fault = code.message();
            return std::nullopt;
        }
        // 1xx answers come before the real one (RFC 9110 section 15.2).
        if (impl_->parser->is_done() && impl_->parser->is_interim()) {
            impl_->parser.emplace(*impl_->sink);
            impl_->has_status = false;
            continue;
        }
        if (code == beast_http::error::need_more || some == 0) break;
    }
    return taken;
}

bool ResponseParser::feed_end() {
    if (!impl_->parser->got_some() || impl_->parser->is_done()) return impl_->parser->is_done();
    Code code;
    impl_->parser->put_eof(code);
    return !code && impl_->parser->is_done();
}

bool ResponseParser::has_begun() const {
    return impl_->parser->got_some();
}

bool ResponseParser::is_done() const {
    return impl_->parser->is_done();
}

bool ResponseParser::is_stopped() const {
    return impl_->parser->is_stopped();
}

bool ResponseParser::keeps_alive() const {
    return impl_->parser->keep_alive();
}

const std::string& ResponseParser::fault() const {
    return impl_->fault;
}

}  // namespace exa::io::http
