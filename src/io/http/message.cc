#include "io/http/message.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>

namespace exa::io::http {

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
    return boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(status)));
}

HttpResponse http_error(int status, std::string_view message, std::string_view type, std::string_view code) {
    HttpResponse response;
    response.status = status;
    response.headers.add("content-type", "application/json");
    response.body.append(R"({"error":{"message":")").append(message).append(R"(","type":")").append(type);
    response.body.append(R"(","param":null,"code":")").append(code).append(R"("}})");
    return response;
}

}  // namespace exa::io::http
