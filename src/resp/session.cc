#include "resp/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace exa::resp {

namespace {

// Commands that take a number of arguments, their own name counted; 0 for `most` means any.
struct Arity {
    std::string_view name;
    std::size_t least;
    std::size_t most;
};

constexpr std::array arities = {
    Arity{"GET", 2, 2},     Arity{"SET", 3, 0},    Arity{"EXISTS", 2, 0}, Arity{"DEL", 2, 0},    Arity{"UNLINK", 2, 0},
    Arity{"MGET", 2, 0},    Arity{"STRLEN", 2, 2}, Arity{"SCAN", 2, 0},   Arity{"PING", 1, 2},   Arity{"ECHO", 2, 2},
    Arity{"HELLO", 1, 0},   Arity{"AUTH", 2, 3},   Arity{"SELECT", 2, 2}, Arity{"CLIENT", 2, 0}, Arity{"INFO", 1, 0},
    Arity{"COMMAND", 1, 0}, Arity{"QUIT", 1, 0},   Arity{"CONFIG", 2, 0},
};

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Unix milliseconds of "EX 5" and its like; nothing when it cannot be.
std::optional<std::int64_t> expiry(std::string_view unit, std::string_view text, WallTime now) {
    constexpr std::int64_t most = 1ll << 52;
    const auto value = number(text);
    if (!value || *value <= 0 || *value > most / 1000) return std::nullopt;
    const std::int64_t ms = unit.starts_with("EX") ? *value * 1000 : *value;
    return unit.ends_with("AT") ? ms : now.unix_us / 1000 + ms;
}

}  // namespace

Session::Session(SessionConfig config, Authenticate authenticate)
    : config_(std::move(config)), authenticate_(std::move(authenticate)) {}

std::optional<Operation> Session::handle(WallTime now, Request request, ReplyWriter& out) {
    Arguments& arguments = request.arguments;
    const std::string name = upper(arguments[0]);
    const auto arity = std::ranges::find(arities, name, &Arity::name);
    if (arity == arities.end()) {
        out.error("ERR unknown command '" + arguments[0].substr(0, 64) + "'");
        return std::nullopt;
    }
    if (arguments.size() < arity->least || (arity->most != 0 && arguments.size() > arity->most)) {
        out.error("ERR wrong number of arguments for '" + name + "'");
        return std::nullopt;
    }
    const bool open = name == "AUTH" || name == "HELLO" || name == "PING" || name == "QUIT";
    if (!may_store() && !open) {
        out.error("NOAUTH Authentication required.");
        return std::nullopt;
    }
    if (name == "SET") return set(now, request, out);
    if (request.body_bytes != 0) {
        out.error("ERR too large an argument for '" + name + "'");
        return std::nullopt;
    }
    if (answer_plainly(name, arguments, out)) return std::nullopt;
    if (name == "GET" || name == "MGET") return get(arguments, out);
    if (name == "EXISTS") return count_keys(Verb::exists, arguments);
    if (name == "DEL" || name == "UNLINK") return count_keys(Verb::remove, arguments);
    if (name == "STRLEN") return count_keys(Verb::length, arguments);
    return scan(arguments, out);
}

std::optional<Operation> Session::get(Arguments& arguments, ReplyWriter&) {
    many_ = upper(arguments[0]) == "MGET";
    return count_keys(Verb::get, arguments);
}

std::optional<Operation> Session::count_keys(Verb verb, Arguments& arguments) {
    Operation operation;
    operation.verb = verb_ = verb;
    operation.tenant = tenant_;
    operation.keys.assign(std::make_move_iterator(arguments.begin() + 1), std::make_move_iterator(arguments.end()));
    return operation;
}

std::optional<Operation> Session::set(WallTime now, Request& request, ReplyWriter& out) {
    Arguments& arguments = request.arguments;
    Operation operation;
    operation.verb = verb_ = Verb::set;
    operation.tenant = tenant_;
    for (std::size_t i = 3; i < arguments.size(); ++i) {
        const std::string option = upper(arguments[i]);
        if (option == "NX" && !operation.only_if_present) {
            operation.only_if_absent = true;
        } else if (option == "XX" && !operation.only_if_absent) {
            operation.only_if_present = true;
        } else if (option == "GET") {
            operation.wants_old = true;
        } else if ((option == "EX" || option == "PX" || option == "EXAT" || option == "PXAT") &&
                   i + 1 < arguments.size() && !operation.expires_ms) {
            operation.expires_ms = expiry(option, arguments[++i], now);
            if (!operation.expires_ms) {
                out.error("ERR invalid expire time in 'set' command");
                return std::nullopt;
            }
        } else {
            out.error("ERR syntax error");
            return std::nullopt;
        }
    }
    // The large argument was another than the value.
    if (request.body_bytes != 0 && !arguments[2].empty()) {
        out.error("ERR too large an argument for 'SET'");
        return std::nullopt;
    }
    wants_old_ = operation.wants_old;
    if (request.refused) {
        // A value that is not kept is one that was evicted at once.
        if (wants_old_)
            out.null();
        else
            out.simple("OK");
        return std::nullopt;
    }
    operation.keys.push_back(std::move(arguments[1]));
    operation.value = std::move(arguments[2]);
    operation.bodies = std::move(request.bodies);
    operation.body_bytes = request.body_bytes;
    return operation;
}

std::optional<Operation> Session::scan(const Arguments& arguments, ReplyWriter& out) {
    Operation operation;
    operation.verb = verb_ = Verb::scan;
    operation.tenant = tenant_;
    const std::string& cursor = arguments[1];
    const auto [end, errc] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), operation.cursor);
    if (errc != std::errc{} || end != cursor.data() + cursor.size()) {
        out.error("ERR invalid cursor");
        return std::nullopt;
    }
    for (std::size_t i = 2; i < arguments.size(); i += 2) {
        const std::string option = upper(arguments[i]);
        const auto count = i + 1 < arguments.size() ? number(arguments[i + 1]) : std::nullopt;
        if (option == "MATCH" && i + 1 < arguments.size()) {
            operation.pattern = arguments[i + 1];
        } else if (option == "COUNT" && count && *count > 0) {
            operation.count = static_cast<std::uint32_t>(std::min<std::int64_t>(*count, 1000));
        } else if (option == "TYPE" && i + 1 < arguments.size()) {
            // There are strings only; as with Redis, a type that does not exist is one that nothing has.
            operation.none = upper(arguments[i + 1]) != "STRING";
        } else {
            out.error("ERR syntax error");
            return std::nullopt;
        }
    }
    return operation;
}

void Session::finish(const Outcome& outcome, ReplyWriter& out) {
    const auto value = [&](const std::optional<Value>& one) {
        if (one)
            out.bulk(*one);
        else
            out.null();
    };
    switch (verb_) {
        case Verb::get:
            if (many_) out.array(outcome.values.size());
            for (const auto& one : outcome.values) value(one);
            return;
        case Verb::set:
            if (wants_old_)
                value(outcome.values.empty() ? std::nullopt : outcome.values[0]);
            else if (outcome.done)
                out.simple("OK");
            else
                out.null();
            return;
        case Verb::exists:
        case Verb::remove:
        case Verb::length:
            out.integer(outcome.number);
            return;
        case Verb::scan:
            out.array(2);
            out.bulk(std::to_string(outcome.cursor));
            out.array(outcome.keys.size());
            for (const std::string& key : outcome.keys) out.bulk(key);
            return;
    }
}

bool Session::answer_plainly(std::string_view name, const Arguments& arguments, ReplyWriter& out) {
    if (name == "PING") {
        if (arguments.size() == 2)
            out.bulk(arguments[1]);
        else
            out.simple("PONG");
    } else if (name == "ECHO") {
        out.bulk(arguments[1]);
    } else if (name == "HELLO") {
        hello(arguments, out);
    } else if (name == "AUTH") {
        auth(arguments, out);
    } else if (name == "SELECT") {
        if (arguments[1] == "0")
            out.simple("OK");
        else
            out.error("ERR DB index is out of range");
    } else if (name == "CLIENT") {
        client(arguments, out);
    } else if (name == "INFO") {
        info(out);
    } else if (name == "COMMAND") {
        if (arguments.size() > 1 && upper(arguments[1]) == "COUNT")
            out.integer(static_cast<std::int64_t>(arities.size()));
        else
            out.array(0);
    } else if (name == "CONFIG") {
        // Nothing can be asked for or set; tools ask before they begin.
        if (upper(arguments[1]) == "GET")
            out.map(0);
        else
            out.error("ERR not supported");
    } else if (name == "QUIT") {
        closing_ = true;
        out.simple("OK");
    } else {
        return false;
    }
    return true;
}

void Session::hello(const Arguments& arguments, ReplyWriter& out) {
    int version = out.version();
    std::string name = name_;
    std::size_t i = 1;
    if (i < arguments.size()) {
        const auto asked = number(arguments[i++]);
        if (!asked || (*asked != 2 && *asked != 3)) {
            out.error("NOPROTO unsupported protocol version");
            return;
        }
        version = static_cast<int>(*asked);
    }
    while (i < arguments.size()) {
        const std::string option = upper(arguments[i]);
        if (option == "AUTH" && i + 2 < arguments.size()) {
            const auto tenant = authenticate_(arguments[i + 1], arguments[i + 2]);
            if (!tenant) {
                out.error("WRONGPASS invalid username-password pair or user is disabled.");
                return;
            }
            tenant_ = *tenant;
            authenticated_ = true;
            i += 3;
        } else if (option == "SETNAME" && i + 1 < arguments.size()) {
            name = arguments[i + 1];
            i += 2;
        } else {
            out.error("ERR Syntax error in HELLO option '" + option.substr(0, 64) + "'");
            return;
        }
    }
    if (!may_store()) {
        out.error("NOAUTH HELLO must be called with the client already authenticated, or with AUTH");
        return;
    }
    name_ = name;
    out.set_version(version);
    out.map(7);
    out.bulk("server");
    out.bulk("redis");
    out.bulk("version");
    out.bulk("7.0.0");
    out.bulk("proto");
    out.integer(version);
    out.bulk("id");
    out.integer(static_cast<std::int64_t>(config_.id));
    out.bulk("mode");
    out.bulk("standalone");
    out.bulk("role");
    out.bulk("master");
    out.bulk("modules");
    out.array(0);
}

void Session::auth(const Arguments& arguments, ReplyWriter& out) {
    const bool named = arguments.size() == 3;
    const auto tenant = authenticate_(named ? arguments[1] : "default", arguments[named ? 2 : 1]);
    if (!tenant) {
        out.error("WRONGPASS invalid username-password pair or user is disabled.");
        return;
    }
    tenant_ = *tenant;
    authenticated_ = true;
    out.simple("OK");
}

void Session::client(const Arguments& arguments, ReplyWriter& out) {
    const std::string verb = upper(arguments[1]);
    if (verb == "ID") {
        out.integer(static_cast<std::int64_t>(config_.id));
    } else if (verb == "GETNAME") {
        out.bulk(name_);
    } else if (verb == "SETNAME" && arguments.size() == 3) {
        name_ = arguments[2];
        out.simple("OK");
    } else if (verb == "SETINFO" || verb == "NO-EVICT" || verb == "NO-TOUCH") {
        out.simple("OK");
    } else {
        out.error("ERR unknown subcommand '" + verb.substr(0, 64) + "'");
    }
}

void Session::info(ReplyWriter& out) {
    out.bulk("# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nserver_name:" + config_.software +
             "\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Cluster\r\ncluster_enabled:0\r\n");
}

bool matches(std::string_view pattern, std::string_view text) {
    // The last star takes one more byte whenever what follows it does not fit: linear in memory, never exponential.
    std::size_t p = 0, t = 0;
    std::optional<std::pair<std::size_t, std::size_t>> star;
    while (t < text.size()) {
        bool fits = false;
        std::size_t next = p;
        if (p < pattern.size()) {
            const char c = pattern[p];
            if (c == '*') {
                star = {++p, t};
                continue;
            }
            if (c == '[' && pattern.find(']', p + 1) != std::string_view::npos) {
                std::size_t i = p + 1;
                const bool inverted = pattern[i] == '^';
                if (inverted) ++i;
                bool among = false;
                for (; i < pattern.size() && pattern[i] != ']'; ++i) {
                    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
                    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
                        among = among || (pattern[i] <= text[t] && text[t] <= pattern[i + 2]);
                        i += 2;
                    } else {
                        among = among || pattern[i] == text[t];
                    }
                }
                fits = among != inverted;
                next = i + 1;
            } else {
                if (c == '\\' && p + 1 < pattern.size()) ++p;
                fits = c == '?' || pattern[p] == text[t];
                next = p + 1;
            }
        }
        if (fits) {
            p = next;
            ++t;
        } else if (star) {
            p = star->first;
            t = ++star->second;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p >= pattern.size();
}

}  // namespace exa::resp
