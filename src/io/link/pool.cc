#include "io/link/pool.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "io/errc.h"
#include "io/link/connection.h"
#include "io/net.h"

namespace exa::io::link {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// One attempt to reach an endpoint; everybody who wants it meanwhile waits for the same one.
struct Dial {
    explicit Dial(const asio::any_io_executor& executor) : done(executor) {}
    Signal done;
    bool over = false;
    std::shared_ptr<LinkConnection> link;
    Error failure;
};

// This process lacks something, which says nothing about the other side.
bool is_our_own(const boost::system::error_code& code) {
    return code == asio::error::no_descriptors || code == asio::error::no_memory ||
           code == asio::error::no_buffer_space || code == boost::system::errc::too_many_files_open_in_system;
}

}  // namespace

struct LinkPool::State : std::enable_shared_from_this<LinkPool::State> {
    State(asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log, LinkEncryption encryption)
        : io(context),
          shared(std::make_shared<LinkContext>(std::move(config), std::move(identity), log, std::move(encryption))) {}

    Awaitable<Result<std::shared_ptr<LinkConnection>>> obtain(Endpoint to, PeerId expect);
    Awaitable<void> dial(Endpoint to, PeerId expect, std::shared_ptr<Dial> dial);
    Awaitable<Result<std::shared_ptr<LinkConnection>>> connect(Endpoint to, PeerId expect);
    Awaitable<Result<std::shared_ptr<LinkConnection>>> connect_with(Endpoint to, PeerId expect, KeyId key);
    void keys_changed();
    void finished(const std::shared_ptr<LinkConnection>& link, bool broken);

    asio::io_context& io;
    std::shared_ptr<LinkContext> shared;
    std::map<Endpoint, std::shared_ptr<LinkConnection>> links;
    std::map<std::pair<Endpoint, PeerId>, std::shared_ptr<Dial>> dials;
    std::set<std::shared_ptr<LinkConnection>> all;  // also those still greeting, and older ones to the same endpoint
    std::function<void(PeerId, Generation)> on_broken;
    bool closed = false;
};

Awaitable<Result<std::shared_ptr<LinkConnection>>> LinkPool::State::obtain(Endpoint to, PeerId expect) {
    const auto self = shared_from_this();
    if (closed) co_return error(errc::closed, "link pool");
    if (const auto at = links.find(to); at != links.end() && at->second->usable()) {
        if (expect == PeerId{} || at->second->peer() == expect) co_return at->second;
        co_return error(errc::wrong_peer, to_string(to));
    }
    auto mine = dials[{to, expect}];
    if (!mine) {
        mine = dials[{to, expect}] = std::make_shared<Dial>(io.get_executor());
        // It may be over when this returns.
        asio::co_spawn(io, [self, to, expect, mine]() { return self->dial(to, expect, mine); }, asio::detached);
    }
    while (!mine->over) {
        co_await mine->done.wait();
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
    if (!mine->link) co_return mine->failure;
    co_return mine->link;
}

Awaitable<void> LinkPool::State::dial(Endpoint to, PeerId expect, std::shared_ptr<Dial> dial) {
    const auto self = shared_from_this();
    auto link = co_await connect(to, expect);
    if (link && closed) {
        link.value()->finish(false);
        link = error(errc::closed, "link pool");
    }
    if (link) {
        dial->link = link.value();
        links[to] = dial->link;
        dial->link->start();
        shared->log.debug("link", "connected", {{"remote_peer", to_string(dial->link->peer())}, {"to", to_string(to)}});
    } else {
        dial->failure = link.error();
        ++shared->stats.dials_failed;
    }
    dial->over = true;
    dials.erase({to, expect});
    dial->done.notify();
}

// The primary first; then, while keys rotate, each of the others that the other side may still have in its place.
Awaitable<Result<std::shared_ptr<LinkConnection>>> LinkPool::State::connect(Endpoint to, PeerId expect) {
    if (!shared->is_encrypted()) co_return co_await connect_with(to, expect, KeyId{});
    if (expect == PeerId{})
        co_return error(errc::wrong_peer, "an encrypted link needs the id of the peer that it is made to");
    const auto keys = shared->keys;
    std::vector<KeyId> order{keys->primary};
    for (const ClusterKey& key : keys->keys)
        if (key.id != keys->primary) order.push_back(key.id);
    Error failure = error(errc::wrong_key, "this peer holds none");
    for (const KeyId key : order) {
        if (shared->keys->find(key) == nullptr) continue;
        auto link = co_await connect_with(to, expect, key);
        if (link) co_return link;
        failure = link.error();
        if (failure.code != errc::wrong_key) break;
    }
    if (failure.code == errc::wrong_key || failure.code == errc::encryption_mismatch || failure.code == errc::malformed)
        shared->warn_of_unknown("cannot make an encrypted link", to, failure);
    co_return failure;
}

Awaitable<Result<std::shared_ptr<LinkConnection>>> LinkPool::State::connect_with(Endpoint to, PeerId expect,
                                                                                 KeyId key) {
    auto socket = std::make_shared<tcp::socket>(io);
    asio::steady_timer timer(io, shared->config.connect_timeout);
    // Shared: the timer's handler may be due already when the connection fails, and then outlives this coroutine.
    const auto late = std::make_shared<bool>(false);
    timer.async_wait([socket, late](const boost::system::error_code& code) {
        if (code) return;
        *late = true;
        boost::system::error_code ignored;
        socket->close(ignored);
    });
    const auto [code] = co_await socket->async_connect(to_asio_tcp(to), as_result);
    timer.cancel();
    if (*late) co_return error(errc::timed_out, "connection to " + to_string(to));
    if (code)
        co_return error(is_our_own(code) ? errc::system : errc::connect_failed,
                        to_string(to) + " (" + code.message() + ")");
    if (!shared->is_welcome(key)) co_return error(errc::wrong_key, "the keys changed meanwhile");
    auto link = std::make_shared<LinkConnection>(shared, shared->transport_to(std::move(*socket), expect, key),
                                                 LinkMachine::Role::dialler);
    all.insert(link);
    if (auto handshake_done = co_await link->handshake(expect); !handshake_done) co_return handshake_done.error();
    co_return link;
}

void LinkPool::State::keys_changed() {
    for (const auto& link : std::set(all)) {
        if (!link->handshake_done() || !link->usable()) continue;
        const bool welcome = shared->is_welcome(link->key());
        if (welcome && link->key() == shared->keys->primary) continue;
        ++shared->stats.links_rekeyed;
        std::erase_if(links, [&](const auto& entry) { return entry.second == link; });
        if (welcome)
            link->close_when_idle();
        else
            link->close(wire::GoodbyeCode::closing, "its key was removed");
    }
}

void LinkPool::State::finished(const std::shared_ptr<LinkConnection>& link, bool broken) {
    all.erase(link);
    std::erase_if(links, [&](const auto& entry) { return entry.second == link; });
    if (broken && on_broken) on_broken(link->peer(), link->generation());
}

LinkPool::LinkPool(asio::io_context& context, LinkConfig config, LinkIdentity identity, Log& log,
                   LinkEncryption encryption)
    : state_(std::make_shared<State>(context, std::move(config), std::move(identity), log, std::move(encryption))) {
    state_->shared->on_finished = [state = std::weak_ptr<State>(state_)](const auto& link, bool broken) {
        if (const auto alive = state.lock()) alive->finished(link, broken);
    };
}

LinkPool::~LinkPool() {
    close();
    state_->on_broken = nullptr;
    state_->shared->on_sync = nullptr;
}

Awaitable<Result<std::shared_ptr<OutboundStream>>> LinkPool::open(Endpoint to, PeerId expect, wire::Open open) {
    const auto state = state_;
    const auto request = std::make_shared<const wire::Open>(std::move(open));
    for (int attempt = 0;; ++attempt) {
        auto link = co_await state->obtain(to, expect);
        if (!link) co_return link.error();
        auto stream = co_await link.value()->open(request);
        // The link said goodbye while this request waited for room on it: a fresh one takes it.
        const bool raced = !stream && stream.error().code == make_error_code(errc::closed) && attempt == 0;
        if (!raced) co_return stream;
    }
}

std::optional<Result<std::shared_ptr<OutboundStream>>> LinkPool::try_open(Endpoint to, PeerId expect,
                                                                          const wire::Open& open) {
    const auto at = state_->links.find(to);
    if (state_->closed || at == state_->links.end() || !at->second->usable() || !at->second->has_room())
        return std::nullopt;
    if (expect != PeerId{} && at->second->peer() != expect) return error(errc::wrong_peer, to_string(to));
    return at->second->open_now(open);
}

Awaitable<Result<void>> LinkPool::send_sync(Endpoint to, PeerId expect, Bytes message) {
    const auto state = state_;
    auto link = co_await state->obtain(to, expect);
    if (!link) co_return link.error();
    co_return link.value()->send_sync(message);
}

void LinkPool::on_sync(SyncHandler handler) {
    state_->shared->on_sync = [handler = std::move(handler)](PeerId from, Endpoint, Bytes message) {
        handler(from, std::move(message));
    };
}

void LinkPool::on_broken(std::function<void(PeerId, Generation)> handler) {
    state_->on_broken = std::move(handler);
}

void LinkPool::set_keys(std::shared_ptr<const LinkKeys> keys) {
    state_->shared->set_keys(std::move(keys));
    state_->keys_changed();
}

void LinkPool::close() {
    state_->closed = true;
    for (const auto& link : std::set(state_->all)) link->close(wire::GoodbyeCode::closing, "the peer shuts down");
}

LinkStats LinkPool::stats() const {
    return state_->shared->stats;
}

}  // namespace exa::io::link
