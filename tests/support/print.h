// Printers for Boost.Test: with this header a failed BOOST_TEST(a == b) shows both sides whatever their types are.
//
// Ids print as their to_string or as Type{fields}, enumerators by name, times with their unit, a Result as its value or
// its error, containers by element. Types that have an operator<< keep it.
#pragma once

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>
#include <boost/test/tools/detail/print_helper.hpp>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ostream>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/time.h"

namespace exa::test {

// Specialise as true for an aggregate whose fields cannot be enumerated (one with a base class): its type is printed.
template <class T>
inline constexpr bool opaque = false;

namespace print_detail {

inline constexpr std::size_t elements_max = 64;  // of a container; what is beyond is an ellipsis
inline constexpr int enumerators_max = 64;       // whose names are looked for, from 0

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept HasToString = requires(const T& value) {
    { to_string(value) } -> std::convertible_to<std::string_view>;
};
template <class T>
concept Outcome = requires(const T& value) {
    { value.has_error() } -> std::same_as<bool>;
    { value.has_value() } -> std::same_as<bool>;
    value.error();
};

template <class T, template <class...> class Template>
inline constexpr bool is = false;
template <class... A, template <class...> class Template>
inline constexpr bool is<Template<A...>, Template> = true;
template <class T>
inline constexpr bool is_time_point = false;
template <class Clock, class D>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, D>> = true;

// The last word of "... [T = exa::router::Outcome]".
constexpr std::string_view last_word(std::string_view signature) {
    signature.remove_suffix(1);
    const std::string_view plain = signature.substr(0, signature.find('<', signature.rfind(" = ")));
    const std::size_t colon = plain.rfind(':');
    return signature.substr(colon == plain.npos ? signature.rfind(' ') + 1 : colon + 1);
}

template <class T>
constexpr std::string_view type_name() {
    return last_word(__PRETTY_FUNCTION__);
}

// Empty when no enumerator has this value: the compiler then writes "(E)12".
template <auto Value>
constexpr std::string_view enumerator_name() {
    const std::string_view signature = __PRETTY_FUNCTION__;
    return signature[signature.rfind(" = ") + 3] == '(' ? std::string_view() : last_word(signature);
}

template <class E>
std::string_view enum_name(E value) {
    std::string_view name;
    [&]<int... I>(std::integer_sequence<int, I...>) {
        ((value == static_cast<E>(I) ? void(name = enumerator_name<static_cast<E>(I)>()) : void()), ...);
    }(std::make_integer_sequence<int, enumerators_max>());
    return name;
}

}  // namespace print_detail

template <class T>
void print(std::ostream& out, const T& value);

namespace print_detail {

template <class Range>
void print_range(std::ostream& out, const Range& range) {
    out << '{';
    std::size_t count = 0;
    for (const auto& element : range) {
        if (count != 0) out << ", ";
        if (count++ == elements_max) {
            out << "...";
            break;
        }
        print(out, element);
    }
    out << '}';
}

template <class... T>
void print_fields(std::ostream& out, const T&... fields) {
    out << '{';
    std::size_t count = 0;
    ((out << (count++ == 0 ? "" : ", "), print(out, fields)), ...);
    out << '}';
}

template <class T>
void print_aggregate(std::ostream& out, const T& value) {
    out << type_name<T>();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        print_fields(out, boost::pfr::get<I>(value)...);
    }(std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
}

template <class T>
void print_enum(std::ostream& out, T value) {
    const std::string_view name = enum_name(value);
    if (name.empty())
        out << type_name<T>() << '(' << +static_cast<std::underlying_type_t<T>>(value) << ')';
    else
        out << name;
}

template <class T>
void print_outcome(std::ostream& out, const T& value) {
    if (value.has_error()) return print(out, value.error());
    if constexpr (std::is_void_v<typename T::value_type>)
        out << "success";
    else
        print(out, value.value());
}

template <class T>
void print_time_point(std::ostream& out, const T& value) {
    if (value == T::max())
        out << "never";
    else
        print(out, value.time_since_epoch());
}

}  // namespace print_detail

// Anything, as a test's message shows it.
template <class T>
void print(std::ostream& out, const T& value) {
    using namespace print_detail;
    if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int8_t>)
        out << static_cast<int>(value);
    else if constexpr (std::is_same_v<T, bool>)
        out << (value ? "true" : "false");
    else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
        out << '"' << value << '"';
    else if constexpr (std::is_same_v<T, std::nullopt_t>)
        out << "nullopt";
    else if constexpr (std::is_same_v<T, std::monostate>)
        out << "monostate";
    else if constexpr (std::is_same_v<T, Error>)
        out << "error: " << value.message();
    else if constexpr (is_time_point<T>)
        print_time_point(out, value);
    else if constexpr (Streamable<T>)
        out << value;
    else if constexpr (HasToString<T>)
        out << to_string(value);
    else if constexpr (std::is_enum_v<T>)
        print_enum(out, value);
    else if constexpr (Outcome<T>)
        print_outcome(out, value);
    else if constexpr (is<T, std::optional>)
        value ? print(out, *value) : print(out, std::nullopt);
    else if constexpr (is<T, std::variant>)
        std::visit([&](const auto& one) { print(out, one); }, value);
    else if constexpr (is<T, std::pair> || is<T, std::tuple>)
        std::apply([&](const auto&... fields) { print_fields(out, fields...); }, value);
    else if constexpr (std::ranges::input_range<const T>)
        print_range(out, value);
    else if constexpr (std::is_aggregate_v<T> && !opaque<T>)
        print_aggregate(out, value);
    else
        out << '(' << type_name<T>() << ')';
}

}  // namespace exa::test

// What Boost.Test calls for a value of a type without operator<<.
template <class T>
    requires(!exa::test::print_detail::Streamable<T> && !std::is_array_v<T> && !std::is_function_v<T>)
struct boost::test_tools::tt_detail::print_log_value<T> {
    void operator()(std::ostream& out, const T& value) { exa::test::print(out, value); }
};
