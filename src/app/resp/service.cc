#include "app/resp/service.h"

#include <utility>

namespace exa::app::resp {

RespService::RespService(io::resp::RespConfig config, std::unique_ptr<RespKeyspace> keyspace, kv::KvService* kv,
                         exa::resp::Session::Authenticate authenticate, std::function<WallTime()> wall)
    : work_(boost::asio::make_work_guard(context_)),
      keyspace_(std::move(keyspace)),
      kv_(kv),
      server_(context_, std::move(config), *keyspace_, std::move(authenticate), std::move(wall)) {
    if (kv_ != nullptr) kv_->set_values(keyspace_.get());
}

RespService::~RespService() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    if (kv_ != nullptr) kv_->set_values(nullptr);
    // What it still owes is posted to the context, which outlives it and runs no more.
    keyspace_.reset();
}

Result<Endpoint> RespService::run(const Endpoint& endpoint) {
    EXA_TRY(const Endpoint bound, server_.listen(endpoint));
    thread_ = std::jthread([this] { context_.run(); });
    return bound;
}

}  // namespace exa::app::resp
