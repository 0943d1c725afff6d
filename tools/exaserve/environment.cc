#include "exaserve/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace exa::cli {

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string home() {
    if (std::string home = variable("HOME"); !home.empty()) return home;
    const passwd* user = getpwuid(getuid());
    return user == nullptr ? "/" : user->pw_dir;
}

// The XDG base directory specification wants absolute paths and no other.
std::string xdg_directory(const char* name, std::string_view below_home) {
    const std::string value = variable(name);
    return value.starts_with('/') ? value : home() + std::string(below_home);
}

}  // namespace

app::config::Environment current_environment() {
    char host_name[256] = {};
    gethostname(host_name, sizeof host_name - 1);
    return {host_name, xdg_directory("XDG_STATE_HOME", "/.local/state"), xdg_directory("XDG_CACHE_HOME", "/.cache")};
}

Style standard_output_style() {
    const bool color = isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
    return color ? Style::color : Style::plain;
}

}  // namespace exa::cli
