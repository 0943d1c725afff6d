// The commands of the Redis port: their names, how many arguments they take, and which of these may be a large value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace exa::resp {

enum class CommandId : std::uint8_t {
    auth,
    client,
    command,
    config,
    dbsize,
    del,
    discard,
    echo,
    exec,
    exists,
    expire,
    expireat,
    flushdb,
    get,
    getdel,
    getex,
    hello,
    info,
    keys,
    mget,
    mset,
    multi,
    persist,
    pexpire,
    pexpireat,
    ping,
    psetex,
    pttl,
    quit,
    scan,
    select,
    set,
    setex,
    setnx,
    strlen,
    ttl,
    type,
};

struct Command {
    std::string_view name;  // upper case
    CommandId id;
    // Arguments, the name counted; 0 for `most` means any number.
    std::size_t least;
    std::size_t most;
    std::size_t value_at = 0;  // the argument that is a value; 0: none that is kept as it is read
};

std::string upper(std::string_view text);
std::span<const Command> commands();
// Null: there is none. In any case of letters.
const Command* find_command(std::string_view name);

}  // namespace exa::resp
