#include "sim/exasim/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace exa::sim {

namespace {

// CLI11 takes -1 for 2^64 - 1 and nothing for 0.
CLI::Validator whole_number() {
    return CLI::Validator(
        [](const std::string& text) {
            std::uint64_t value = 0;
            const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool good = failed == std::errc() && end == text.data() + text.size();
            return good ? std::string() : "'" + text + "' is no whole number from 0 to 2^64 - 1";
        },
        "0 .. 2^64 - 1");
}

// A range lets it pass.
CLI::Validator not_nan() {
    return CLI::Validator(
        [](const std::string& text) {
            return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
        },
        "");
}

}  // namespace

void CommandLine::word(const char* name, std::string& value, const char* help) {
    app_.add_option(name, value, help)->required();
}

void CommandLine::text(const char* flag, std::string& value, const char* help) {
    app_.add_option(flag, value, help);
}

void CommandLine::texts(const char* flag, std::vector<std::string>& values, const char* help) {
    app_.add_option(flag, values, help);
}

void CommandLine::choice(const char* flag, std::string& value, const std::vector<std::string>& accepted,
                         const char* help) {
    app_.add_option(flag, value, help)->check(CLI::IsMember(accepted));
}

void CommandLine::flag(const char* flag, bool& value, const char* help) {
    app_.add_flag(flag, value, help);
}

void CommandLine::number(const char* flag, std::uint64_t& value, const char* help) {
    app_.add_option(flag, value, help)->check(whole_number());
}

void CommandLine::number(const char* flag, std::optional<std::uint64_t>& value, const char* help) {
    app_.add_option(flag, value, help)->check(whole_number());
}

void CommandLine::required_number(const char* flag, std::uint64_t& value, const char* help) {
    app_.add_option(flag, value, help)->required()->check(whole_number());
}

void CommandLine::number(const char* flag, std::uint32_t& value, const char* help) {
    app_.add_option(flag, value, help);
}

void CommandLine::number(const char* flag, std::int64_t& value, const char* help) {
    app_.add_option(flag, value, help);
}

void CommandLine::number(const char* flag, std::uint32_t& value, const char* help, std::uint32_t least,
                         std::uint32_t most) {
    app_.add_option(flag, value, help)->check(CLI::Range(least, most));
}

void CommandLine::number(const char* flag, double& value, const char* help, double least, double most) {
    app_.add_option(flag, value, help)->check(CLI::Range(least, most))->check(not_nan());
}

int run_command_line(int argc, char** argv, const std::vector<Command>& commands) {
    CLI::App app("exasim: a whole cluster on a virtual clock, network and disk, repeatable by seed");
    app.require_subcommand(1);
    app.footer(
        "Exit codes:\n"
        "  0  pass\n"
        "  1  an invariant is broken\n"
        "  2  wrong usage\n"
        "  3  the cluster did not converge\n"
        "  4  two runs of one seed differ\n"
        "  5  a fault never took effect\n\n"
        "docs/simulator.md explains scenarios and output.");
    std::vector<CLI::App*> parsed;
    for (const Command& command : commands) {
        parsed.push_back(app.add_subcommand(command.name, command.help));
        CommandLine line(*parsed.back());
        command.describe(line);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? 0 : 2;
    }
    for (std::size_t i = 0; i < commands.size(); ++i)
        if (*parsed[i]) return commands[i].run();
    return 2;  // require_subcommand() lets no other way here
}

}  // namespace exa::sim
