// Failure: why a command ended, for people and for scripts.
#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <string>

namespace exa::cli {

struct Failure {
    int exit_code = 1;
    std::string message;
};

template <class T>
using Outcome = boost::outcome_v2::basic_result<T, Failure, boost::outcome_v2::policy::terminate>;

}  // namespace exa::cli
