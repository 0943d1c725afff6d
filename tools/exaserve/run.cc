#include "exaserve/run.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "exaserve/api_keys.h"
#include "exaserve/ask.h"
#include "exaserve/bench.h"
#include "exaserve/config.h"
#include "exaserve/drain.h"
#include "exaserve/environment.h"
#include "exaserve/exit_code.h"
#include "exaserve/kv.h"
#include "exaserve/peer.h"
#include "exaserve/up.h"

namespace exa::cli {

namespace {

int run_command(const PeerOptions& options) {
    return run_peer_command(options);
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
