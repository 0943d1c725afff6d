#include "exaserve/describe.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace exa::cli {

namespace {

// A flag wins over the variable. (CLI11's own envname does not: it also fills the options of subcommands that were not
// chosen, and those of one command share what they fill.)
CLI::Option* add_from_environment(CLI::App& command, const char* flag, std::string& text, const char* variable,
                                  const std::string& help) {
    CLI::Option* const option = command.add_option(flag, text, help + " [" + variable + "]")->capture_default_str();
    if (const char* const set = std::getenv(variable); set != nullptr && *set != '\0') text = set;
    return option;
}

}  // namespace

void add_admin_key(CLI::App& command, std::string& key) {
    add_from_environment(command, "--admin-key", key, "EXASERVE_ADMIN_KEY",
                         "An admin's API key, where peers have security.api_keys_file; better in the environment, "
                         "as others see arguments")
        ->type_name("KEY");
}

void add_target(CLI::App& command, Target& target) {
    add_from_environment(command, "--peer", target.url, "EXASERVE_PEER",
                         "URL of the peer to ask; any peer of the cluster will do")
        ->type_name("URL");
    add_admin_key(command, target.admin_key);
    add_from_environment(command, "--ca-file", target.ca_file, "EXASERVE_CA_FILE",
                         "Certificates to trust of an https peer, as PEM text; default: what the system trusts")
        ->type_name("FILE");
    command.add_flag("--json", target.json, "Print the peer's answer as JSON");
}

}  // namespace exa::cli
