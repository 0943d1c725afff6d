// RespService: the Redis port of a peer, with a thread of its own.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "app/kv/service.h"
#include "app/resp/keyspace.h"
#include "base/endpoint.h"
#include "base/result.h"
#include "io/resp/server.h"

namespace exa::app::resp {

class RespService {
  public:
    // As of RespKeyspace. `config.needs_auth`: a client has no tenant, and no keyspace, before AUTH. `kv` (null: none)
    // outlives it, and tells other peers of the values in memory.
    RespService(io::resp::RespConfig config, std::unique_ptr<RespKeyspace> keyspace, kv::KvService* kv,
                exa::resp::Session::Authenticate authenticate, std::function<WallTime()> wall);
    // Closes the connections and stores what waits.
    ~RespService();
    RespService(const RespService&) = delete;
    RespService& operator=(const RespService&) = delete;

    // Once. io::errc::port_taken, io::errc::address_unusable.
    Result<Endpoint> run(const Endpoint& endpoint);

  private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<RespKeyspace> keyspace_;
    kv::KvService* const kv_;
    io::resp::RespServer server_;
    std::jthread thread_;
};

}  // namespace exa::app::resp
