#include "exaserve/peer.h"

#include <CLI/CLI.hpp>
#include <string>

#include "app/config/options.h"
#include "app/peer.h"
#include "app/shared/errc.h"
#include "exaserve/describe.h"
#include "exaserve/environment.h"
#include "exaserve/exit_code.h"
#include "exaserve/plan.h"
#include "exaserve/version.h"
#include "io/log/line_writer.h"

namespace exa::cli {

namespace {

constexpr const char* peer_footer =
    "Example, the first peer of a cluster and one more:\n"
    "  exaserve peer --listen-http 0.0.0.0:8000 --listen-gossip 0.0.0.0:7946 --listen-link 0.0.0.0:7947 \\\n"
    "    --advertise-http 10.0.0.1:8000 --advertise-gossip 10.0.0.1:7946 --advertise-link 10.0.0.1:7947 \\\n"
    "    --security-cluster-key-file cluster.key --security-api-keys-file api-keys.toml\n"
    "  exaserve peer --config peer.toml --seeds 10.0.0.1:7946\n\n"
    "Every flag is also a key of the file: --listen-http is http in the table [listen]. Flags win. SIGTERM, SIGINT and "
    "'exaserve leave' let running answers finish before the peer ends. A second signal ends it at once.";

int exit_code_of(const std::error_code& code) {
    if (code == app::shared::errc::usage || code == app::shared::errc::bad_model) return exit_usage;
    if (code == app::shared::errc::cannot_bind) return exit_cannot_bind;
    if (code == app::shared::errc::data_dir_locked || code == app::shared::errc::data_dir) return exit_data_dir;
    if (code == app::shared::errc::refused) return exit_identity;
    return exit_failed;
}

Result<void> run_one_peer(const PeerOptions& options) {
    return app::run_peer({options.config_file, options.settings, current_environment()}, version);
}

}  // namespace

void describe(CLI::App& command, PeerOptions& options) {
    command.add_option("--config", options.config_file, "TOML file with the keys listed below")->type_name("FILE");
    command.add_flag_callback(
        "--json", [&options] { options.settings.emplace_back("log.format", "json"); }, "Same as --log-format json");
    for (const app::config::PeerOption& option : app::config::peer_options()) {
        const auto dot = option.name.find('.');
        command
            .add_option_function<std::string>(
                flag_of(option.name),
                [&options, name = option.name](const std::string& value) {
                    options.settings.emplace_back(name, value);
                },
                describe(option))
            ->type_name(option.placeholder)
            ->group(dot == option.name.npos ? "Options" : "Table [" + option.name.substr(0, dot) + "]");
    }
    command.footer(peer_footer);
}

int run_peer_command(const PeerOptions& options) {
    const auto done = run_one_peer(options);
    if (done) return exit_ok;
    // A reader of standard error that stands still does not keep the process.
    if (const auto terminal = io::log::LineWriter::open({}, {}))
        terminal.value()->write("exaserve peer: " + done.error().message());
    return exit_code_of(done.error().code);
}

}  // namespace exa::cli
