#include "app/data_plane.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <thread>

#include "app/coalescer.h"
#include "app/metrics.h"
#include "base/hash.h"
#include "io/link/pool.h"
#include "io/link/server.h"
#include "io/loop_hooks.h"
#include "io/random.h"

namespace exa::app {

namespace asio = boost::asio;

namespace {

// Run between two looks at what they made ready.
constexpr int handlers_max = 256;

}  // namespace

struct DataPlane::State {
    State(const DataPlaneShared& parts, std::size_t number)
        : shared(parts),
          thread_number(number),
          dispatcher(parts.router, parts.tokens, Rng(hash64(parts.identity.peer.value, io::random_u64()))),
          links(context, link_config(parts), parts.identity, parts.log, parts.encryption),
          link_server(context, link_config(parts), parts.identity, parts.log, parts.encryption),
          coalescer(parts.stream_coalesce),
          view(parts.view),
          receiver(parts.replicas, parts.kv, ready, context.get_executor()),
          ingress(parts.ingress, parts.authorizer, dispatcher, links, receiver, view, parts.clock, ready,
                  context.get_executor()),
          gateway(ingress, parts.authorizer, parts.cors, dispatcher, view, parts.clock, context.get_executor(), deps()),
          http(
              context, http_config(parts),
              [this](io::http::HttpRequest request, std::shared_ptr<io::http::HttpExchange> exchange) {
                  gateway.handle(std::move(request), std::move(exchange));
              },
              parts.log) {}

    static io::link::LinkConfig link_config(const DataPlaneShared& parts) {
        io::link::LinkConfig config;
        config.reuse_port = parts.reuse_port;
        return config;
    }

    static io::http::HttpConfig http_config(const DataPlaneShared& parts) {
        io::http::HttpConfig config = parts.http;
        config.reuse_port = parts.reuse_port;
        return config;
    }

    gateway::GatewayDeps deps() {
        gateway::GatewayDeps deps = shared.gateway;
        deps.status = [this] {
            store_totals();
            return shared.gateway.status();
        };
        deps.metrics = [this] {
            store_stats();
            const admin::PeerStatus status = shared.gateway.status();
            return metrics_text({.peer = shared.identity.name,
                                 .control = *view.load(),
                                 .replicas = *shared.replicas,
                                 .threads = shared.stats.all(),
                                 .kv = shared.gateway.kv->stats(),
                                 .api_keys_unused = !status.api_keys_failure.value_or("").empty(),
                                 .certificate_unused = status.https && !status.https->failure.empty()});
        };
        return deps;
    }

    // Reads what there is, has it passed on, and sees that it leaves; then again.
    void loop() {
        using Clock = std::chrono::steady_clock;
        const auto micros = [](Clock::duration time) { return std::chrono::duration_cast<Duration>(time); };
        while (!context.stopped()) {
            const auto idle_since = Clock::now();
            if (ready.empty()) context.run_one();
            const auto begun = Clock::now();
            run_ready();
            ready.run();
            loop_hooks.end_iteration();
            // What was queued for links leaves with the next iteration, which does not wait for anything then.
            if (!ready.take_streams()) continue;
            run_ready();
            std::this_thread::sleep_for(coalescer.pause(micros(begun - idle_since), micros(Clock::now() - begun)));
        }
    }

    // Not until there is nothing more: under load that is never.
    void run_ready() {
        for (int left = handlers_max; left > 0 && context.poll_one() > 0; --left) continue;
    }

    void store_totals() {
        shared.request_metrics.store(thread_number, dispatcher, ingress.failed(), link_server.stats());
    }

    void store_stats() {
        shared.stats.store(thread_number, {.serving = receiver.stats(),
                                           .dispatcher = dispatcher.counters(),
                                           .http = http.stats(),
                                           .links_dialled = links.stats(),
                                           .links_accepted = link_server.stats(),
                                           .fields_left_out = ingress.fields_left_out()});
    }

    // For scrapes that other threads answer.
    void store_stats_later() {
        stats_timer.expires_after(std::chrono::seconds(1));
        stats_timer.async_wait([this](const boost::system::error_code& code) {
            if (code) return;
            store_stats();
            store_stats_later();
        });
    }

    asio::awaitable<void> close_links() {
        links.close();
        link_server.close();
        asio::steady_timer pause(context);
        while (links.stats().links_now + link_server.stats().links_now > 0) {
            pause.expires_after(std::chrono::milliseconds(10));
            co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

    void set_handlers() {
        loop_hooks.set_driven_by_loop();
        ingress.on_end([this] { store_totals(); });
        http.set_body_budget(shared.bodies);
        http.on_head([this](const io::http::HttpRequest& request) { return gateway.judge_head(request); });
        http.set_essential(&gateway::HttpGateway::is_essential);
        if (shared.stats.threads() > 1) store_stats_later();
        if (shared.access_log != nullptr)
            http.on_outcome([this](const io::http::HttpOutcome& outcome) {
                shared.access_log->write(gateway::access_line(outcome, shared.clock.wall()));
            });
        links.on_broken([this](PeerId peer, Generation generation) {
            dispatcher.handle_view(view.load()->routing);
            dispatcher.handle_peer_broken(shared.clock.now(), peer);
            shared.on_link_broken(peer, generation);
        });
        links.on_sync([this](PeerId from, Bytes message) { shared.on_sync(from, std::move(message)); });
        link_server.on_open([this](std::shared_ptr<io::link::InboundStream> stream, wire::Open open) {
            receiver.serve(std::move(open), std::move(stream));
        });
        link_server.on_sync([this](PeerId from, Endpoint, Bytes message) { shared.on_sync(from, std::move(message)); });
    }

    const DataPlaneShared& shared;
    const std::size_t thread_number;
    // The sockets and timers of a data plane are its own thread's alone.
    asio::io_context context{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    io::LoopHooks& loop_hooks = io::LoopHooks::of(context);
    router::Dispatcher dispatcher;
    io::link::LinkPool links;
    io::link::LinkServer link_server;
    gateway::ReadyQueue ready;
    const Coalescer coalescer;
    shared::ViewReader view;
    gateway::Receiver receiver;
    gateway::Ingress ingress;
    gateway::HttpGateway gateway;
    io::http::HttpServer http;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    asio::steady_timer stats_timer{context};
    std::jthread thread;
};

DataPlane::DataPlane(const DataPlaneShared& shared, std::size_t thread)
    : state_(std::make_unique<State>(shared, thread)) {}

DataPlane::~DataPlane() {
    stop();
}

void DataPlane::stop() {
    if (!state_->thread.joinable()) return;
    state_->context.stop();
    state_->thread.join();
}

Result<void> DataPlane::bind(Endpoint http, Endpoint link) {
    state_->set_handlers();
    state_->http.set_tls(state_->shared.tls);
    EXA_TRY(state_->http.listen(http));
    EXA_TRY(state_->link_server.bind(link));
    return success();
}

void DataPlane::run() {
    state_->thread = std::jthread([state = state_.get()] { state->loop(); });
}

Endpoint DataPlane::http_endpoint() const {
    return state_->http.endpoint();
}

Endpoint DataPlane::link_endpoint() const {
    return state_->link_server.endpoint();
}

std::future<std::weak_ptr<const void>> DataPlane::watch_in_flight() {
    return asio::post(state_->context,
                      asio::use_future([state = state_.get()] { return state->ingress.watch_in_flight(); }));
}

std::future<bool> DataPlane::drain_gateway(Duration deadline) {
    return asio::co_spawn(state_->context, state_->http.drain(deadline), asio::use_future);
}

void DataPlane::set_tls(std::shared_ptr<const io::tls::TlsSettings> tls) {
    asio::post(state_->context, [state = state_.get(), tls = std::move(tls)] { state->http.set_tls(tls); });
}

void DataPlane::set_limits(const router::Config& router, const io::http::HttpConfig& http) {
    asio::post(state_->context, [state = state_.get(), router, http] {
        state->dispatcher.set_config(router);
        state->http.set_limits(http);
    });
}

void DataPlane::set_keys(std::shared_ptr<const LinkKeys> keys) {
    asio::post(state_->context, [state = state_.get(), keys = std::move(keys)] {
        state->links.set_keys(keys);
        state->link_server.set_keys(keys);
    });
}

std::future<void> DataPlane::close_links() {
    return asio::co_spawn(state_->context, state_->close_links(), asio::use_future);
}

}  // namespace exa::app
