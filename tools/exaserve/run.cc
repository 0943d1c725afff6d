#include "exaserve/run.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/peer.h"
#include "app/shared/errc.h"
#include "exaserve/api_keys.h"
#include "exaserve/ask.h"
#include "exaserve/bench.h"
#include "exaserve/config.h"
#include "exaserve/drain.h"
#include "exaserve/environment.h"
#include "exaserve/exit_code.h"
#include "exaserve/kv.h"
#include "exaserve/up.h"
#include "exaserve/version.h"

namespace exa::cli {

namespace {

int exit_code_of(const std::error_code& code) {
    if (code == app::errc::usage || code == app::errc::bad_model) return exit_usage;
    if (code == app::errc::cannot_bind) return exit_cannot_bind;
    if (code == app::errc::data_dir_locked || code == app::errc::data_dir) return exit_data_dir;
    if (code == app::errc::refused) return exit_identity;
    return exit_failed;
}

Result<void> run_one_peer(const PeerOptions& options) {
    return app::run_peer({options.config_file, options.settings, current_environment()}, version);
}

int run_command(const PeerOptions& options) {
    const auto done = run_one_peer(options);
    if (done) return exit_ok;
    std::fprintf(stderr, "exaserve peer: %s\n", done.error().message().c_str());
    return exit_code_of(done.error().code);
}

int run_command(UpOptions options) {
    if (options.run_dir.empty())
        options.run_dir = current_environment().state_home + "/exaserve/up-" + std::to_string(options.base_port);
    return run_up(options);
}

int run_command(const BenchOptions& options) {
    return run_bench(options);
}

template <class Question>
int run_command(const Question& options) {
    const auto answer = ask(options, standard_output_style());
    if (answer) {
        std::fputs(answer.value().c_str(), stdout);
        return exit_ok;
    }
    const Failure& failure = answer.error();
    std::fprintf(stderr, "exaserve: %s\n", failure.message.c_str());
    if (options.target.json) {
        const boost::json::object error{{"message", failure.message}, {"exit_code", failure.exit_code}};
        std::printf("%s\n", boost::json::serialize(boost::json::object{{"error", error}}).c_str());
    }
    return failure.exit_code;
}

}  // namespace

int run(const Command& command) {
    return std::visit([](const auto& options) { return run_command(options); }, command);
}

}  // namespace exa::cli
