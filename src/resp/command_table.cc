#include "resp/command_table.h"

#include <algorithm>
#include <array>

namespace exa::resp {

namespace {

// In the order of their names.
constexpr std::array table = {
    Command{"AUTH", CommandId::auth, 2, 3},           Command{"CLIENT", CommandId::client, 2, 0},
    Command{"COMMAND", CommandId::command, 1, 0},     Command{"CONFIG", CommandId::config, 2, 0},
    Command{"DBSIZE", CommandId::dbsize, 1, 1},       Command{"DEL", CommandId::del, 2, 0},
    Command{"DISCARD", CommandId::discard, 1, 1},     Command{"ECHO", CommandId::echo, 2, 2},
    Command{"EXEC", CommandId::exec, 1, 1},           Command{"EXISTS", CommandId::exists, 2, 0},
    Command{"EXPIRE", CommandId::expire, 3, 0},       Command{"EXPIREAT", CommandId::expireat, 3, 0},
    Command{"FLUSHDB", CommandId::flushdb, 1, 2},     Command{"GET", CommandId::get, 2, 2},
    Command{"GETDEL", CommandId::getdel, 2, 2},       Command{"GETEX", CommandId::getex, 2, 0},
    Command{"HELLO", CommandId::hello, 1, 0},         Command{"INFO", CommandId::info, 1, 0},
    Command{"KEYS", CommandId::keys, 2, 2},           Command{"MGET", CommandId::mget, 2, 0},
    Command{"MSET", CommandId::mset, 3, 0},           Command{"MULTI", CommandId::multi, 1, 1},
    Command{"PERSIST", CommandId::persist, 2, 2},     Command{"PEXPIRE", CommandId::pexpire, 3, 0},
    Command{"PEXPIREAT", CommandId::pexpireat, 3, 0}, Command{"PING", CommandId::ping, 1, 2},
    Command{"PSETEX", CommandId::psetex, 4, 4, 3},    Command{"PTTL", CommandId::pttl, 2, 2},
    Command{"QUIT", CommandId::quit, 1, 0},           Command{"SCAN", CommandId::scan, 2, 0},
    Command{"SELECT", CommandId::select, 2, 2},       Command{"SET", CommandId::set, 3, 0, 2},
    Command{"SETEX", CommandId::setex, 4, 4, 3},      Command{"SETNX", CommandId::setnx, 3, 3, 2},
    Command{"STRLEN", CommandId::strlen, 2, 2},       Command{"TTL", CommandId::ttl, 2, 2},
    Command{"TYPE", CommandId::type, 2, 2},           Command{"UNLINK", CommandId::del, 2, 0},
};
static_assert(std::ranges::is_sorted(table, {}, &Command::name));

}  // namespace

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

std::span<const Command> commands() {
    return table;
}

const Command* find_command(std::string_view name) {
    const std::string wanted = upper(name.substr(0, 16));
    if (name.size() > wanted.size()) return nullptr;
    const auto found = std::ranges::lower_bound(table, wanted, {}, &Command::name);
    return found != table.end() && found->name == wanted ? &*found : nullptr;
}

}  // namespace exa::resp
