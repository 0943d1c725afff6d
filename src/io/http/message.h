// HTTP requests and responses as plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"

namespace exa::io::http {

// Header fields in the order they came; names compare without case (RFC 9110 section 5.1). A range of names with their
// values, which are views into it until it changes.
//
// A message has a dozen fields, most of them longer than a string holds by itself: they are one block of memory.
class HttpHeaders {
  public:
    using Field = std::pair<std::string_view, std::string_view>;

    class Iterator {
      public:
        using value_type = Field;
        using difference_type = std::ptrdiff_t;

        Iterator() = default;
        explicit Iterator(const char* at) : at_(at) {}

        Field operator*() const {
            const Sizes sizes = sizes_at(at_);
            const char* const name = at_ + sizeof(Sizes);
            return {{name, sizes.name}, {name + sizes.name, sizes.value}};
        }
        Iterator& operator++() {
            const Sizes sizes = sizes_at(at_);
            at_ += sizeof(Sizes) + sizes.name + sizes.value;
            return *this;
        }
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator&) const = default;

      private:
        const char* at_ = nullptr;
    };

    HttpHeaders() = default;
    HttpHeaders(std::initializer_list<Field> fields) {
        for (const auto& [name, value] : fields) add(name, value);
    }

    // `name` and `value` are not views into these headers.
    void add(std::string_view name, std::string_view value);
    // For so many bytes of names and values; of a few it is done by itself.
    void reserve(std::size_t bytes) { block_.reserve(bytes + sizes_reserved); }
    // The first field of that name; nothing when absent.
    std::optional<std::string_view> find(std::string_view name) const;

    std::size_t size() const { return count_; }
    Iterator begin() const { return Iterator(block_.data()); }
    Iterator end() const { return Iterator(block_.data() + block_.size()); }

  private:
    struct Sizes {
        std::uint32_t name;
        std::uint32_t value;
    };

    static constexpr std::size_t sizes_reserved = 12 * sizeof(Sizes);
    static constexpr std::size_t few_bytes = 160;

    static Sizes sizes_at(const char* at) {
        Sizes sizes;
        std::memcpy(&sizes, at, sizeof(sizes));
        return sizes;
    }

    std::string block_;  // of each field its Sizes, its name and its value
    std::size_t count_ = 0;
};

struct HttpRequest {
    std::string id;      // x-request-id as the client sent it when it is fit to hand on, else made by the server
    std::string method;  // as sent: "GET", "POST", ...
    std::string path;    // the target up to '?', without scheme and host, not decoded; "*" of OPTIONS
    std::string query;   // after '?', not decoded
    HttpHeaders headers;
    std::string body;
    Endpoint remote;
    bool keep_alive = true;
};

struct HttpResponse {
    int status = 200;
    // content-length, transfer-encoding, connection, date and x-request-id are the server's.
    HttpHeaders headers;
    std::string body;
};

// "OK" for 200; never empty.
std::string_view reason_phrase(int status);

// A JSON body in OpenAI's error shape. `message` and `code` must not need JSON escapes.
HttpResponse http_error(int status, std::string_view message, std::string_view type, std::string_view code);

bool equal_without_case(std::string_view a, std::string_view b);

}  // namespace exa::io::http
