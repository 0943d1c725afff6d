#include "app/access/tenant_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace exa::app::access {

namespace {

constexpr std::string_view header = "exaserve-tenant-use 1\n";

std::string_view take_until(std::string_view& text, char end) {
    const std::size_t at = std::min(text.find(end), text.size());
    const std::string_view head = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return head;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), out);
    return errc == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string format_tenant_use(const std::vector<TenantUse>& use) {
    std::string text(header);
    for (const TenantUse& of : use)
        if (of.use.tokens > 0) text += fmt::format("{} {} {}\n", of.tenant, of.use.day, of.use.tokens);
    return text;
}

std::optional<std::vector<TenantUse>> parse_tenant_use(std::string_view text) {
    if (!text.starts_with(header) || !text.ends_with('\n')) return std::nullopt;
    text.remove_prefix(header.size());
    std::vector<TenantUse> use;
    while (!text.empty()) {
        std::string_view line = take_until(text, '\n');
        TenantUse of;
        of.tenant = take_until(line, ' ');
        if (of.tenant.empty() || !read_number(take_until(line, ' '), of.use.day) || !read_number(line, of.use.tokens))
            return std::nullopt;
        use.push_back(std::move(of));
    }
    return use;
}

}  // namespace exa::app::access
