#include "io/http/request_parser.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "io/http/last_chunk.h"
#include "io/http/plain_request.h"

namespace exa::io::http {

namespace beast_http = boost::beast::http;

namespace {

HttpFault bad_request(std::string message) {
    return {400, std::move(message), "bad_request"};
}

std::string_view to_view(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

// The lines of a header, whatever stands in them. Beast takes a field that goes on in the next line, and what it says
// of a bare LF depends on where it stands.
class HeaderLines {
  public:
    // `bytes` is what was offered before, less what was taken, with more after it.
    std::optional<HttpFault> look(std::string_view bytes);
    void taken(std::size_t bytes) {
        line_begin_ -= std::min(bytes, line_begin_);
        searched_ -= std::min(bytes, searched_);
    }

  private:
    std::size_t line_begin_ = 0;
    std::size_t searched_ = 0;
    std::size_t lines_ = 0;
    bool ended_ = false;
};

std::optional<HttpFault> HeaderLines::look(std::string_view bytes) {
    while (!ended_) {
        const auto newline = bytes.find('\n', searched_);
        if (newline == bytes.npos) {
            searched_ = bytes.size();
            break;
        }
        const std::string_view line = bytes.substr(line_begin_, newline - line_begin_);
        line_begin_ = searched_ = newline + 1;
        if (!line.ends_with('\r')) return bad_request("Every line of a header ends in CR LF.");
        if (line.size() == 1) {
            ended_ = lines_ > 0;
            continue;
        }
        if (lines_ > 0 && (line.front() == ' ' || line.front() == '\t'))
            return bad_request("A header field must stand in one line.");
        if (++lines_ > 1 + header_fields_max)
            return HttpFault{431, "The request has more than " + std::to_string(header_fields_max) + " header fields.",
                             "header_too_large"};
    }
    return std::nullopt;
}

// As a host is compared: the default port of the scheme says nothing.
std::string_view without_port(std::string_view host, std::string_view port) {
    return host.ends_with(port) ? host.substr(0, host.size() - port.size()) : host;
}

// RFC 3986 section 3.2.2, with the port, as far as a glance can tell.
bool is_host(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._~:[]%!$&'()*+;=").find(c) != std::string_view::npos;
    });
}

// The path and query of a target in any form that is for an origin server (RFC 9112 section 3.2): "/path?query",
// "http://host/path?query" where the host header says the same, "*" of OPTIONS. Nothing when it is in none.
std::optional<std::string_view> origin_form(std::string_view method, std::string_view target, std::string_view host) {
    if (target.find('#') != target.npos) return std::nullopt;
    if (target.starts_with('/') || (target == "*" && method == "OPTIONS")) return target;
    for (const auto& [scheme, port] : {std::pair<std::string_view, std::string_view>{"http://", ":80"},
                                       std::pair<std::string_view, std::string_view>{"https://", ":443"}}) {
        if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
        target.remove_prefix(scheme.size());
        const auto end = std::min(target.find_first_of("/?"), target.size());
        const std::string_view authority = target.substr(0, end);
        if (authority.empty() || !is_host(authority) ||
            !equal_without_case(without_port(authority, port), without_port(host, port)))
            return std::nullopt;
        return end == target.size() ? std::string_view("/") : target.substr(end);
    }
    return std::nullopt;
}

// Blocks of at least this much are looked at one by one.
constexpr std::size_t large_bytes = 256 * 1024;

// A process keeps memory that it has freed (app/memory.h), and nobody will read this body: its pages go back to the
// system at once, so that a storm of unfinished bodies leaves nothing.
void drop_pages(std::string& body) {
    if (body.capacity() < large_bytes) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(body.data());
    const std::uintptr_t begin = (address + page - 1) / page * page;
    const std::uintptr_t end = (address + body.capacity()) / page * page;
    body.clear();
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

struct RequestParser::Impl {
    Impl(std::uint32_t header_max, std::uint64_t body_max) : header_bytes_max(header_max), body_bytes_max(body_max) {
        parser.header_limit(header_max);
        parser.body_limit(body_max);
        parser.eager(false);
    }

    ~Impl() { drop_pages(parser.get().body()); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    beast_http::request_parser<beast_http::string_body> parser;
    HeaderLines lines;
    HttpFault fault;
    std::string path;
    std::string query;
    std::uint32_t header_bytes_max;
    std::uint64_t body_bytes_max;
    bool checked = false;

    HttpFault fault_of(const boost::system::error_code& code) const;
    std::optional<HttpFault> check_header();
    std::optional<HttpFault> check_framing() const;
};

HttpFault RequestParser::Impl::fault_of(const boost::system::error_code& code) const {
    if (code == beast_http::error::header_limit)
        return {431, "The request header is longer than " + std::to_string(header_bytes_max) + " bytes.",
                "header_too_large"};
    if (code == beast_http::error::body_limit)
        return {413, "The request body is longer than " + std::to_string(body_bytes_max) + " bytes.",
                "request_too_large"};
    if (code == beast_http::error::bad_version)
        return {505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.", "bad_version"};
    return {400, "The request is not valid HTTP: " + code.message() + ".", "bad_request"};
}

// What Beast lets through and RFC 9112 does not (section 6): each of these is a way to smuggle a request. Of lengths
// that are said twice the same is legal, and nobody needs it.
std::optional<HttpFault> RequestParser::Impl::check_framing() const {
    const auto& message = parser.get();
    const std::size_t coded = message.count(beast_http::field::transfer_encoding);
    if (coded > 0) {
        const std::string_view coding = to_view(message[beast_http::field::transfer_encoding]);
        if (coded > 1 || !parser.chunked() || message.version() < 11)
            return bad_request("Only the chunked transfer coding is understood.");
        constexpr std::string_view chunked = "chunked";
        if (!equal_without_case(coding, chunked)) {
            const std::string_view before = coding.substr(0, coding.size() - chunked.size());
            if (before.find("chunked") != before.npos) return bad_request("A body is chunked once.");
            return HttpFault{501, "Of the transfer codings only chunked is understood.", "not_implemented"};
        }
    }
    if (message.count(beast_http::field::content_length) > 1 ||
        message[beast_http::field::content_length].find(',') != boost::beast::string_view::npos)
        return bad_request("A request has one content-length.");
    return std::nullopt;
}

std::optional<HttpFault> RequestParser::Impl::check_header() {
    const auto& message = parser.get();
    if (message.version() > 11) return fault_of(beast_http::error::bad_version);
    if (auto framing = check_framing()) return framing;
    const std::size_t hosts = message.count(beast_http::field::host);
    const std::string_view host = to_view(message[beast_http::field::host]);
    if (hosts > 1 || (hosts == 0 && message.version() >= 11) || !is_host(host))
        return bad_request("A request needs one host header.");
    const auto target = origin_form(to_view(message.method_string()), to_view(message.target()), host);
    if (!target) return bad_request("The request's target is not one of this server.");
    const auto question = target->find('?');
    path = target->substr(0, question);
    if (question != target->npos) query = target->substr(question + 1);
    const std::string_view coding = to_view(message[beast_http::field::content_encoding]);
    if (!coding.empty() && !equal_without_case(coding, "identity"))
        return HttpFault{415, "Bodies are taken without a content coding.", "unsupported_media_type"};
    const std::string_view expected = to_view(message[beast_http::field::expect]);
    if (message.version() >= 11 && !expected.empty() && !equal_without_case(expected, "100-continue"))
        return HttpFault{417, "Only 100-continue can be expected.", "expectation_failed"};
    return std::nullopt;
}

RequestParser::RequestParser(std::uint32_t header_bytes_max, std::uint64_t body_bytes_max)
    : header_bytes_max_(header_bytes_max), body_bytes_max_(body_bytes_max) {}

RequestParser::~RequestParser() = default;

std::optional<std::size_t> RequestParser::feed(std::string_view bytes) {
    if (plain_) return 0;
    if (!impl_) {
        HttpRequest request;
        if (const auto taken = read_plain_request(bytes, header_bytes_max_, body_bytes_max_, request)) {
            plain_ = std::move(request);
            return taken;
        }
        impl_ = std::make_unique<Impl>(header_bytes_max_, body_bytes_max_);
    }
    if (auto fault = impl_->lines.look(bytes)) {
        impl_->fault = std::move(*fault);
        return std::nullopt;
    }
    std::size_t taken = 0;
    while (taken < bytes.size() && !impl_->parser.is_done()) {
        boost::system::error_code code;
        const std::string_view rest = bytes.substr(taken);
        if (must_wait_for_more(impl_->parser, rest.size())) break;
        taken += impl_->parser.put(boost::asio::buffer(rest), code);
        if (code && code != beast_http::error::need_more) {
            impl_->fault = impl_->fault_of(code);
            return std::nullopt;
        }
        if (impl_->parser.is_header_done() && !std::exchange(impl_->checked, true)) {
            if (auto fault = impl_->check_header()) {
                impl_->fault = std::move(*fault);
                return std::nullopt;
            }
        }
        if (code == beast_http::error::need_more) break;
    }
    // A body whose length nobody knows grows in place: what it would be copied from on its way would stay in memory.
    if (std::string& body = impl_->parser.get().body(); body.size() > large_bytes && impl_->parser.chunked())
        body.reserve(body_bytes_max_);
    impl_->lines.taken(taken);
    return taken;
}

const HttpFault& RequestParser::fault() const {
    return impl_->fault;
}

std::string_view RequestParser::field(std::string_view name) const {
    if (!impl_) return plain_ ? plain_->headers.find(name).value_or(std::string_view{}) : std::string_view{};
    return to_view(impl_->parser.get()[{name.data(), name.size()}]);
}

bool RequestParser::header_done() const {
    return plain_ || (impl_ && impl_->parser.is_header_done());
}

bool RequestParser::done() const {
    return plain_ || (impl_ && impl_->parser.is_done());
}

HttpRequest RequestParser::head() const {
    const auto& message = impl_->parser.get();
    HttpRequest request;
    request.method = std::string(to_view(message.method_string()));
    request.path = impl_->path;
    request.query = impl_->query;
    for (const auto& field : message) request.headers.add(to_view(field.name_string()), to_view(field.value()));
    return request;
}

std::uint64_t RequestParser::body_bytes() const {
    return impl_ ? impl_->parser.get().body().size() : 0;
}

bool RequestParser::expects_continue() const {
    if (!impl_) return false;
    const auto expect = impl_->parser.get()[beast_http::field::expect];
    return knows_chunks() && equal_without_case({expect.data(), expect.size()}, "100-continue");
}

bool RequestParser::knows_chunks() const {
    return !impl_ || impl_->parser.get().version() >= 11;
}

HttpRequest RequestParser::take() {
    if (plain_) return *std::exchange(plain_, std::nullopt);
    HttpRequest request;
    request.keep_alive = impl_->parser.keep_alive();
    auto message = impl_->parser.release();
    request.method = std::string(message.method_string());
    request.path = std::move(impl_->path);
    request.query = std::move(impl_->query);
    for (const auto& field : message) request.headers.add(to_view(field.name_string()), to_view(field.value()));
    request.body = std::move(message.body());
    return request;
}

}  // namespace exa::io::http
