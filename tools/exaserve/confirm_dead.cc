// exaserve confirm-dead: the many dead are gone, not cut off.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>

#include "exaserve/ask.h"
#include "exaserve/describe.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

}  // namespace

void describe(CLI::App& command, ConfirmDeadOptions& options) {
    add_target(command, options.target);
    command.add_flag("--force", options.force, "Confirm even if this peer has not met its cluster since it started");
    command.footer(
        "If more than a third of the peers are dead at once, the network may be cut. Their work is then not placed "
        "elsewhere until some of them are back. This command confirms that they are really gone. Run it for every peer "
        "that is left.\n\nExample:\n  exaserve confirm-dead --peer http://127.0.0.1:8002");
}

Outcome<std::string> ask(const ConfirmDeadOptions& options, Style) {
    BOOST_OUTCOME_TRY(const auto reply,
                      client_of(options.target).post("confirm-dead", json::object{{"force", options.force}}));
    if (options.target.json) return json::serialize(reply) + "\n";
    const std::string warning = field_text(reply, "warning");
    const std::string warned = warning == "-" ? "" : "warning: forced although " + warning + "\n";
    if (field_text(reply, "held") != "true") return warned + "this peer holds no losses; nothing changed\n";
    return warned + "the " + std::to_string(number_in(reply, "dead")) +
           " dead peers become lost at this peer; run the command for every other peer too\n";
}

}  // namespace exa::cli
