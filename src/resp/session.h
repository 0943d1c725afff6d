// Session: one connection of a client of the Redis protocol, without its socket: what the commands mean.
//
// handle() takes a request and either answers it or says what a keyspace has to do first; finish() then answers. One
// request at a time, in order. There is one database; a tenant, which AUTH names, has a keyspace of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "resp/operation.h"
#include "resp/reply.h"
#include "resp/request.h"

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
    // The answer to what handle() asked for last.
    void finish(const Outcome& outcome, ReplyWriter& out);

    // The client has said goodbye: close when the answer is out.
    bool closing() const { return closing_; }
    const std::string& tenant() const { return tenant_; }
    bool may_store() const { return !config_.needs_auth || authenticated_; }

  private:
    using Arguments = std::vector<std::string>;

    std::optional<Operation> get(Arguments& arguments, ReplyWriter& out);
    std::optional<Operation> set(WallTime now, Request& request, ReplyWriter& out);
    std::optional<Operation> count_keys(Verb verb, Arguments& arguments);
    std::optional<Operation> scan(const Arguments& arguments, ReplyWriter& out);
    bool answer_plainly(std::string_view name, const Arguments& arguments, ReplyWriter& out);
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
    // What finish() answers.
    Verb verb_ = Verb::get;
    bool many_ = false;       // of get: an array
    bool wants_old_ = false;  // of set
};

// Redis's patterns: ? and * and sets in brackets, with \ before what is meant itself.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace exa::resp
