#include "exaserve/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "exaserve/exit_code.h"

namespace exa::cli {

namespace {

// Between fork and exec: only what a signal handler may call.
[[noreturn]] void become(char* const* argv, int log, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(exit_failed);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
    execv("/proc/self/exe", argv);
    _exit(exit_failed);
}

}  // namespace

Outcome<Child> Child::start(const std::vector<std::string>& arguments, const std::string& log_file) {
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return Failure{exit_failed, log_file + ": " + std::strerror(errno)};
    std::string name = "exaserve";
    std::vector<std::string> copies = arguments;
    std::vector<char*> argv = {name.data()};
    for (std::string& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);

    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) become(argv.data(), log, parent);
    const int fork_errno = errno;
    close(log);
    if (pid < 0) return Failure{exit_failed, std::string("cannot start a process: ") + std::strerror(fork_errno)};
    return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

Child& Child::operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(ended_, other.ended_);
    return *this;
}

Child::~Child() {
    if (pid_ < 0 || poll()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

std::optional<Ended> Child::poll() {
    if (ended_ || pid_ < 0) return ended_;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    if (WIFSIGNALED(status))
        ended_ = Ended{128 + WTERMSIG(status), WTERMSIG(status)};
    else
        ended_ = Ended{WEXITSTATUS(status), std::nullopt};
    return ended_;
}

void Child::signal(int number) {
    if (pid_ >= 0 && !poll()) kill(pid_, number);
}

}  // namespace exa::cli
