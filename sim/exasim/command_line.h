// How a command is described: its name, a sentence, its options and what it does. The one place that knows CLI11.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace exa::sim {

// The options of one command. Values that are bound here must outlive the parsing; what they hold before is the
// default.
class CommandLine {
  public:
    explicit CommandLine(CLI::App& app) : app_(app) {}

    // A required word without a flag.
    void word(const char* name, std::string& value, const char* help);
    void text(const char* flag, std::string& value, const char* help);
    // May be given several times.
    void texts(const char* flag, std::vector<std::string>& values, const char* help);
    void choice(const char* flag, std::string& value, const std::vector<std::string>& accepted, const char* help);
    void flag(const char* flag, bool& value, const char* help);
    // Any whole number from 0 to 2^64 - 1.
    void number(const char* flag, std::uint64_t& value, const char* help);
    // Stays empty where it is not given.
    void number(const char* flag, std::optional<std::uint64_t>& value, const char* help);
    void required_number(const char* flag, std::uint64_t& value, const char* help);
    void number(const char* flag, std::uint32_t& value, const char* help);
    void number(const char* flag, std::int64_t& value, const char* help);
    // From `least` to `most`.
    void number(const char* flag, std::uint32_t& value, const char* help, std::uint32_t least, std::uint32_t most);
    void number(const char* flag, double& value, const char* help, double least, double most);

  private:
    CLI::App& app_;
};

struct Command {
    const char* name;
    const char* help;
    std::function<void(CommandLine&)> describe;
    std::function<int()> run;  // after the options were parsed
};

// Parses `argv` as main gets it and runs the command that was named. Returns its exit code, or 2 for wrong usage.
int run_command_line(int argc, char** argv, const std::vector<Command>& commands);

}  // namespace exa::sim
