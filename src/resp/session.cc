#include "resp/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace exa::resp {

namespace {

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

bool is_client_name(std::string_view name) {
    return std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

constexpr const char* bad_client_name = "ERR Client names cannot contain spaces, newlines or special characters.";

// A browser that was led to this port: what it sends line by line must not be carried out.
bool is_http(std::string_view name) {
    const std::string upper_name = upper(name.substr(0, 8));
    return name.size() <= 8 && (upper_name == "POST" || upper_name == "HOST:");
}

}  // namespace

Session::Session(SessionConfig config, Authenticate authenticate)
    : config_(std::move(config)), authenticate_(std::move(authenticate)) {}

std::optional<Operation> Session::handle(WallTime now, Request request, ReplyWriter& out) {
    const Arguments& arguments = request.arguments;
    if (!arguments.empty() && is_http(arguments[0])) {
        closing_ = true;
        return std::nullopt;
    }
    if (!request.over_limit.empty()) {
        out.error("ERR " + request.over_limit);
        return std::nullopt;
    }
    const Command* command = find_command(arguments[0]);
    if (command == nullptr) {
        if (!is_refused_in_transaction(CommandId::get, out))
            out.error("ERR unknown command '" + arguments[0].substr(0, 64) + "'");
        return std::nullopt;
    }
    if (!check(*command, request, out) || answer_plainly(command->id, arguments, out)) return std::nullopt;
    auto parsed = parse_value_command(*command, now, tenant_, std::move(request));
    if (const auto* error = std::get_if<std::string>(&parsed)) {
        out.error(*error);
        return std::nullopt;
    }
    auto& value_command = std::get<ValueCommand>(parsed);
    answer_ = value_command.answer;
    now_ms_ = now.unix_us / 1000;
    if (value_command.operation.is_refused) {
        // A value that is not kept is one that was evicted at once.
        finish({}, out);
        return std::nullopt;
    }
    return std::move(value_command.operation);
}

bool Session::is_plain_get(const Request& request) const {
    if (!may_store() || in_transaction_ || request.arguments.size() != 2 || !request.over_limit.empty()) return false;
    const Command* command = find_command(request.arguments[0]);
    return command != nullptr && command->id == CommandId::get;
}

bool Session::check(const Command& command, const Request& request, ReplyWriter& out) {
    const std::size_t count = request.arguments.size();
    const CommandId id = command.id;
    if (count < command.least || (command.most != 0 && count > command.most)) {
        out.error("ERR wrong number of arguments for '" + std::string(command.name) + "' command");
        return false;
    }
    const bool open = id == CommandId::auth || id == CommandId::hello || id == CommandId::ping || id == CommandId::quit;
    if (!may_store() && !open) {
        out.error("NOAUTH Authentication required.");
        return false;
    }
    return !is_refused_in_transaction(id, out);
}

bool Session::is_refused_in_transaction(CommandId id, ReplyWriter& out) {
    const bool ends = id == CommandId::exec || id == CommandId::discard;
    if (!in_transaction_ || id == CommandId::quit) return false;
    if (!ends)
        out.error("ERR not carried out: MULTI was refused, and EXEC or DISCARD has not come yet");
    else if (id == CommandId::exec)
        out.error("EXECABORT Transaction discarded because of previous errors.");
    else
        out.simple("OK");
    if (ends) in_transaction_ = false;
    return true;
}

void Session::finish(const Outcome& outcome, ReplyWriter& out) {
    write_answer(answer_, outcome, now_ms_, out);
}

bool Session::answer_plainly(CommandId id, const Arguments& arguments, ReplyWriter& out) {
    switch (id) {
        case CommandId::ping:
            if (arguments.size() == 2)
                out.bulk(arguments[1]);
            else
                out.simple("PONG");
            return true;
        case CommandId::echo:
            out.bulk(arguments[1]);
            return true;
        case CommandId::hello:
            hello(arguments, out);
            return true;
        case CommandId::auth:
            auth(arguments, out);
            return true;
        case CommandId::select:
            if (arguments[1] == "0")
                out.simple("OK");
            else
                out.error("ERR DB index is out of range");
            return true;
        case CommandId::client:
            client(arguments, out);
            return true;
        case CommandId::info:
            info(out);
            return true;
        case CommandId::command:
            if (arguments.size() > 1 && upper(arguments[1]) == "COUNT")
                out.integer(static_cast<std::int64_t>(commands().size()));
            else
                out.array(0);
            return true;
        case CommandId::config:
            config(arguments, out);
            return true;
        case CommandId::multi:
            in_transaction_ = true;
            out.error("ERR MULTI is not supported: values have no transactions here");
            return true;
        case CommandId::exec:
        case CommandId::discard:
            out.error(id == CommandId::exec ? "ERR EXEC without MULTI" : "ERR DISCARD without MULTI");
            return true;
        case CommandId::quit:
            closing_ = true;
            out.simple("OK");
            return true;
        default:
            return false;
    }
}

// Nothing can be asked for or set; tools ask before they begin.
void Session::config(const Arguments& arguments, ReplyWriter& out) {
    if (upper(arguments[1]) == "GET")
        out.map(0);
    else
        out.error("ERR not supported");
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
            if (!is_client_name(name)) {
                out.error(bad_client_name);
                return;
            }
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
        if (!is_client_name(arguments[2])) {
            out.error(bad_client_name);
            return;
        }
        name_ = arguments[2];
        out.simple("OK");
    } else if (verb == "SETINFO" || verb == "NO-EVICT" || verb == "NO-TOUCH") {
        out.simple("OK");
    } else {
        out.error("ERR unknown subcommand '" + verb.substr(0, 64) + "'");
    }
}

void Session::info(ReplyWriter& out) {
    const std::string& software = config_.software;
    const std::size_t name_end = std::min(software.find_first_of("/ "), software.size());
    const std::string version = software.substr(std::min(name_end + 1, software.size()));
    out.bulk("# Server\r\nredis_version:7.0.0\r\nserver_name:" + software.substr(0, name_end) + "\r\nserver_version:" +
             version + "\r\nredis_mode:standalone\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n" +
             "# Cluster\r\ncluster_enabled:0\r\n");
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
