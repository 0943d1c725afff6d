#include "app/attach/backend.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "app/attach/reply.h"

namespace exa::app::attach {

namespace asio = boost::asio;

AttachBackend::AttachBackend(const wire::ReplicaRecord& record, AttachServer server, Duration idle_timeout, Log& log)
    : id_(record.id),
      in_flight_limit_(record.in_flight_limit),
      server_(std::move(server)),
      idle_timeout_(idle_timeout),
      failures_(std::make_shared<FailureReporter>(id_, server_.url, log)) {}

std::shared_ptr<replica::ReplyReader> AttachBackend::open(const wire::Open& open,
                                                          const replica::ReplyContext& context) {
    const bool has_place = in_flight_->fetch_add(1) < in_flight_limit_;
    AttachPermit permit(in_flight_);
    const auto upstream = has_place && !stopped_.load() ? pool(context) : nullptr;
    if (!upstream) {
        ++context.stats->refused_busy;
        return replica::reply_of({wire::End{wire::EndCode::busy, "", load()}});
    }
    auto reply = std::make_shared<AttachReply>(upstream, id_, std::move(permit), context.stats, failures_);
    std::string head = server_.request_head(open);
    std::string body;
    // One buffer is sent by a cheaper system call.
    if (open.body.size() <= AttachServer::joined_bytes_max)
        head += open.body;
    else
        body = open.body;
    reply->start(std::move(head), std::move(body));
    return reply;
}

std::shared_ptr<io::http::UpstreamPool> AttachBackend::pool(const replica::ReplyContext& context) {
    replica::UpstreamPools& all = *context.upstreams;
    const auto found = std::ranges::find(all, id_, &replica::UpstreamPools::value_type::first);
    if (found != all.end()) return found->second;
    const std::lock_guard lock(mutex_);
    if (stopped_) return nullptr;
    io::http::UpstreamConfig config;
    config.host = server_.host;
    config.port = server_.port;
    config.idle_timeout = idle_timeout_;
    config.idle_max = in_flight_limit_;
    auto made = std::make_shared<io::http::UpstreamPool>(context.executor, std::move(config));
    pools_.push_back({context.executor, made});
    all.emplace_back(id_, made);
    return made;
}

wire::LoadReport AttachBackend::load() const {
    wire::LoadReport load{.replica = id_};
    load.in_flight = std::min(in_flight_->load(), in_flight_limit_);
    return load;
}

void AttachBackend::drop_unanswered() {
    const std::lock_guard lock(mutex_);
    for (const ThreadPool& one : pools_)
        asio::post(one.executor, [weak = one.pool] {
            if (const auto pool = weak.lock()) pool->drop_unanswered();
        });
}

void AttachBackend::stop() {
    std::vector<ThreadPool> pools;
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        pools = std::exchange(pools_, {});
    }
    for (const ThreadPool& one : pools)
        asio::post(one.executor, [weak = one.pool] {
            if (const auto pool = weak.lock()) pool->close();
        });
}

}  // namespace exa::app::attach
