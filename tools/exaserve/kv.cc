#include "exaserve/kv.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "exaserve/admin_client.h"
#include "exaserve/cluster_client.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/input.h"
#include "exaserve/kv_migration.h"
#include "exaserve/kv_places.h"
#include "exaserve/progress.h"
#include "exaserve/show.h"
#include "kv/segment_key.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds repair_poll_interval{500};

AdminClient client_of(const Target& target) {
    return AdminClient(target.url, target.admin_key, std::chrono::seconds(60), target.ca_file);
}

std::string line(std::string_view name, const std::string& value) {
    std::string out(name);
    out.resize(12, ' ');
    return out + value + "\n";
}

// Null when it is not there.
const json::value* member(const json::value& reply, std::string_view name) {
    const auto* object = reply.if_object();
    return object == nullptr ? nullptr : object->if_contains(name);
}

Outcome<std::string> get(const KvOptions& options) {
    const json::object order{{"action", "get"}, {"key", options.key}};
    BOOST_OUTCOME_TRY(auto reply, client_of(options.target).post("kv", order));
    const json::value* const text = member(reply, "payload");
    const auto payload = text != nullptr && text->is_string() ? from_base64(text->get_string()) : std::nullopt;
    if (!payload) return Failure{exit_refused, "the peer's answer holds no payload"};
    if (options.file == "-") return std::string(payload->begin(), payload->end());
    if (!options.file.empty()) {
        std::ofstream file(options.file, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(payload->data()), static_cast<std::streamsize>(payload->size()));
        if (!file.flush()) return Failure{exit_failed, options.file + " cannot be written"};
        if (auto* object = reply.if_object()) object->erase("payload");
    }
    if (options.target.json) return json::serialize(reply) + "\n";
    return line("kind", field_text(reply, "kind")) + line("tokens", field_text(reply, "tokens")) +
           line("payload", std::to_string(payload->size()) + " bytes") + line("parent", field_text(reply, "parent")) +
           line("tenant", field_text(reply, "tenant"));
}

// One round over the whole disk, a part for each order.
Outcome<std::string> verify(const KvOptions& options) {
    const AdminClient client = client_of(options.target);
    std::int64_t checked = 0;
    std::int64_t dropped = 0;
    json::object order{{"action", "verify"}};
    for (bool finished = false; !finished;) {
        BOOST_OUTCOME_TRY(const auto reply, client.post("kv", order));
        const auto number = [&](std::string_view name) {
            const json::value* value = member(reply, name);
            return value != nullptr && value->is_int64() ? value->get_int64() : 0;
        };
        checked += number("checked");
        dropped += number("dropped");
        const json::value* const next = member(reply, "next");
        finished = next == nullptr || next->is_null();
        if (!finished) order["after"] = *next;
    }
    if (options.target.json) return json::serialize(json::object{{"checked", checked}, {"dropped", dropped}}) + "\n";
    return std::to_string(checked) + " segments verified, " + std::to_string(dropped) + " dropped\n";
}

Outcome<std::string> quota(const KvOptions& options, Style style) {
    json::object order{{"action", "quota"}, {"tenant", options.tenant}};
    if (options.gib) order["gib"] = *options.gib;
    if (options.all) order = {{"action", "quota"}, {"all", true}};
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("kv", order));
    if (options.target.json) return json::serialize(reply) + "\n";
    if (options.all) return kv_quotas_text(reply, style);
    return kv_quota_text(reply);
}

// How far every peer is; whoever does not answer, or keeps no KV, has null.
struct Repair {
    struct Row {
        std::string id;
        std::string name;
        std::string liveness;
        bool answered = false;
        json::value peers;
    };
    std::vector<Row> rows;
    std::size_t waiting = 0;
    bool converged = true;
    std::string holders;  // how many there are, as the peer asked last says
    std::string missing;  // who is dead and may come back: until they are lost, their copies are not made up for
};

Outcome<Repair> look_at_repair(const Target& target) {
    BOOST_OUTCOME_TRY(const auto cluster, ClusterClient::open(target));
    Repair repair;
    for (const ClusterPeer& peer : cluster.peers()) {
        if (!peer.is_alive() && peer.liveness != "dead") continue;
        const auto reply = peer.is_alive() ? peer.client.get("kv") : Failure{exit_unreachable, ""};
        const json::value* const peers = reply ? member(reply.value(), "peers") : nullptr;
        repair.rows.push_back(
            {peer.id, peer.name, peer.liveness, reply.has_value(), peers == nullptr ? json::value() : *peers});
        if (!reply) {
            repair.converged = false;
            repair.missing += (repair.missing.empty() ? "" : ", ") + printable(peer.name);
            continue;
        }
        // Whoever keeps no KV for others has nothing to mend.
        if (peers == nullptr || peers->is_null()) continue;
        // Who has lost somebody, and who has not yet, do not mean the same owners.
        const std::string holders = field_text(*peers, "holders");
        const bool is_first = repair.holders.empty();
        const bool agrees = std::exchange(repair.holders, holders) == holders || is_first;
        repair.converged = repair.converged && agrees && field_text(*peers, "converged") == "true";
        json::error_code unknown;
        if (const auto* waiting = member(*peers, "waiting")) repair.waiting += waiting->to_number<std::size_t>(unknown);
    }
    return repair;
}

std::string repair_json(const Repair& repair) {
    json::array peers;
    for (const Repair::Row& row : repair.rows)
        peers.push_back(
            json::object{{"id", row.id}, {"name", row.name}, {"liveness", row.liveness}, {"peers", row.peers}});
    return json::serialize(json::object{
               {"converged", repair.converged}, {"waiting", repair.waiting}, {"peers", std::move(peers)}}) +
           "\n";
}

std::string repair_text(const Repair& repair, Style style) {
    Table table({{"PEER"},
                 {"AT OWNERS"},
                 {"WAITING", Align::right},
                 {"REPAIR"},
                 {"LOOKED AT", Align::right},
                 {"OFFERED", Align::right},
                 {"PASSES", Align::right}});
    for (const Repair::Row& row : repair.rows) {
        const json::value* const progress = member(row.peers, "repair");
        if (progress == nullptr) {
            const std::string why = row.liveness == "dead" ? "dead" : row.answered ? "keeps none" : "no answer";
            table.add_row({row.name, why, "-", "-", "-", "-", "-"});
            continue;
        }
        table.add_row(
            {row.name, field_text(row.peers, "converged") == "true" ? "yes" : "no", field_text(row.peers, "waiting"),
             field_text(*progress, "running") == "true" ? "running" : "at rest", field_text(*progress, "looked_at"),
             field_text(*progress, "offered"), field_text(*progress, "passes")});
    }
    std::string text = table.render(style);
    if (!repair.missing.empty())
        text += "What " + repair.missing + " had is one copy short until it is back, or lost and made up for.\n";
    return text;
}

Outcome<std::string> repair(const KvOptions& options, Style style) {
    BOOST_OUTCOME_TRY(Repair repair, look_at_repair(options.target));
    Progress progress;
    while (options.wait && !repair.converged) {
        progress.show(repair.missing.empty() ? std::to_string(repair.waiting) + " segments wait for a peer to take them"
                                             : repair.missing + " does not answer: until it is back, or lost");
        std::this_thread::sleep_for(repair_poll_interval);
        BOOST_OUTCOME_TRY(repair, look_at_repair(options.target));
    }
    progress.end();
    return options.target.json ? repair_json(repair) : repair_text(repair, style);
}

Outcome<std::string> locate(const KvOptions& options, Style style) {
    BOOST_OUTCOME_TRY(const auto cluster, ClusterClient::open(options.target));
    BOOST_OUTCOME_TRY(auto keys, find_keys(cluster, options));
    const KvPlaces places = find_places(cluster, std::move(keys));
    return options.target.json ? places_json(places) : places_text(places, style);
}

Outcome<std::string> stats(const KvOptions& options, Style style) {
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).get("kv"));
    return options.target.json ? json::serialize(reply) + "\n" : kv_text(reply, style);
}

Outcome<std::string> put(const KvOptions& options) {
    BOOST_OUTCOME_TRY(const auto value, read_input(options.file));
    const json::object order{{"action", "put"}, {"key", options.key}, {"payload", to_base64(as_bytes(value))}};
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("kv", order));
    const std::string outcome = field_text(reply, "outcome");
    if (outcome.starts_with("refused")) return Failure{exit_refused, "the peer's disk has not taken it, " + outcome};
    if (options.target.json) return json::serialize(reply) + "\n";
    return outcome == "present" ? "one is there already, and stays as it is\n" : outcome + "\n";
}

Outcome<std::string> erase_here(const KvOptions& options) {
    const json::object order{{"action", "delete"}, {"key", options.key}};
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("kv", order));
    if (options.target.json) return json::serialize(reply) + "\n";
    return std::string(field_text(reply, "deleted") == "true" ? "deleted\n" : "it was not here\n");
}

// What the peers of a cluster said to the order to delete.
struct Erasure {
    struct Row {
        std::string id;
        std::string name;
        bool deleted = false;
        std::string trouble{};  // why it may still be there
    };
    std::vector<Row> rows;
    std::vector<std::string> dead{};  // names

    bool any_deleted() const { return std::ranges::any_of(rows, &Row::deleted); }
    std::string troubles() const {
        std::string text;
        for (const Row& row : rows)
            if (!row.trouble.empty()) text += (text.empty() ? "" : "; ") + printable(row.name) + ": " + row.trouble;
        return text;
    }
};

// Whoever keeps no KV refuses the order, and has nothing.
bool keeps_none(const ClusterPeer& peer) {
    const auto reply = peer.client.get("kv");
    return reply && field_text(reply.value(), "enabled") == "false";
}

void erase_at(const ClusterPeer& peer, const json::object& order, Erasure::Row& row) {
    const auto reply = peer.client.post("kv", order);
    row.trouble = reply || keeps_none(peer) ? "" : reply.error().message;
    row.deleted = row.deleted || (reply && field_text(reply.value(), "deleted") == "true");
}

std::string erasure_json(const Erasure& erasure, const std::string& key) {
    json::array peers;
    for (const Erasure::Row& row : erasure.rows)
        peers.push_back(json::object{{"id", row.id}, {"name", row.name}, {"deleted", row.deleted}});
    return json::serialize(
               json::object{{"key", key}, {"deleted", erasure.any_deleted()}, {"peers", std::move(peers)}}) +
           "\n";
}

std::string erasure_text(const Erasure& erasure, Style style) {
    Table table({{"PEER"}, {"SEGMENT"}});
    for (const Erasure::Row& row : erasure.rows) table.add_row({row.name, row.deleted ? "deleted" : "was not there"});
    std::string text = table.render(style);
    for (const std::string& name : erasure.dead)
        text += "peer " + printable(name) + " is dead: what its disk has may come back with it\n";
    return text;
}

Outcome<std::string> erase(const KvOptions& options, Style style) {
    if (options.here) return erase_here(options);
    BOOST_OUTCOME_TRY(const auto cluster, ClusterClient::open(options.target));
    const json::object order{{"action", "delete"}, {"key", options.key}};
    Erasure erasure;
    for (const ClusterPeer* peer : cluster.alive()) erasure.rows.push_back({peer->id, peer->name});
    for (const ClusterPeer& peer : cluster.peers())
        if (peer.liveness == "dead") erasure.dead.push_back(peer.name);
    // A second time for what one peer gave to another while it was being deleted.
    for (int round = 0; round == 0 || (round == 1 && erasure.any_deleted()); ++round) {
        std::size_t at = 0;
        for (const ClusterPeer* peer : cluster.alive()) erase_at(*peer, order, erasure.rows[at++]);
    }
    if (const std::string troubles = erasure.troubles(); !troubles.empty())
        return Failure{exit_failed,
                       std::string(erasure.any_deleted() ? "deleted at some peers, but not" : "not deleted") +
                           " at all: " + troubles + ". Run the command again when they answer."};
    return options.target.json ? erasure_json(erasure, options.key) : erasure_text(erasure, style);
}

}  // namespace

namespace {

CLI::Validator is_segment_key() {
    return CLI::Validator(
        [](std::string& text) {
            const bool is_key = kv::parse_segment_key(text).has_value();
            return is_key ? std::string() : "'" + text + "' is no key: it must be 64 hexadecimal digits";
        },
        "");
}

CLI::Validator is_not_empty() {
    return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, "");
}

constexpr const char* footer =
    "The KV cache of prompts and answers is kept in segments of kv.segment_tokens tokens. A segment's key is a hash of "
    "all tokens up to its end, the tenant, the model and its numerics, so prompts that begin alike share segments and "
    "no segment is ever stale. A replica keeps the latest in its own memory. The peer keeps them in memory "
    "(kv.memory_mib) and on disk (kv.directory) for all its replicas, across restarts. A segment that is missing or "
    "corrupt is computed again.\n\n"
    "Examples:\n"
    "  exaserve kv stats\n"
    "  exaserve kv locate alice\n"
    "  exaserve kv migrate alice --to peer-2\n"
    "  exaserve kv repair --wait\n"
    "  exaserve kv verify --peer http://127.0.0.1:8001\n"
    "  exaserve kv quota acme --gib 20\n"
    "  exaserve kv get 5f0c... --output segment.bin\n\n"
    "A quota that is set here applies at the asked peer until it ends. 'del' does not touch what a replica has in its "
    "own memory, which it may store again, or files in kv.cold_directory.";

// Adds subcommands of `exaserve kv`, each of which sets what is asked for.
class Subcommands {
  public:
    Subcommands(CLI::App& command, KvOptions& options) : command_(command), options_(options) {}

    CLI::App* add(const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = command_.add_subcommand(name, help);
        sub->callback([&options = options_, kind] { options.command = kind; });
        add_target(*sub, options_.target);
        return sub;
    }

    // Of one segment.
    CLI::App* add_keyed(const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = add(name, kind, help);
        sub->add_option("key", options_.key, "Key of a segment: 64 hexadecimal digits")
            ->type_name("KEY")
            ->check(is_segment_key())
            ->required();
        return sub;
    }

    // Of the segments of a session, a replica or a request.
    CLI::App* add_sought(const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = add(name, kind, help);
        auto* const which = sub->add_option_group("which", "Exactly one of these")->require_option(1);
        which->add_option("session", options_.session, "A client's session id, or the token of an x-session-id header")
            ->type_name("SESSION")
            ->check(is_not_empty());
        which->add_option("--key", options_.key, "Key of a segment: 64 hexadecimal digits")
            ->type_name("KEY")
            ->check(is_segment_key());
        which->add_option("--replica", options_.replica, "Id of a replica: the sessions that it answered recently")
            ->type_name("ID");
        which->add_option("--request", options_.file, "JSON body of a request; - is standard input")
            ->type_name("FILE")
            ->check(CLI::ExistingFile | CLI::IsMember({"-"}));
        sub->add_option("--tenant", options_.tenant, "Tenant of the session or request; default: the anonymous tenant")
            ->type_name("NAME");
        sub->add_option("--model", options_.model, "Model of the session; optional if there is only one")
            ->type_name("NAME");
        return sub;
    }

    void add_quota() {
        CLI::App* const quota =
            add("quota", KvCommand::quota, "Show or set how much of the peer's disk a tenant's segments may take");
        auto* const tenant = quota->add_option("tenant", options_.tenant, "Tenant; default: the anonymous tenant");
        tenant->type_name("NAME");
        auto* const gib = quota->add_option("--gib", options_.gib,
                                            "Most GiB that the tenant may take from now on; 0: kv.tenant_quota_gib");
        gib->type_name("GIB")->check(CLI::Range(0, 1'048'576));
        quota->add_flag("--all", options_.all, "Show every tenant that has a quota of its own")
            ->excludes(tenant)
            ->excludes(gib);
    }

  private:
    CLI::App& command_;
    KvOptions& options_;
};

}  // namespace

void describe(CLI::App& command, KvOptions& options) {
    command.require_subcommand(1);
    Subcommands to(command, options);
    to.add("stats", KvCommand::stats, "Show KV-cache size and hit rates of the peer");
    to.add_sought("locate", KvCommand::locate, "Show which peers hold the segments, without using them");
    to.add_sought("migrate", KvCommand::migrate, "Copy segments to a peer, before their session or replica moves there")
        ->add_option("--to", options.to, "Name or id of the peer")
        ->type_name("PEER")
        ->required();
    to.add("repair", KvCommand::repair,
           "Show for every peer whether the owners have what it holds, and the progress of repair")
        ->add_flag("--wait", options.wait,
                   "Return when the owners have everything and no dead peer may still come back");
    to.add_keyed("get", KvCommand::get, "Verify a segment and show its header")
        ->add_option("--output", options.file, "File to write the payload to")
        ->type_name("FILE");
    to.add_keyed("put", KvCommand::put,
                 "Store a file as a value under a key that has none; replicas do not use it as KV")
        ->add_option("file", options.file, "The value; - is standard input")
        ->type_name("FILE")
        ->required();
    to.add_keyed("del", KvCommand::del,
                 "Drop a segment from memory and disk of every peer; it is computed again when needed")
        ->add_flag("--here", options.here, "Only at the asked peer, which may get it back from others");
    to.add("verify", KvCommand::verify, "Read and verify everything on disk, and drop what is corrupt");
    to.add_quota();
    command.footer(footer);
}

Outcome<std::string> ask(const KvOptions& options, Style style) {
    switch (options.command) {
        case KvCommand::stats:
            return stats(options, style);
        case KvCommand::locate:
            return locate(options, style);
        case KvCommand::migrate:
            return run_migration(options);
        case KvCommand::repair:
            return repair(options, style);
        case KvCommand::get:
            return get(options);
        case KvCommand::put:
            return put(options);
        case KvCommand::del:
            return erase(options, style);
        case KvCommand::verify:
            return verify(options);
        case KvCommand::quota:
            break;
    }
    return quota(options, style);
}

}  // namespace exa::cli
