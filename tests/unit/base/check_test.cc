#include "base/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdio>

BOOST_AUTO_TEST_SUITE(check)

namespace {

// The signal that ended a child process which checks `condition`; 0 when it went on and exited.
int signal_of_check(bool condition) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        std::fclose(stderr);
        EXA_CHECK(condition);
        _exit(0);
    }
    int status = 0;
    BOOST_TEST(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(false_condition_aborts_and_true_one_goes_on) {
    BOOST_TEST(signal_of_check(false) == SIGABRT);
    BOOST_TEST(signal_of_check(true) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
