#include "io/http/message.h"

#include <algorithm>
#include <array>

namespace exa::io {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

void HttpHeaders::add(std::string_view name, std::string_view value) {
    if (block_.empty()) reserve(few_bytes);
    const Sizes sizes{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(value.size())};
    std::array<char, sizeof(Sizes)> head{};
    std::memcpy(head.data(), &sizes, sizeof(sizes));
    block_.append(head.data(), head.size()).append(name).append(value);
    ++count_;
}

std::optional<std::string_view> HttpHeaders::find(std::string_view name) const {
    for (const auto& [field, value] : *this)
        if (equal_without_case(field, name)) return value;
    return std::nullopt;
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 422:
            return "Unprocessable Content";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 502:
            return "Bad Gateway";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Unknown";
    }
}

HttpResponse http_error(int status, std::string_view message, std::string_view type, std::string_view code) {
    HttpResponse response;
    response.status = status;
    response.headers.add("content-type", "application/json");
    response.body.append(R"({"error":{"message":")").append(message).append(R"(","type":")").append(type);
    response.body.append(R"(","param":null,"code":")").append(code).append(R"("}})");
    return response;
}

}  // namespace exa::io
