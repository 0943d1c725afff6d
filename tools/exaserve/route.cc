// exaserve route: which replica a session or request goes to, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>

#include "base/hash.h"
#include "exaserve/ask.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/input.h"
#include "exaserve/show.h"
#include "openai/scan.h"
#include "openai/session.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

// The prompt stays here: what an ingress would make of it is sent.
Outcome<Query> route_query(const RouteOptions& options) {
    Query query{{"tenant", options.tenant}, {"priority", options.priority}};
    std::string session = options.session;
    std::string model = options.model;
    std::string body;
    if (!options.prompt.empty()) body = json::serialize(json::object{{"prompt", options.prompt}});
    if (!options.request_file.empty()) {
        BOOST_OUTCOME_TRY(body, read_input(options.request_file));
    }
    if (!body.empty() || !options.request_file.empty()) {
        const auto scan = openai::scan(body);
        if (!scan) return Failure{exit_usage, "the request: " + scan.error().message};
        if (model.empty()) model = scan.value().model.text();
        if (session.empty()) session = openai::pick_session({}, scan.value()).id;
        const std::uint64_t prefix = hash64(as_bytes(scan.value().leading));
        query.push_back({"prefix", fmt::format("{:016x}", prefix)});
        query.push_back({"prompt_tokens", std::to_string(scan.value().prompt_tokens_estimate)});
    }
    query.push_back({"session", session});
    query.push_back({"model", model});
    return query;
}

}  // namespace

void describe(CLI::App& command, RouteOptions& options) {
    add_target(command, options.target);
    command.add_option("--session", options.session, "A client's session id, or the token of an x-session-id header")
        ->type_name("ID");
    command.add_option("--model", options.model, "Model; optional if there is only one")->type_name("NAME");
    auto* prompt = command.add_option("--prompt", options.prompt, "Prompt of a completion without a session");
    prompt->type_name("TEXT");
    command
        .add_option("--request", options.request_file,
                    "JSON body of a request with its prompt, model and session; - is standard input")
        ->type_name("FILE")
        ->check(CLI::ExistingFile | CLI::IsMember({"-"}))
        ->excludes(prompt);
    command.add_option("--tenant", options.tenant, "Tenant of the request")->type_name("NAME");
    command.add_option("--priority", options.priority, "high, normal or low")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"high", "normal", "low"}));
    command.footer(
        "The ring owner of a session is the same on every peer. The replica that a request goes to also depends on "
        "what the "
        "asked peer knows of loads and failures. Columns: LOAD, requests in flight; BURDEN, the load score: requests, "
        "waiting prompts, memory and late tokens; BOUND, the load from which on a replica is passed over; LIMIT, the "
        "requests it admits; WAIT, the requests queued for a slot; SHARE, how much of its share a new replica gets; "
        "NEAR, "
        "its distance.\n\n"
        "'because' is one of:\n"
        "  session_owner    it owns the session on the ring\n"
        "  session_spilled  the owner is full or above its bound; this is the next on the ring with room\n"
        "  session_moved    the owner is draining or out of reach; this is the next on the ring\n"
        "  spill_kept       the session spilled to it recently and has its cache there\n"
        "  warm_prefix      no session; prompts that begin alike go here, so their KV is probably cached\n"
        "  least_loaded     the less loaded of two random replicas, or the nearer one if they are about equal\n"
        "  last_resort      no replica is eligible: the best of the rest\n"
        "  shortest_queue   every replica is full; this has the shortest queue\n"
        "  own_replica      other peers did not answer this request; this is one of the peer itself\n\nExample:\n"
        "  exaserve route --session alice --json\n  exaserve route --request body.json");
}

Outcome<std::string> ask(const RouteOptions& options, Style style) {
    BOOST_OUTCOME_TRY(const auto query, route_query(options));
    return get_and_show(options.target, "route", query, style, route_text);
}

}  // namespace exa::cli
