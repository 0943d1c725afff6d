#include "io/http/plain_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "io/http/request_parser.h"

namespace exa::io::http {

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view letters_and_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

class Chars {
  public:
    constexpr explicit Chars(std::string_view others) {
        for (const std::string_view list : {letters_and_digits, others})
            for (const char c : list) in_[static_cast<unsigned char>(c)] = true;
    }
    constexpr bool has_all(std::string_view text) const {
        return std::ranges::all_of(text, [&](char c) { return in_[static_cast<unsigned char>(c)]; });
    }

  private:
    std::array<bool, 256> in_{};
};

constexpr Chars target_chars("/?-._~%&=+:@,;");
constexpr Chars name_chars("-_");
constexpr Chars host_chars("-.:[]");

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

struct Fields {
    bool host = false;
    std::optional<std::uint64_t> length;
};

// False for what needs a judgement.
bool take_field(std::string_view name, std::string_view value, Fields& seen) {
    switch (name.size()) {
        case 4:
            if (!equal_without_case(name, "host")) return true;
            return !std::exchange(seen.host, true) && !value.empty() && host_chars.has_all(value);
        case 6:
            return !equal_without_case(name, "expect");
        case 7:
            return !equal_without_case(name, "upgrade") && !equal_without_case(name, "trailer");
        case 10:
            return !equal_without_case(name, "connection") || equal_without_case(value, "keep-alive");
        case 14: {
            if (!equal_without_case(name, "content-length")) return true;
            std::uint64_t length = 0;
            // Nineteen digits and more may not fit.
            if (seen.length || value.empty() || value.size() > 18) return false;
            const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), length);
            seen.length = length;
            return code == std::errc{} && end == value.data() + value.size();
        }
        case 16:
            return !equal_without_case(name, "content-encoding") && !equal_without_case(name, "proxy-connection");
        case 17:
            return !equal_without_case(name, "transfer-encoding");
        default:
            return true;
    }
}

}  // namespace

std::optional<std::size_t> read_plain_request(std::string_view bytes, std::uint32_t header_bytes_max,
                                              std::uint64_t body_bytes_max, HttpRequest& request) {
    const auto head_end = bytes.substr(0, header_bytes_max).find("\r\n\r\n");
    if (head_end == bytes.npos) return std::nullopt;
    // With the end of the last line, without the empty one.
    std::string_view head = bytes.substr(0, head_end + line_end.size());

    const std::string_view first = head.substr(0, head.find(line_end));
    head.remove_prefix(first.size() + line_end.size());
    const auto gap = first.find(' ');
    const std::string_view method = first.substr(0, gap);
    constexpr std::string_view version = " HTTP/1.1";
    if ((method != "POST" && method != "GET") || !first.ends_with(version)) return std::nullopt;
    std::string_view target = first.substr(gap + 1);
    if (target.size() <= version.size()) return std::nullopt;
    target.remove_suffix(version.size());
    if (!target.starts_with('/') || !target_chars.has_all(target)) return std::nullopt;

    HttpHeaders headers;
    headers.reserve(head.size());
    Fields seen;
    while (!head.empty()) {
        const std::string_view line = head.substr(0, head.find(line_end));
        head.remove_prefix(line.size() + line_end.size());
        const auto colon = line.find(':');
        if (colon == 0 || colon == line.npos || headers.size() == header_fields_max) return std::nullopt;
        const std::string_view name = line.substr(0, colon);
        const std::string_view value = trimmed(line.substr(colon + 1));
        if (!name_chars.has_all(name) || !is_printable(value) || !take_field(name, value, seen)) return std::nullopt;
        headers.add(name, value);
    }
    const std::size_t body_begin = head_end + 4;
    const std::uint64_t length = seen.length.value_or(0);
    if (!seen.host || length > body_bytes_max || bytes.size() - body_begin < length) return std::nullopt;

    const auto question = target.find('?');
    request.method = method;
    request.path = target.substr(0, question);
    request.query = question == target.npos ? std::string_view{} : target.substr(question + 1);
    request.headers = std::move(headers);
    request.body = bytes.substr(body_begin, length);
    request.keep_alive = true;
    return body_begin + length;
}

}  // namespace exa::io::http
