#include "io/link/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/errc.h"
#include "io/link/connection.h"
#include "io/net.h"

namespace exa::io::link {

namespace asio = boost::asio;
using asio::ip::tcp;

struct LinkServer::State : std::enable_shared_from_this<LinkServer::State> {
    State(asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log, LinkEncryption encryption)
        : io(context),
          shared(std::make_shared<LinkContext>(std::move(config), std::move(identity), log, std::move(encryption))) {}

    Awaitable<void> accept_loop();
    Awaitable<void> serve(std::shared_ptr<LinkConnection> link);
    void keys_changed();
    void make_room();
    void finished(const std::shared_ptr<LinkConnection>& link);

    asio::io_context& io;
    std::shared_ptr<LinkContext> shared;
    std::optional<tcp::acceptor> acceptor;
    Endpoint bound;
    std::set<std::shared_ptr<LinkConnection>> links;
    std::deque<std::shared_ptr<LinkConnection>> greeting;       // of `links`, the oldest first
    std::map<PeerId, std::shared_ptr<LinkConnection>> by_peer;  // the newest of each
    bool closed = false;
};

Awaitable<void> LinkServer::State::accept_loop() {
    const auto self = shared_from_this();
    while (!closed) {
        auto [code, socket] = co_await acceptor->async_accept(as_result);
        if (closed) co_return;
        if (code) {
            // Out of descriptors, most likely: what is open must end before more can be taken.
            shared->log.warn("link", "accept failed", {{"reason", code.message()}});
            asio::steady_timer pause(io, std::chrono::milliseconds(100));
            co_await pause.async_wait(as_result);
            continue;
        }
        if (links.size() - greeting.size() >= shared->config.links_max) {
            ++shared->stats.links_refused;
            continue;
        }
        make_room();
        auto link = std::make_shared<LinkConnection>(shared, shared->transport_from(std::move(socket)),
                                                     LinkMachine::Role::acceptor);
        links.insert(link);
        greeting.push_back(link);
        asio::co_spawn(io, [self, link]() { return self->serve(link); }, asio::detached);
    }
}

Awaitable<void> LinkServer::State::serve(std::shared_ptr<LinkConnection> link) {
    const auto self = shared_from_this();
    if (!co_await link->handshake(PeerId{})) co_return;
    std::erase(greeting, link);
    if (closed) {
        link->finish(false);
        co_return;
    }
    by_peer[link->peer()] = link;
    link->start();
}

void LinkServer::State::make_room() {
    if (greeting.size() < shared->config.greetings_max) return;
    const auto oldest = greeting.front();
    ++shared->stats.greetings_cut;
    shared->warn_of_unknown("closed a connection that has not said hello", oldest->remote(),
                            error(errc::too_many, "connections that wait"));
    oldest->finish(false);
}

void LinkServer::State::keys_changed() {
    for (const auto& link : std::set(links)) {
        if (!link->handshake_done() || !link->usable() || shared->is_welcome(link->key())) continue;
        ++shared->stats.links_rekeyed;
        link->close(wire::GoodbyeCode::closing, "its key was removed");
    }
}

void LinkServer::State::finished(const std::shared_ptr<LinkConnection>& link) {
    links.erase(link);
    std::erase(greeting, link);
    if (const auto at = by_peer.find(link->peer()); at != by_peer.end() && at->second == link) by_peer.erase(at);
}

LinkServer::LinkServer(asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
                       LinkEncryption encryption)
    : state_(std::make_shared<State>(context, std::move(config), std::move(identity), log, std::move(encryption))) {
    state_->shared->on_finished = [state = std::weak_ptr<State>(state_)](const auto& link, bool) {
        if (const auto alive = state.lock()) alive->finished(link);
    };
}

LinkServer::~LinkServer() {
    close();
    state_->shared->on_open = nullptr;
    state_->shared->on_sync = nullptr;
}

void LinkServer::on_open(OpenHandler handler) {
    state_->shared->on_open = std::move(handler);
}

void LinkServer::on_sync(SyncHandler handler) {
    state_->shared->on_sync = std::move(handler);
}

Result<void> LinkServer::bind(Endpoint endpoint) {
    EXA_TRY(auto acceptor, listen_tcp(state_->io, "link", endpoint, state_->shared->config.reuse_port));
    boost::system::error_code code;
    state_->bound = from_asio(acceptor.local_endpoint(code));
    state_->acceptor.emplace(std::move(acceptor));
    asio::co_spawn(state_->io, [state = state_]() { return state->accept_loop(); }, asio::detached);
    return success();
}

Endpoint LinkServer::endpoint() const {
    return state_->bound;
}

void LinkServer::set_keys(std::shared_ptr<const LinkKeys> keys) {
    state_->shared->set_keys(std::move(keys));
    state_->keys_changed();
}

bool LinkServer::send_sync(PeerId to, Bytes message) {
    const auto at = state_->by_peer.find(to);
    return at != state_->by_peer.end() && at->second->send_sync(message).has_value();
}

void LinkServer::close() {
    state_->closed = true;
    if (state_->acceptor) {
        boost::system::error_code ignored;
        state_->acceptor->close(ignored);
    }
    for (const auto& link : std::set(state_->links)) link->close(wire::GoodbyeCode::closing, "the peer shuts down");
}

LinkStats LinkServer::stats() const {
    return state_->shared->stats;
}

}  // namespace exa::io::link
