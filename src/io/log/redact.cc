#include "io/log/redact.h"

#include <algorithm>
#include <array>

namespace exa::io::log {

namespace {

constexpr std::string_view hidden = "...";
constexpr std::string_view key_prefix = "sk-";
// Shorter than every key that anybody issues, longer than words in which "sk-" happens to stand.
constexpr std::size_t key_bytes_min = 16;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word(char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// token68 of RFC 9110, section 11.2.
bool is_credential(char c) {
    return is_word(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

template <class Is>
std::size_t run_length(std::string_view text, Is is) {
    return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

bool starts_without_case(std::string_view text, std::string_view lower_case) {
    return text.size() >= lower_case.size() &&
           std::ranges::equal(text.substr(0, lower_case.size()), lower_case, {}, lower);
}

// The secret that begins at the start of `text`: what is kept of it, and how long it is in all. Zero when none does.
struct Secret {
    std::size_t kept = 0;
    std::size_t size = 0;
};

Secret secret_at(std::string_view text) {
    if (text.starts_with(key_prefix))
        if (const std::size_t size = run_length(text, is_word); size >= key_bytes_min) return {key_prefix.size(), size};
    for (const std::string_view scheme : {"bearer ", "basic "}) {
        if (!starts_without_case(text, scheme)) continue;
        if (const std::size_t size = run_length(text.substr(scheme.size()), is_credential); size >= key_bytes_min)
            return {scheme.size(), scheme.size() + size};
    }
    return {};
}

}  // namespace

bool is_secret_name(std::string_view name) {
    static constexpr std::array<std::string_view, 6> names = {"authorization", "api-key", "api_key",
                                                              "password",      "secret",  "token"};
    return std::ranges::any_of(names, [&](std::string_view secret) {
        return name.size() >= secret.size() && starts_without_case(name.substr(name.size() - secret.size()), secret);
    });
}

std::string redacted(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    bool in_word = false;
    while (!text.empty()) {
        const Secret secret = in_word ? Secret{} : secret_at(text);
        if (secret.size > 0) {
            out.append(text.substr(0, secret.kept)).append(hidden);
            text.remove_prefix(secret.size);
            in_word = false;
            continue;
        }
        in_word = is_word(text.front());
        out += text.front();
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace exa::io::log
