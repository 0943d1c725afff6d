// Child: a process that this one started and ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "exaserve/failure.h"

namespace exa::cli {

// How a process ended, as a shell shows it: its exit code, or 128 plus the signal.
struct Ended {
    int exit_code = 0;
    std::optional<int> signal;
};

// Moves, does not copy. Ended and reaped by its destructor if it still runs.
class Child {
  public:
    // Starts this very program with `arguments`. Its output is appended to `log_file`. It has a process group of its
    // own, so that Ctrl-C reaches this process alone, and gets SIGTERM when this one dies.
    static Outcome<Child> start(const std::vector<std::string>& arguments, const std::string& log_file);

    // The same for a command of the user's shell; its output goes to standard error.
    static Outcome<Child> start_shell(const std::string& command);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child();

    pid_t pid() const { return pid_; }
    // Nothing while it runs. Does not wait.
    std::optional<Ended> poll();
    // No effect once it has ended.
    void signal(int number);

  private:
    explicit Child(pid_t pid) : pid_(pid) {}
    static Outcome<Child> start(const char* path, const std::vector<std::string>& argv, int output);

    pid_t pid_ = -1;  // -1: moved from
    std::optional<Ended> ended_;
};

}  // namespace exa::cli
