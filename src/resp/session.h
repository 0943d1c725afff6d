// Session: one connection of a client of the Redis protocol, without its socket: what the commands mean.
//
// handle() takes a request and either answers it or says what a keyspace has to do first; finish() then answers. One
// request at a time, in order. There is one database; a tenant, which AUTH names, has a keyspace of its own. There are
// no transactions: MULTI is an error, and so is all that follows it up to EXEC or DISCARD, so that a client that sends
// a whole transaction at once has written nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resp/command_table.h"
#include "resp/operation.h"
#include "resp/reply.h"
#include "resp/request.h"
#include "resp/value_command.h"

namespace exa::resp {

struct SessionConfig {
    std::string software;     // "exaserve 0.1.0"
    std::uint64_t id = 0;     // of the connection
    bool needs_auth = false;  // nothing but AUTH, HELLO, PING and QUIT before AUTH
};

class Session {
  public:
    // The tenant of a password, if it is anybody's.
    using Authenticate = std::function<std::optional<std::string>(std::string_view user, std::string_view password)>;

    Session(SessionConfig config, Authenticate authenticate);

    // Nothing: `out` has the answer. `now` is what expiry times count from.
    std::optional<Operation> handle(WallTime now, Request request, ReplyWriter& out);
    // Whether handle() only looks one value up for it, so that several in a row may be looked up together: the outcome
    // of one operation of all their keys is then finished one by one.
    bool is_plain_get(const Request& request) const;
    // The answer to what handle() asked for last.
    void finish(const Outcome& outcome, ReplyWriter& out);

    // The client has said goodbye, or is a browser: close when the answer is out.
    bool closing() const { return closing_; }
    const std::string& tenant() const { return tenant_; }
    bool may_store() const { return !config_.needs_auth || authenticated_; }

  private:
    using Arguments = std::vector<std::string>;

    // Whether the command may go on; false: it is answered.
    bool check(const Command& command, const Request& request, ReplyWriter& out);
    bool is_refused_in_transaction(CommandId id, ReplyWriter& out);
    bool answer_plainly(CommandId id, const Arguments& arguments, ReplyWriter& out);
    void config(const Arguments& arguments, ReplyWriter& out);
    void hello(const Arguments& arguments, ReplyWriter& out);
    void auth(const Arguments& arguments, ReplyWriter& out);
    void client(const Arguments& arguments, ReplyWriter& out);
    void info(ReplyWriter& out);

    const SessionConfig config_;
    const Authenticate authenticate_;
    std::string tenant_;
    std::string name_;
    bool authenticated_ = false;
    bool closing_ = false;
    bool in_transaction_ = false;  // a refused one
    // What finish() answers.
    Answer answer_ = Answer::value;
    std::int64_t now_ms_ = 0;
};

// Redis's patterns: ? and * and sets in brackets, with \ before what is meant itself.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace exa::resp
