// The commands of the Redis port that need the keyspace: from their arguments to what the keyspace does, and from its
// outcome to the answer.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/time.h"
#include "resp/command_table.h"
#include "resp/operation.h"
#include "resp/reply.h"
#include "resp/request.h"

namespace exa::resp {

// What the answer shows of an outcome.
enum class Answer : std::uint8_t {
    value,         // the first, or null
    values,        // all, as an array
    done,          // OK, or null if it was not done
    ok,            // OK
    flag,          // 1 or 0: whether it was done
    number,        // Outcome::number
    seconds,       // of time to live; -1: for good, -2: no such key
    milliseconds,  // the same
    type,          // of the value
    page,          // cursor and keys
    keys,
};

struct ValueCommand {
    Operation operation;
    Answer answer = Answer::value;
};

// A command that is neither connection-level nor of a wrong number of arguments, by a client of `tenant`. The text is
// an error, with its kind first. `now` is what times to live count from.
std::variant<ValueCommand, std::string> parse_value_command(const Command& command, WallTime now,
                                                            const std::string& tenant, Request request);

// `now_ms`: Unix time.
void write_answer(Answer answer, const Outcome& outcome, std::int64_t now_ms, ReplyWriter& out);

}  // namespace exa::resp
