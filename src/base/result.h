// Result<T>: a value, or an Error that says what failed and how.
//
// Three kinds of failure (docs/architecture.md): a bug hits EXA_CHECK and aborts; an expected failure is a Result;
// an exception of a library is caught in io/ and becomes a Result there.
#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/try.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace exa {

// `code` is for programs (each folder has its own errc), `detail` for people: it names the thing, the value and the
// range.
struct Error {
    std::error_code code;
    std::string detail;

    // "<detail>: <message of code>", or the message alone when there is no detail.
    std::string message() const { return detail.empty() ? code.message() : detail + ": " + code.message(); }
};

template <class T>
using Result = boost::outcome_v2::basic_result<T, Error, boost::outcome_v2::policy::terminate>;

// Makes an Error of any enumeration registered with std::is_error_code_enum.
template <class Errc>
Error error(Errc code, std::string detail = {}) {
    return Error{make_error_code(code), std::move(detail)};
}

inline auto success() {
    return boost::outcome_v2::success();
}

}  // namespace exa

// EXA_TRY(expr) returns the error of a Result<void>; EXA_TRY(auto name, expr) also binds its value.
#define EXA_TRY BOOST_OUTCOME_TRY
// The same inside a coroutine.
#define EXA_CO_TRY BOOST_OUTCOME_CO_TRY
