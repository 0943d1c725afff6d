#include "sim/scenarios/scenario.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "membership/options.h"
#include "sim/errc.h"
#include "sim/scenarios/near_match.h"

namespace exa::sim {

namespace {

constexpr std::array kind_names = std::to_array<std::string_view>(
    {"crash",      "leave",     "pause",        "slow",         "clock_jump",   "drift",      "cut",
     "cut_udp",    "loss",      "duplicate",    "reorder",      "corrupt",      "delay",      "clog",
     "bandwidth",  "disk_full", "disk_lies",    "disk_corrupt", "disk_slow",    "garbage",    "replay",
     "forge",      "oversize",  "name_steal",   "load",         "disconnect",   "key_add",    "key_use",
     "key_remove", "kv_rot",    "kv_misdirect", "names_down",   "names_itself", "names_turn", "cut_link"});

constexpr std::array checks = std::to_array<std::string_view>({"M1",
                                                               "M2",
                                                               "M3",
                                                               "M4",
                                                               "M5",
                                                               "R1",
                                                               "R2",
                                                               "R3",
                                                               "Q1",
                                                               "Q2",
                                                               "Q3",
                                                               "Q4",
                                                               "Q5",
                                                               "Q6",
                                                               "Q7",
                                                               "B1",
                                                               "B2",
                                                               "B3",
                                                               "S1",
                                                               "S2",
                                                               "K1",
                                                               "K2",
                                                               "K3",
                                                               "K4",
                                                               "K5",
                                                               "K6",
                                                               "V1",
                                                               "V2",
                                                               "V3",
                                                               "leave",
                                                               "no-false-deaths",
                                                               "no-refusals",
                                                               "holder-stays",
                                                               "no-false-suspicions"});

constexpr std::array effects = std::to_array<std::string_view>({"busy",
                                                                "client_error",
                                                                "client_gone",
                                                                "control_behind_data",
                                                                "detection",
                                                                "false_death",
                                                                "kv_acknowledged",
                                                                "kv_corrupt",
                                                                "kv_evicted",
                                                                "kv_handed_out",
                                                                "kv_healed",
                                                                "kv_lost",
                                                                "kv_refused",
                                                                "kv_repaired",
                                                                "kv_turns",
                                                                "met_silence",
                                                                "moved_off_suspect",
                                                                "placement",
                                                                "progress_credit",
                                                                "refused",
                                                                "restart_refused",
                                                                "resumed",
                                                                "sent_away",
                                                                "socket_overflow",
                                                                "stranger",
                                                                "suspicion",
                                                                "unfit",
                                                                "values_agreed",
                                                                "values_checked",
                                                                "values_from_peers",
                                                                "values_got",
                                                                "values_missed",
                                                                "values_removed",
                                                                "values_set",
                                                                "values_unsure",
                                                                "waited"});

Error bad(std::string detail) {
    return error(errc::bad_scenario, std::move(detail));
}

// Reads the keys of one table and in the end refuses those that nobody asked for.
class Reader {
  public:
    Reader(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

    void number(std::string_view key, double& out, double least, double most) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value<double>();
        if (!value || !(*value >= least && *value <= most)) {
            fail(key, fmt::format("a number, {} .. {}", least, most));
            return;
        }
        out = *value;
    }
    template <class Integer>
    void integer(std::string_view key, Integer& out, std::int64_t least, std::int64_t most) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<std::int64_t>();
        if (!value || *value < least || *value > most) {
            fail(key, fmt::format("a whole number, {} .. {}", least, most));
            return;
        }
        out = static_cast<Integer>(*value);
    }
    void flag(std::string_view key, bool& out) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<bool>();
        if (!value) fail(key, "true or false");
        out = value.value_or(out);
    }
    void text(std::string_view key, std::string& out) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<std::string>();
        if (!value) fail(key, "a text");
        out = value.value_or(out);
    }
    // `unit` in microseconds: 1e6 for keys that end in _s.
    void time(std::string_view key, Duration& out, double unit, double least = 0, double most = 1e6) {
        double value = static_cast<double>(out.count()) / unit;
        number(key, value, least, most);
        out = Duration{static_cast<Duration::rep>(value * unit + (value < 0 ? -0.5 : 0.5))};
    }
    void texts(std::string_view key, std::vector<std::string>& out) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        if (node->as_array() == nullptr) {
            fail(key, "a list of texts");
            return;
        }
        for (const toml::node& item : *node->as_array()) {
            const auto value = item.value_exact<std::string>();
            if (!value) {
                fail(key, "a list of texts");
                return;
            }
            out.push_back(*value);
        }
    }
    void hosts(std::string_view key, std::vector<Host>& out, std::uint32_t peers) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const std::string accepted = fmt::format("a list of hosts, 0 .. {}", peers - 1);
        if (node->as_array() == nullptr) {
            fail(key, accepted);
            return;
        }
        for (const toml::node& item : *node->as_array()) {
            const auto value = item.value_exact<std::int64_t>();
            if (!value || *value < 0 || *value >= peers) {
                fail(key, accepted);
                return;
            }
            out.push_back(static_cast<Host>(*value));
        }
    }
    const toml::table* table(std::string_view key) {
        const toml::node* node = take(key);
        if (node != nullptr && node->as_table() == nullptr) fail(key, "a table");
        return node != nullptr ? node->as_table() : nullptr;
    }
    const toml::array* array(std::string_view key) {
        const toml::node* node = take(key);
        if (node != nullptr && node->as_array() == nullptr) fail(key, "a list of tables");
        return node != nullptr ? node->as_array() : nullptr;
    }

    void fail(std::string_view key, std::string_view accepted) {
        if (!error_) error_ = bad(fmt::format("{}{}: accepted is {}", path_, key, accepted));
    }
    Result<void> finish() {
        if (error_) return *error_;
        for (const auto& [key, value] : table_)
            if (std::ranges::find(taken_, key.str()) == taken_.end())
                return bad(fmt::format("unknown key '{}{}'{}", path_, key.str(), did_you_mean(key.str(), taken_)));
        return success();
    }

  private:
    const toml::node* take(std::string_view key) {
        taken_.push_back(key);
        return table_.get(key);
    }

    const toml::table& table_;
    std::string path_;
    std::vector<std::string_view> taken_;
    std::optional<Error> error_;
};

constexpr double us = 1, ms = 1e3, s = 1e6;
// Of datagrams a second of one fault, and of a load fault: more would only take longer than anybody waits.
constexpr double injected_max = 1e5, load_factor_max = 1000;

Result<void> read_cluster(const toml::table& table, Scenario& scenario) {
    Reader reader(table, "cluster.");
    ClusterConfig& cluster = scenario.cluster;
    reader.integer("peers", cluster.peers, 1, 16384);
    reader.integer("replicas", cluster.replicas, 0, 64);
    reader.integer("models", cluster.models, 1, 64);
    reader.integer("rack_size", cluster.rack_size, 1, 16384);
    reader.flag("encrypted", cluster.encrypted);
    reader.integer("seeds", cluster.seeds, 1, 64);
    reader.flag("named_seeds", cluster.named_seeds);
    reader.time("start_spread_s", scenario.start_spread, s);
    reader.time("drain_s", cluster.drain.limit, s, 0.01);
    reader.time("restart_delay_s", cluster.restart_delay, s, 0.01);
    reader.time("measure_period_s", cluster.measure_period, s, 0.01);
    reader.integer("socket_datagrams", cluster.socket_datagrams, 1, 100000);
    return reader.finish();
}

Result<void> read_net(const toml::table& table, NetConfig& net) {
    Reader reader(table, "net.");
    reader.time("latency_min_us", net.latency_min, us, 1, 1e7);
    reader.time("latency_max_us", net.latency_max, us, 1, 1e7);
    reader.number("tail", net.tail, 0, 1);
    reader.time("latency_tail_ms", net.latency_tail, ms);
    reader.number("loss", net.loss, 0, 1);
    reader.number("duplicate", net.duplicate, 0, 1);
    reader.number("bandwidth", net.bandwidth, 0, 1e12);
    reader.time("queue_ms", net.queue_time, ms);
    reader.time("silence_s", net.silence, s, 0.1);
    EXA_TRY(reader.finish());
    if (net.latency_max < net.latency_min) return bad("net.latency_max_us: accepted is net.latency_min_us or more");
    return success();
}

// A time may be given in milliseconds or in seconds: probe_interval_ms or probe_interval_s.
Result<void> read_membership(const toml::table& table, membership::Config& config) {
    std::deque<std::string> keys;  // the reader refers to them
    Reader reader(table, "membership.");
    std::string profile;
    reader.text("profile", profile);
    if (profile == "wan")
        config = membership::wan();
    else if (profile == "hpc")
        config = membership::hpc();
    else if (!profile.empty() && profile != "lan")
        reader.fail("profile", "lan, wan or hpc");
    for (const membership::Option& option : membership::options()) {
        const std::string name(option.name);
        const auto read = [&]<class T>(const membership::Field<T>& field) {
            T& value = config.*field.member;
            if constexpr (std::is_same_v<T, Duration>) {
                reader.time(keys.emplace_back(name + "_ms"), value, ms);
                reader.time(keys.emplace_back(name + "_s"), value, s);
            } else if constexpr (std::is_same_v<T, double>) {
                reader.number(keys.emplace_back(name), value, field.min, field.max);
            } else {
                reader.integer(keys.emplace_back(name), value, static_cast<std::int64_t>(field.min),
                               static_cast<std::int64_t>(field.max));
            }
        };
        std::visit(read, option.field);
    }
    EXA_TRY(reader.finish());
    if (auto valid = membership::validate(config); !valid) return bad("membership." + valid.error().detail);
    return success();
}

Result<void> read_engine(const toml::table& table, EngineConfig& engine) {
    Reader reader(table, "engine.");
    reader.integer("in_flight_limit", engine.in_flight_limit, 1, 4096);
    reader.integer("queue_requests", engine.queue.requests_max, 0, 4096);
    reader.time("prefill_us", engine.prefill_token, us);
    reader.time("decode_us", engine.decode_token, us);
    reader.number("batch_cost", engine.batch_cost, 0, 10);
    reader.integer("context_tokens", engine.context_tokens, 1, 1'000'000);
    reader.integer("small_context_every", engine.small_context_every, 0, 4096);
    reader.integer("small_context_tokens", engine.small_context_tokens, 1, 1'000'000);
    reader.time("warm_ms", engine.warm, ms);
    return reader.finish();
}

Result<void> read_load(const toml::table& table, Load& load) {
    Reader reader(table, "load.");
    reader.number("rate", load.rate, 0, 1e6);
    reader.flag("poisson", load.poisson);
    reader.time("from_s", load.from, s);
    reader.time("until_s", load.until, s);
    reader.integer("sessions", load.sessions, 1, 1'000'000);
    reader.number("session_share", load.session_share, 0, 1);
    reader.number("hot_share", load.hot_share, 0, 1);
    reader.integer("prompt_tokens", load.prompt_tokens, 1, 8000);
    reader.integer("answer_tokens", load.answer_tokens, 1, 8000);
    reader.integer("chunk_tokens", load.chunk_tokens, 1, 8000);
    reader.number("slow_readers", load.slow_readers, 0, 1);
    reader.number("slow_tokens_s", load.slow_tokens, 0.1, 1e6);
    reader.number("disconnects", load.disconnects, 0, 1);
    reader.number("client_errors", load.client_errors, 0, 1);
    reader.integer("sdk_retries", load.sdk_retries, 0, 10);
    reader.time("deadline_s", load.deadline, s, 0.1);
    return reader.finish();
}

Result<void> read_values(const toml::table& table, ValueLoad& values) {
    Reader reader(table, "values.");
    reader.number("rate", values.rate, 0, 1e4);
    reader.time("from_s", values.from, s);
    reader.integer("keys", values.keys, 1, 10'000);
    return reader.finish();
}

Result<void> read_kv(const toml::table& table, KvLoad& kv) {
    Reader reader(table, "kv.");
    reader.number("rate", kv.rate, 0, 1e4);
    reader.time("from_s", kv.from, s);
    reader.integer("conversations", kv.conversations.conversations, 1, 100'000);
    reader.integer("tenants", kv.conversations.tenants, 1, 1000);
    reader.integer("models", kv.conversations.models, 1, 1000);
    reader.integer("segments_max", kv.conversations.segments_max, 1, 500);
    reader.number("shared", kv.conversations.shared, 0, 1);
    reader.integer("turn_segments", kv.turn_segments, 1, 100);
    reader.integer("segment_bytes", kv.segment_bytes, 1, 1 << 26);
    reader.integer("capacity_segments", kv.capacity_segments, 8, 1 << 20);
    return reader.finish();
}

Result<void> read_bounds(const toml::table& table, Bounds& bounds) {
    Reader reader(table, "bounds.");
    reader.time("detect_s", bounds.detect, s);
    reader.time("settle_s", bounds.settle, s);
    reader.integer("suspicions", bounds.suspicions, 0, 1'000'000);
    reader.integer("killer_victims", bounds.killer_victims, 0, 100000);
    reader.number("request_failures", bounds.request_failures, 0, 1);
    reader.time("recover_s", bounds.recover, s);
    reader.time("first_byte_s", bounds.first_byte, s);
    reader.time("control_ms", bounds.control, ms);
    reader.integer("members", bounds.members, 0, 1'000'000);
    return reader.finish();
}

Result<Fault> read_fault(const toml::table& table, std::size_t number, std::uint32_t peers) {
    Reader reader(table, fmt::format("fault.{}.", number));
    Fault fault;
    std::string kind;
    reader.text("kind", kind);
    const auto known = std::ranges::find(kind_names, kind);
    if (known == kind_names.end())
        reader.fail("kind", fmt::format("one of {}{}", fmt::join(kind_names, ", "), did_you_mean(kind, kind_names)));
    fault.kind = static_cast<FaultKind>(known - kind_names.begin());
    reader.time("at_s", fault.at, s);
    reader.time("for_s", fault.lasts, s);
    reader.time("every_s", fault.every, s);
    reader.integer("times", fault.times, 1, 1'000'000);
    reader.integer("count", fault.count, 1, peers);
    reader.number("share", fault.share, 0, 1);
    reader.hosts("hosts", fault.hosts, peers);
    reader.hosts("to", fault.to, peers);
    reader.integer("rack", fault.rack, 0, 100000);
    bool random_rack = false;
    reader.flag("random_rack", random_rack);
    const int said = (fault.count > 0 ? 1 : 0) + (fault.share > 0 ? 1 : 0) + (fault.hosts.empty() ? 0 : 1) +
                     (fault.rack >= 0 ? 1 : 0) + (random_rack ? 1 : 0);
    if (said > 1) reader.fail("count", "only one of count, share, hosts, rack and random_rack");
    if (random_rack) fault.rack = -2;
    reader.flag("one_way", fault.one_way);
    reader.flag("keep_disk", fault.keep_disk);
    reader.number("chance", fault.chance, 0, 1);
    reader.time("ms", fault.time, ms, -1e9, 1e9);
    reader.integer("ppm", fault.ppm, -900'000, 1'000'000);
    reader.number("rate", fault.rate, 0, 1e12);
    reader.flag("refused", fault.is_refused);
    if (fault.times > 1 && fault.every <= Duration{0}) reader.fail("every_s", "more than 0 when times is more than 1");
    const bool injects = fault.kind == FaultKind::garbage || fault.kind == FaultKind::replay ||
                         fault.kind == FaultKind::forge || fault.kind == FaultKind::oversize;
    if (injects && (fault.rate <= 0 || fault.rate > injected_max))
        reader.fail("rate", fmt::format("more than 0, up to {:g} datagrams a second", injected_max));
    if (fault.kind == FaultKind::load && (fault.rate <= 0 || fault.rate > load_factor_max))
        reader.fail("rate", fmt::format("more than 0, up to {:g} times the clients' rate", load_factor_max));
    if (fault.kind == FaultKind::bandwidth && fault.rate <= 0) reader.fail("rate", "more than 0 bytes a second");
    EXA_TRY(reader.finish());
    return fault;
}

// "a.b.0.c" = value, where the value is TOML or else a bare text.
Result<void> apply(toml::table& root, const Setting& setting) {
    toml::table parsed;
    try {
        parsed = toml::parse("value = " + setting.value);
    } catch (const toml::parse_error&) {
        parsed.insert_or_assign("value", setting.value);
    }
    toml::node* at = &root;
    std::string_view rest = setting.key;
    while (true) {
        const auto dot = rest.find('.');
        const std::string_view part = rest.substr(0, dot);
        if (part.empty()) return bad(fmt::format("'{}' is no key", setting.key));
        if (dot == rest.npos) {
            if (at->as_table() == nullptr) return bad(fmt::format("'{}' is no key", setting.key));
            at->as_table()->insert_or_assign(part, *parsed.get("value"));
            return success();
        }
        rest.remove_prefix(dot + 1);
        if (toml::array* list = at->as_array()) {
            std::size_t index = 0;
            const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), index);
            if (failed != std::errc{} || end != part.data() + part.size() || index >= list->size())
                return bad(fmt::format("'{}': there is no entry {}", setting.key, part));
            at = list->get(index);
        } else if (toml::table* table = at->as_table()) {
            if (table->get(part) == nullptr) table->insert_or_assign(part, toml::table{});
            at = table->get(part);
        } else {
            return bad(fmt::format("'{}' is no key", setting.key));
        }
    }
}

Result<toml::table> settle_table(std::string_view name, std::string_view text, std::span<const Setting> settings) {
    toml::table root;
    try {
        root = toml::parse(text);
    } catch (const toml::parse_error& wrong) {
        return bad(fmt::format("{}:{}: {}", name, wrong.source().begin.line, wrong.description()));
    }
    for (const Setting& setting : settings) {
        EXA_TRY(apply(root, setting));
    }
    return root;
}

}  // namespace

std::span<const std::string_view> fault_kinds() {
    return kind_names;
}

std::span<const std::string_view> effect_names() {
    return effects;
}

std::string_view to_string(FaultKind kind) {
    return kind_names[static_cast<std::size_t>(kind)];
}

Result<std::string> settled_text(std::string_view name, std::string_view text, std::span<const Setting> settings) {
    EXA_TRY(const toml::table root, settle_table(name, text, settings));
    std::ostringstream out;
    out << root << "\n";
    return out.str();
}

Result<Scenario> parse_scenario(std::string_view name, std::string_view text, std::span<const Setting> settings) {
    auto settled = settle_table(name, text, settings);
    if (!settled) return std::move(settled).error();
    const toml::table root = std::move(settled).value();
    Scenario scenario;
    scenario.name = name;
    scenario.hash = hash64(as_bytes(text));
    for (const Setting& setting : settings)
        scenario.hash = hash64(as_bytes(setting.key + "=" + setting.value), scenario.hash);
    Reader reader(root, "");
    reader.text("about", scenario.about);
    reader.time("duration_s", scenario.duration, s, 0.001);
    reader.time("measure_from_s", scenario.measure_from, s);
    reader.integer("seed", scenario.seed, 0, std::numeric_limits<std::int64_t>::max());
    reader.texts("watch", scenario.watch);
    reader.texts("must_happen", scenario.must_happen);
    if (const auto* table = reader.table("cluster")) {
        EXA_TRY(read_cluster(*table, scenario));
    }
    if (const auto* table = reader.table("net")) {
        EXA_TRY(read_net(*table, scenario.cluster.net));
    }
    if (const auto* table = reader.table("membership")) {
        EXA_TRY(read_membership(*table, scenario.cluster.membership));
    }
    if (const auto* table = reader.table("engine")) {
        EXA_TRY(read_engine(*table, scenario.cluster.engine));
    }
    if (const auto* table = reader.table("kv")) {
        EXA_TRY(read_kv(*table, scenario.kv));
        scenario.cluster.kv = scenario.kv.rate > 0;
    }
    if (const auto* table = reader.table("values")) {
        EXA_TRY(read_values(*table, scenario.values));
        scenario.cluster.kv = scenario.cluster.kv || scenario.values.rate > 0;
    }
    if (const auto* table = reader.table("load")) {
        EXA_TRY(read_load(*table, scenario.load));
    }
    if (const auto* table = reader.table("bounds")) {
        EXA_TRY(read_bounds(*table, scenario.bounds));
    }
    if (const auto* list = reader.array("fault")) {
        for (const toml::node& item : *list) {
            if (item.as_table() == nullptr) return bad("fault: accepted is a list of tables");
            EXA_TRY(Fault fault, read_fault(*item.as_table(), scenario.plan.size(), scenario.cluster.peers));
            scenario.plan.push_back(std::move(fault));
        }
    }
    for (const std::string& check : scenario.watch)
        if (std::ranges::find(checks, check) == checks.end())
            reader.fail("watch", fmt::format("a list of {}{}", fmt::join(checks, ", "), did_you_mean(check, checks)));
    for (const std::string& effect : scenario.must_happen) {
        if (std::ranges::find(effects, effect) != effects.end() ||
            std::ranges::find(kind_names, effect) != kind_names.end())
            continue;
        reader.fail("must_happen", fmt::format("a list of kinds of faults and of {}; not '{}'{}",
                                               fmt::join(effects, ", "), effect, did_you_mean(effect, effects)));
    }
    EXA_TRY(reader.finish());
    return scenario;
}

}  // namespace exa::sim
