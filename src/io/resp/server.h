// RespServer: the Redis protocol on TCP, in front of a keyspace.
//
// A connection takes one request after the other; what several that came together are answered leaves in one write,
// large values from where they are kept. A client that does not read stands still by itself. Everything a stranger can
// send has a limit: connections, arguments (resp::ParserLimits), memory of values (the keyspace's).
//
// Threading: a server belongs to the one thread that runs its io_context; the keyspace answers from any.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/endpoint.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "resp/operation.h"
#include "resp/request_parser.h"
#include "resp/session.h"

namespace exa::io::resp {

struct RespConfig {
    std::string software;
    bool needs_auth = false;
    std::size_t connections_max = 4096;  // more are closed at once
    // Answers of one connection that may wait for its socket before its next request is looked at.
    std::uint64_t reply_bytes_max = 1 << 20;
    exa::resp::ParserLimits limits;
};

struct RespStats {
    std::uint64_t connections_now = 0;
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  // connections
};

class RespServer {
  public:
    // Context and keyspace outlive the server, and every answer that the keyspace owes.
    RespServer(boost::asio::io_context& context, RespConfig config, exa::resp::Keyspace& keyspace,
               exa::resp::Session::Authenticate authenticate, std::function<WallTime()> wall);
    ~RespServer();
    RespServer(const RespServer&) = delete;
    RespServer& operator=(const RespServer&) = delete;

    // Begins to listen. errc::port_taken, errc::address_unusable.
    Result<Endpoint> listen(const Endpoint& endpoint);
    // No more connections, and those that are there are closed. On the server's thread.
    void stop();
    const RespStats& stats() const;

  private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace exa::io::resp
