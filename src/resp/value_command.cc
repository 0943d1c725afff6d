#include "resp/value_command.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace exa::resp {

namespace {

using Arguments = std::vector<std::string>;
using Parsed = std::variant<ValueCommand, std::string>;

constexpr std::size_t key_bytes_max = (16 << 10) - 1;
constexpr const char* syntax_error = "ERR syntax error";
constexpr const char* no_integer = "ERR value is not an integer or out of range";

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

struct TimeUnit {
    bool is_seconds = false;
    bool is_absolute = false;
};

// Unix milliseconds of a time to live or to go at, or why it has none.
std::variant<std::int64_t, std::string> expiry_of(const Command& command, TimeUnit unit, const std::string& text,
                                                  WallTime now, bool must_be_positive) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::string invalid = "ERR invalid expire time in '" + lower(command.name) + "' command";
    const auto value = number(text);
    if (!value) return no_integer;
    if (must_be_positive && *value <= 0) return invalid;
    if (unit.is_seconds && (*value > most / 1000 || *value < -(most / 1000))) return invalid;
    const std::int64_t ms = unit.is_seconds ? *value * 1000 : *value;
    const std::int64_t base = unit.is_absolute ? 0 : now.unix_us / 1000;
    if (ms > most - base) return invalid;
    return ms + base;
}

std::optional<TimeUnit> unit_of(std::string_view option) {
    if (option == "EX") return TimeUnit{true, false};
    if (option == "PX") return TimeUnit{false, false};
    if (option == "EXAT") return TimeUnit{true, true};
    if (option == "PXAT") return TimeUnit{false, true};
    return std::nullopt;
}

ValueCommand keys_command(Verb verb, Answer answer, Arguments& arguments, std::size_t most = 0) {
    ValueCommand parsed;
    parsed.operation.verb = verb;
    parsed.answer = answer;
    const auto last = most == 0 ? arguments.end()
                                : arguments.begin() + static_cast<std::ptrdiff_t>(std::min(arguments.size(), 1 + most));
    parsed.operation.keys.assign(std::make_move_iterator(arguments.begin() + 1), std::make_move_iterator(last));
    return parsed;
}

// The value, `at` which place it stands, and the key.
void take_value(Operation& operation, Request& request, std::size_t at) {
    operation.is_refused = request.refused;
    operation.keys.push_back(std::move(request.arguments[1]));
    operation.value = std::move(request.arguments[at]);
    operation.bodies = std::move(request.bodies);
    operation.body_bytes = request.body_bytes;
}

Parsed parse_set(const Command& command, WallTime now, Request& request) {
    Arguments& arguments = request.arguments;
    ValueCommand parsed{{}, Answer::done};
    Operation& operation = parsed.operation;
    operation.verb = Verb::set;
    for (std::size_t i = 3; i < arguments.size(); ++i) {
        const std::string option = upper(arguments[i]);
        const auto unit = unit_of(option);
        if (option == "NX" && !operation.only_if_present) {
            operation.only_if_absent = true;
        } else if (option == "XX" && !operation.only_if_absent) {
            operation.only_if_present = true;
        } else if (option == "GET") {
            operation.wants_old = true;
            parsed.answer = Answer::value;
        } else if (option == "KEEPTTL" && !operation.expires_ms) {
            operation.keeps_expiry = true;
        } else if (unit && i + 1 < arguments.size() && !operation.expires_ms && !operation.keeps_expiry) {
            const auto expires = expiry_of(command, *unit, arguments[++i], now, true);
            if (const auto* error = std::get_if<std::string>(&expires)) return *error;
            operation.expires_ms = std::get<std::int64_t>(expires);
        } else {
            return syntax_error;
        }
    }
    take_value(operation, request, 2);
    return parsed;
}

Parsed parse_set_expiring(const Command& command, WallTime now, Request& request) {
    ValueCommand parsed{{}, Answer::done};
    parsed.operation.verb = Verb::set;
    const TimeUnit unit{command.id == CommandId::setex, false};
    const auto expires = expiry_of(command, unit, request.arguments[2], now, true);
    if (const auto* error = std::get_if<std::string>(&expires)) return *error;
    parsed.operation.expires_ms = std::get<std::int64_t>(expires);
    take_value(parsed.operation, request, 3);
    return parsed;
}

Parsed parse_set_if_absent(Request& request) {
    ValueCommand parsed{{}, Answer::flag};
    parsed.operation.verb = Verb::set;
    parsed.operation.only_if_absent = true;
    take_value(parsed.operation, request, 2);
    return parsed;
}

Parsed parse_set_many(Arguments& arguments) {
    if (arguments.size() % 2 == 0) return "ERR wrong number of arguments for 'mset' command";
    ValueCommand parsed{{}, Answer::ok};
    parsed.operation.verb = Verb::set_many;
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        parsed.operation.keys.push_back(std::move(arguments[i]));
        parsed.operation.values.push_back(std::move(arguments[i + 1]));
    }
    return parsed;
}

Parsed parse_expire(const Command& command, WallTime now, Arguments& arguments) {
    ValueCommand parsed = keys_command(Verb::expire, Answer::flag, arguments, 1);
    const TimeUnit unit{command.id == CommandId::expire || command.id == CommandId::expireat,
                        command.id == CommandId::expireat || command.id == CommandId::pexpireat};
    const auto expires = expiry_of(command, unit, arguments[2], now, false);
    if (const auto* error = std::get_if<std::string>(&expires)) return *error;
    parsed.operation.expires_ms = std::get<std::int64_t>(expires);
    ExpiryRule& rule = parsed.operation.expiry_rule;
    for (std::size_t i = 3; i < arguments.size(); ++i) {
        const std::string option = upper(arguments[i]);
        if (option == "NX")
            rule.only_if_none = true;
        else if (option == "XX")
            rule.only_if_any = true;
        else if (option == "GT")
            rule.only_if_later = true;
        else if (option == "LT")
            rule.only_if_sooner = true;
        else
            return "ERR Unsupported option " + arguments[i].substr(0, 64);
    }
    if (rule.only_if_none && (rule.only_if_any || rule.only_if_later || rule.only_if_sooner))
        return "ERR NX and XX, GT or LT options at the same time are not compatible";
    if (rule.only_if_later && rule.only_if_sooner) return "ERR GT and LT options at the same time are not compatible";
    return parsed;
}

Parsed parse_get_expiring(const Command& command, WallTime now, Arguments& arguments) {
    ValueCommand parsed = keys_command(arguments.size() == 2 ? Verb::get : Verb::expire, Answer::value, arguments, 1);
    if (arguments.size() == 2) return parsed;
    parsed.operation.wants_old = true;
    const std::string option = upper(arguments[2]);
    const auto unit = unit_of(option);
    if (option == "PERSIST" && arguments.size() == 3) return parsed;
    if (!unit || arguments.size() != 4) return syntax_error;
    const auto expires = expiry_of(command, *unit, arguments[3], now, true);
    if (const auto* error = std::get_if<std::string>(&expires)) return *error;
    parsed.operation.expires_ms = std::get<std::int64_t>(expires);
    return parsed;
}

Parsed parse_scan(const Arguments& arguments) {
    ValueCommand parsed{{}, Answer::page};
    Operation& operation = parsed.operation;
    operation.verb = Verb::scan;
    const std::string& cursor = arguments[1];
    const auto [end, errc] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), operation.cursor);
    if (errc != std::errc{} || end != cursor.data() + cursor.size()) return "ERR invalid cursor";
    for (std::size_t i = 2; i < arguments.size(); i += 2) {
        const std::string option = upper(arguments[i]);
        if (i + 1 == arguments.size()) return syntax_error;
        if (option == "MATCH") {
            operation.pattern = arguments[i + 1];
        } else if (option == "COUNT") {
            const auto count = number(arguments[i + 1]);
            if (!count) return no_integer;
            if (*count <= 0) return syntax_error;
            operation.count = static_cast<std::uint32_t>(std::min<std::int64_t>(*count, 1000));
        } else if (option == "TYPE") {
            // There are strings only; as with Redis, a type that does not exist is one that nothing has.
            operation.none = upper(arguments[i + 1]) != "STRING";
        } else {
            return syntax_error;
        }
    }
    return parsed;
}

Parsed parse_keys(Arguments& arguments) {
    ValueCommand parsed{{}, Answer::keys};
    parsed.operation.verb = Verb::list;
    parsed.operation.pattern = std::move(arguments[1]);
    return parsed;
}

Parsed parse_flush(const Arguments& arguments) {
    if (arguments.size() == 2 && upper(arguments[1]) != "ASYNC" && upper(arguments[1]) != "SYNC") return syntax_error;
    ValueCommand parsed{{}, Answer::ok};
    parsed.operation.verb = Verb::clear;
    return parsed;
}

Parsed parse(const Command& command, WallTime now, Request& request) {
    Arguments& arguments = request.arguments;
    switch (command.id) {
        case CommandId::set:
            return parse_set(command, now, request);
        case CommandId::setex:
        case CommandId::psetex:
            return parse_set_expiring(command, now, request);
        case CommandId::setnx:
            return parse_set_if_absent(request);
        case CommandId::mset:
            return parse_set_many(arguments);
        case CommandId::get:
            return keys_command(Verb::get, Answer::value, arguments);
        case CommandId::mget:
            return keys_command(Verb::get, Answer::values, arguments);
        case CommandId::getdel:
            return keys_command(Verb::take, Answer::value, arguments);
        case CommandId::getex:
            return parse_get_expiring(command, now, arguments);
        case CommandId::exists:
            return keys_command(Verb::exists, Answer::number, arguments);
        case CommandId::del:
            return keys_command(Verb::remove, Answer::number, arguments);
        case CommandId::strlen:
            return keys_command(Verb::length, Answer::number, arguments);
        case CommandId::type:
            return keys_command(Verb::exists, Answer::type, arguments);
        case CommandId::ttl:
            return keys_command(Verb::expiry, Answer::seconds, arguments);
        case CommandId::pttl:
            return keys_command(Verb::expiry, Answer::milliseconds, arguments);
        case CommandId::expire:
        case CommandId::expireat:
        case CommandId::pexpire:
        case CommandId::pexpireat:
            return parse_expire(command, now, arguments);
        case CommandId::persist: {
            ValueCommand parsed = keys_command(Verb::expire, Answer::flag, arguments);
            parsed.operation.expiry_rule.only_if_any = true;
            return parsed;
        }
        case CommandId::scan:
            return parse_scan(arguments);
        case CommandId::keys:
            return parse_keys(arguments);
        case CommandId::dbsize:
            return keys_command(Verb::count, Answer::number, arguments);
        case CommandId::flushdb:
            return parse_flush(arguments);
        default:
            return "ERR unknown command '" + std::string(command.name) + "'";
    }
}

void write_value(const std::vector<std::optional<Value>>& values, ReplyWriter& out) {
    if (!values.empty() && values[0])
        out.bulk(*values[0]);
    else
        out.null();
}

void write_keys(const std::vector<std::string>& keys, ReplyWriter& out) {
    out.array(keys.size());
    for (const std::string& key : keys) out.bulk(key);
}

// As Redis: of seconds, rounded to the next.
void write_time_to_live(const Outcome& outcome, std::int64_t now_ms, bool in_seconds, ReplyWriter& out) {
    if (!outcome.done) return out.integer(-2);
    if (outcome.number == 0) return out.integer(-1);
    const std::int64_t left_ms = std::max<std::int64_t>(outcome.number - now_ms, 0);
    out.integer(in_seconds ? left_ms / 1000 + (left_ms % 1000 >= 500 ? 1 : 0) : left_ms);
}

}  // namespace

std::variant<ValueCommand, std::string> parse_value_command(const Command& command, WallTime now,
                                                            const std::string& tenant, Request request) {
    Parsed parsed = parse(command, now, request);
    auto* value_command = std::get_if<ValueCommand>(&parsed);
    if (value_command == nullptr) return parsed;
    Operation& operation = value_command->operation;
    operation.tenant = tenant;
    const bool sets = operation.verb == Verb::set || operation.verb == Verb::set_many;
    if (sets && std::ranges::any_of(operation.keys, [](const auto& key) { return key.size() > key_bytes_max; }))
        return "ERR a key of 16 KiB or more";
    return parsed;
}

void write_answer(Answer answer, const Outcome& outcome, std::int64_t now_ms, ReplyWriter& out) {
    if (!outcome.error.empty()) return out.error(outcome.error);
    switch (answer) {
        case Answer::value:
            return write_value(outcome.values, out);
        case Answer::values:
            out.array(outcome.values.size());
            for (const auto& one : outcome.values) write_value({one}, out);
            return;
        case Answer::done:
            return outcome.done ? out.simple("OK") : out.null();
        case Answer::ok:
            return out.simple("OK");
        case Answer::flag:
            return out.integer(outcome.done ? 1 : 0);
        case Answer::number:
            return out.integer(outcome.number);
        case Answer::seconds:
        case Answer::milliseconds:
            return write_time_to_live(outcome, now_ms, answer == Answer::seconds, out);
        case Answer::type:
            return out.simple(outcome.number > 0 ? "string" : "none");
        case Answer::page:
            out.array(2);
            out.bulk(std::to_string(outcome.cursor));
            return write_keys(outcome.keys, out);
        case Answer::keys:
            return write_keys(outcome.keys, out);
    }
}

}  // namespace exa::resp
