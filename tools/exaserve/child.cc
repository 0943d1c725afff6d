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
[[noreturn]] void become(const char* path, char* const* argv, int output, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(exit_failed);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDIN_FILENO);
    execv(path, argv);
    _exit(exit_failed);
}

}  // namespace

Outcome<Child> Child::start(const char* path, const std::vector<std::string>& arguments, int output) {
    std::vector<std::string> copies = arguments;
    std::vector<char*> argv;
    for (std::string& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);

    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) become(path, argv.data(), output, parent);
    if (pid < 0) return Failure{exit_failed, std::string("cannot start a process: ") + std::strerror(errno)};
    return Child(pid);
}

Outcome<Child> Child::start(const std::vector<std::string>& arguments, const std::string& log_file) {
    const int log = open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return Failure{exit_failed, log_file + ": " + std::strerror(errno)};
    std::vector<std::string> argv = {"exaserve"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto child = start("/proc/self/exe", argv, log);
    close(log);
    return child;
}

Outcome<Child> Child::start_shell(const std::string& command) {
    return start("/bin/sh", {"sh", "-c", command}, STDERR_FILENO);
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
