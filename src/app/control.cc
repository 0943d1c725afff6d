#include "app/control.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "io/errc.h"
#include "io/link/pool.h"
#include "io/random.h"
#include "io/resolve.h"
#include "io/udp/socket.h"
#include "node/publish_schedule.h"
#include "wire/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;
using membership::Event;
using membership::EventKind;

// Between two lines about gossip of other clusters, which anyone may send.
constexpr std::chrono::minutes foreign_gossip_quiet{10};
constexpr std::chrono::seconds load_period{1};

// Bytes of link messages that wait for the strand. More are dropped, which anti-entropy makes good.
constexpr std::size_t syncs_waiting_max = 64 * 1024 * 1024;

struct EventText {
    LogLevel level;
    const char* text;
};

EventText text_of(EventKind kind) {
    switch (kind) {
        case EventKind::joined:
            return {LogLevel::info, "a peer joined"};
        case EventKind::suspect:
            return {LogLevel::warn, "a peer is suspect"};
        case EventKind::alive:
            return {LogLevel::info, "a peer refuted its suspicion or death"};
        case EventKind::dead:
            return {LogLevel::warn, "a peer is dead"};
        case EventKind::lost:
            return {LogLevel::warn, "a peer is lost"};
        case EventKind::left:
            return {LogLevel::info, "a peer left"};
        case EventKind::updated:
            return {LogLevel::debug, "a peer's record changed"};
        case EventKind::forgotten:
            return {LogLevel::info, "a peer is forgotten"};
        case EventKind::name_conflict:
            return {LogLevel::error, "two peers claim one name"};
        case EventKind::waits_for_name:
            return {LogLevel::warn,
                    "waits for its name: the peer that holds it does not answer, and gives way when the cluster has "
                    "declared it dead"};
        case EventKind::id_conflict:
            return {LogLevel::error,
                    "two processes run with one identity: a data directory was copied or restored from a backup"};
        case EventKind::rack_down:
            return {LogLevel::error, "a rack is down: all its suspects are declared dead together"};
        case EventKind::losses_held:
            return {
                LogLevel::error,
                "more than a third of the peers are dead at once: their work stays where it is, since this may be a "
                "partition"};
        case EventKind::losses_released:
            return {LogLevel::info,
                    "fewer than a third of the peers are dead, or they were confirmed dead: their work may move"};
        case EventKind::udp_blocked:
            return {LogLevel::error,
                    "gossip does not get through and peers answer over links only: does a firewall block UDP?"};
        case EventKind::udp_restored:
            return {LogLevel::info, "gossip gets through again"};
        case EventKind::pair_udp_blocked:
            return {LogLevel::error, "no datagrams pass between this peer and another, which others can reach"};
        case EventKind::pair_udp_restored:
            return {LogLevel::info, "datagrams pass between this peer and the other again"};
        case EventKind::pair_link_blocked:
            return {LogLevel::error, "no link can be opened between this peer and another, though datagrams pass"};
        case EventKind::pair_link_restored:
            return {LogLevel::info, "links between this peer and the other work again"};
        case EventKind::joined_cluster:
            return {LogLevel::info, "joined the cluster"};
        case EventKind::alone_with_seeds:
            return {
                LogLevel::warn,
                "stands alone, and goes on asking: no seed and no member of before has answered; each is down, of a "
                "cluster with another name, or holds none of the keys of this peer"};
        case EventKind::seed_silent:
            return {LogLevel::warn, "a seed has not answered for two minutes; see 'exaserve status'"};
        case EventKind::left_cluster:
            return {LogLevel::info, "the cluster knows that this peer leaves"};
        case EventKind::keys_changed:
            return {LogLevel::info, "the key ring changed"};
        case EventKind::heard_plaintext:
            return {LogLevel::warn,
                    "receives plaintext gossip: from a peer without the cluster's key, or from an unknown sender"};
        case EventKind::heard_encrypted:
            return {LogLevel::warn, "receives encrypted gossip but has no key: give this peer the cluster's key file"};
        case EventKind::heard_foreign_key:
            return {LogLevel::warn, "receives gossip encrypted with a key that this peer does not hold"};
    }
    return {LogLevel::warn, "unknown event"};
}

// But for when they were last heard: that changes all the time and is of interest while they are silent.
bool are_alike(const std::vector<membership::SeedStatus>& before, const std::vector<membership::SeedStatus>& now) {
    return std::ranges::equal(before, now, [](const auto& a, const auto& b) {
        return a.seed == b.seed && a.state == b.state && a.addresses == b.addresses;
    });
}

}  // namespace

struct Control::State {
    explicit State(ControlDeps given)
        : deps(std::move(given)),
          links(context, {}, deps.identity, deps.log, {&deps.crypto, deps.first_keys}),
          socket(context) {
        links.on_sync([this](PeerId from, Bytes message) { take_sync(from, message); });
        links.on_broken([this](PeerId peer, Generation generation) {
            node->handle_link_broken(deps.clock.now(), peer, generation);
            pump();
        });
    }

    void take_packet(const Endpoint& from, ByteView bytes) {
        if (const auto taken = node->handle_packet(deps.clock.now(), from, bytes); !taken) {
            ++gossip_refused;
            if (taken.error().code == wire::errc::wrong_cluster) log_foreign_gossip(from);
        }
        pump();
    }

    // Somebody takes this peer for one of his cluster: he was ordered to join the wrong one, or has the wrong name.
    void log_foreign_gossip(const Endpoint& from) {
        const auto now = std::chrono::steady_clock::now();
        if (foreign_gossip_logged && now - *foreign_gossip_logged < foreign_gossip_quiet) return;
        foreign_gossip_logged = now;
        deps.log.warn("membership", "hears gossip of a cluster with another name, and ignores it",
                      {{"from", to_string(from)}});
    }

    void take_sync(PeerId from, ByteView bytes) {
        if (const auto taken = node->handle_sync(deps.clock.now(), from, bytes); !taken)
            deps.log.debug("membership", "a link message was ignored",
                           {{"from", to_string(from)}, {"error", taken.error().message()}});
        pump();
    }

    // Everything the node has to say, then the view, then the timer: the order node.h asks for.
    void pump() {
        while (auto datagram = node->poll_transmit()) socket.send(datagram->to, datagram->bytes);
        while (auto message = node->poll_sync())
            asio::co_spawn(context, send_sync(std::move(*message)), asio::detached);
        while (const auto event = node->poll_event()) handle(*event);
        while (auto name = node->poll_lookup()) asio::co_spawn(context, look_up(std::move(*name)), asio::detached);
        publish_soon();
        arm();
    }

    void publish_soon() {
        const TimePoint now = deps.clock.now();
        const auto due = publish_schedule.handle_change(now, urgent, deps.view.was_read());
        if (!due) return;
        if (*due <= now) {
            asio::post(context, [this] { publish(); });
            return;
        }
        publish_timer.expires_at(io::clock::SystemClock::to_steady(*due));
        publish_timer.async_wait([this](const boost::system::error_code& cancelled) {
            if (!cancelled) publish();
        });
    }

    asio::awaitable<void> send_sync(membership::SyncTransmit message) {
        if (message.link.port == 0) co_return;
        const PeerId to = message.to;
        const auto sent = co_await links.send_sync(message.link, to, std::move(message.bytes));
        if (sent) {
            node->handle_link_works(deps.clock.now(), to);
            pump();
            co_return;
        }
        if (sent.error().code == io::errc::closed) co_return;
        deps.log.debug("membership", "no link for a message",
                       {{"to", to_string(to)}, {"error", sent.error().message()}});
        // One that is short of descriptors itself must not suspect everybody.
        if (sent.error().code == io::errc::system) co_return;
        node->handle_link_broken(deps.clock.now(), to, message.generation);
        pump();
    }

    void handle(const Event& event) {
        if (event.kind == EventKind::keys_changed) store_keys();
        EventText text = text_of(event.kind);
        // Peers of an encrypted cluster answer nobody who holds none of their keys, so silence is all that shows here.
        if (event.kind == EventKind::alone_with_seeds && node->keys().empty())
            text.text =
                "stands alone, and goes on asking: no seed and no member of before has answered; each is down, of a "
                "cluster with another name, or of an encrypted cluster, and this peer has no key";
        urgent = urgent || node::is_urgent(event.kind);
        deps.log.write(text.level, "membership", text.text,
                       {{"remote_peer", to_string(event.peer)},
                        {"generation", std::to_string(event.generation.value)},
                        {"other", to_string(event.other)}});
        if (event.refuse && deps.on_refused) std::exchange(deps.on_refused, nullptr)(text.text);
        if (event.kind == EventKind::left_cluster) left = true;
    }

    // Others count on a key only once it is on this disk. What cannot be stored works until a restart, and is tried
    // again with every measurement.
    void store_keys() {
        const membership::KeyRing ring = node->keys();
        const auto stored = deps.keys.store(ring);
        if (stored)
            node->keys_stored(deps.clock.now(), ring);
        else
            deps.log.error("keys", "the key ring cannot be stored", {{"error", stored.error().message()}});
        auto keys = std::make_shared<const LinkKeys>(ring.link_keys());
        links.set_keys(keys);
        deps.on_keys(std::move(keys));
        keys_changed = urgent = true;
    }

    std::shared_ptr<const shared::SealView> seal_view() const {
        auto view = std::make_shared<shared::SealView>();
        const membership::KeyRing& ring = node->keys();
        view->sealed = node->seal().encrypts();
        view->primary = !ring.empty() ? ring.primary()->id : KeyId{};
        view->installed = ring.newest_first();
        view->stored = ring == node->stored_keys();
        view->alarms = node->seal().alarms(deps.clock.now());
        view->counters = node->seal().counters();
        return view;
    }

    Result<access::KeyChange> change_key(TimePoint now, const access::AddKey& command) {
        KeySecret secret;
        if (command.secret)
            secret = *command.secret;
        else
            io::fill_random(secret);
        const ClusterKey key = cluster_key(deps.crypto, secret);
        EXA_TRY(auto warning, node->add_key(now, key, command.insist));
        return access::KeyChange{key.id, std::move(warning)};
    }
    Result<access::KeyChange> change_key(TimePoint now, const access::UseKey& command) {
        EXA_TRY(auto warning, node->use_key(now, command.id, command.insist));
        return access::KeyChange{command.id, std::move(warning)};
    }
    Result<access::KeyChange> change_key(TimePoint now, const access::RemoveKey& command) {
        EXA_TRY(auto warning, node->remove_key(now, command.id, command.insist));
        return access::KeyChange{command.id, std::move(warning)};
    }

    Result<access::KeyChange> change_keys(const access::KeyCommand& command) {
        const TimePoint now = deps.clock.now();
        EXA_TRY(access::KeyChange change,
                std::visit([&](const auto& given) { return change_key(now, given); }, command));
        static constexpr std::array texts = {"a key was added", "a key is the primary one now", "a key was removed"};
        deps.log.write(change.warning.empty() ? LogLevel::info : LogLevel::warn, "keys", texts[command.index()],
                       {{"key", to_string(change.id)}, {"insisted_against", change.warning}});
        pump();
        return change;
    }

    Result<std::string> confirm_dead(bool insist) {
        EXA_TRY(std::string warning, node->confirm_dead(insist));
        urgent = true;
        pump();
        return warning;
    }

    void publish() {
        publish_timer.cancel();
        publish_schedule.handle_published(deps.clock.now());
        urgent = false;
        auto members = node->members();
        const auto& before = published;
        auto seeds = node->seeds(deps.clock.now());
        if (before && before->members == members && before->draining == draining &&
            before->gossip_refused == gossip_refused && !keys_changed && are_alike(*before->seeds, seeds))
            return;
        keys_changed = false;
        auto next = std::make_shared<shared::ControlView>();
        next->members = std::move(members);
        next->routing = node->routing();
        next->udp = socket.stats();
        next->gossip_refused = gossip_refused;
        next->draining = draining;
        next->seal = seal_view();
        next->seeds = std::make_shared<const std::vector<membership::SeedStatus>>(std::move(seeds));
        published = next;
        deps.view.store(std::move(next));
    }

    void arm() {
        const TimePoint next = node->next_timeout();
        if (next == armed_for) return;
        armed_for = next;
        timer.expires_at(io::clock::SystemClock::to_steady(next));
        timer.async_wait([this](const boost::system::error_code& cancelled) {
            if (cancelled) return;
            armed_for = time_never;
            node->handle_timeout(deps.clock.now());
            pump();
        });
    }

    // Numbers never come here: membership asks for names only.
    asio::awaitable<void> look_up(std::string name) {
        auto found = co_await io::resolve(name, 0, std::chrono::seconds(5));
        if (!found && unresolved.insert(name).second)
            deps.log.warn("membership", "a seed cannot be looked up", {{"error", found.error().message()}});
        if (found) unresolved.erase(name);
        node->handle_lookup(deps.clock.now(), name, found ? std::move(found).value() : std::vector<Endpoint>{});
        pump();
    }

    // Hints for the next start of this peer: the strand waits for no disk.
    void store_members() {
        auto members = node->take_members_file(deps.clock.now());
        if (!members) return;
        asio::post(files, [this, text = std::move(*members)] {
            if (const auto stored = deps.directory.replace(shared::members_file, text); !stored)
                deps.log.warn("membership", "the members to remember cannot be stored",
                              {{"error", stored.error().message()}});
        });
    }

    // Loads and the counters that only views carry, once a second.
    asio::awaitable<void> keep_measuring() {
        asio::steady_timer pause(context);
        while (true) {
            std::vector<wire::LoadReport> loads;
            const auto replicas = deps.replicas->all();
            for (const auto& replica : *replicas) loads.push_back(replica->backend->load());
            node->set_loads(deps.clock.now(), loads);
            if (!(node->keys() == node->stored_keys())) store_keys();
            store_members();
            pump();
            pause.expires_after(load_period);
            co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

    template <class Command>
    void post(Command command) {
        asio::post(context, [this, command = std::move(command)]() mutable {
            command(*node, deps.clock.now());
            urgent = true;
            pump();
        });
    }

    ControlDeps deps;
    asio::io_context context{1};
    io::link::LinkPool links;
    io::udp::UdpSocket socket;
    asio::steady_timer timer{context};
    TimePoint armed_for = time_never;
    std::unique_ptr<node::Node> node;
    std::uint64_t gossip_refused = 0;
    std::optional<std::chrono::steady_clock::time_point> foreign_gossip_logged;
    std::atomic<std::size_t> syncs_waiting = 0;
    std::set<std::string> unresolved;  // names of which the log has said so
    bool draining = false;
    node::PublishSchedule publish_schedule;
    bool keys_changed = false;
    bool urgent = false;
    asio::steady_timer publish_timer{context};
    std::shared_ptr<const shared::ControlView> published;

    std::atomic<bool> left = false;

    asio::thread_pool files{1};  // ends before what its work refers to
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    std::jthread thread;
};

template <class Value, class Command>
asio::awaitable<Result<Value>> Control::on_strand(Command command) {
    // Shared: the asker's loop may end before the strand comes to it.
    const auto done = std::make_shared<std::optional<Result<Value>>>();
    const auto run = [](State* state, Command given,
                        std::shared_ptr<std::optional<Result<Value>>> into) -> asio::awaitable<void> {
        into->emplace(given(*state));
        co_return;
    };
    co_await asio::co_spawn(state_->context, run(state_.get(), std::move(command), done), asio::use_awaitable);
    co_return std::move(**done);
}

Control::Control(ControlDeps deps) : state_(std::make_unique<State>(std::move(deps))) {}

Control::~Control() {
    state_->context.stop();
    if (state_->thread.joinable()) state_->thread.join();
}

Result<Endpoint> Control::bind(Endpoint gossip) {
    EXA_TRY(state_->socket.bind(
        gossip, [state = state_.get()](Endpoint from, ByteView bytes) { state->take_packet(from, bytes); }));
    return state_->socket.endpoint();
}

void Control::run(std::unique_ptr<node::Node> node) {
    state_->node = std::move(node);
    state_->publish();
    asio::co_spawn(state_->context, state_->keep_measuring(), asio::detached);
    state_->thread = std::jthread([state = state_.get()] { state->context.run(); });
}

void Control::join(membership::JoinRequest request) {
    state_->post([request = std::move(request)](node::Node& node, TimePoint now) mutable {
        node.join(now, std::move(request));
    });
}

void Control::handle_sync(PeerId from, Bytes message) {
    State* const state = state_.get();
    const std::size_t size = message.size();
    if (state->syncs_waiting.fetch_add(size) > syncs_waiting_max) {
        state->syncs_waiting.fetch_sub(size);
        return;
    }
    asio::post(state->context, [state, from, size, message = std::move(message)] {
        state->syncs_waiting.fetch_sub(size);
        state->take_sync(from, message);
    });
}

void Control::handle_link_broken(PeerId peer, Generation generation) {
    state_->post([=](node::Node& node, TimePoint now) { node.handle_link_broken(now, peer, generation); });
}

asio::awaitable<Result<std::string>> Control::confirm_dead(bool insist) {
    return on_strand<std::string>([insist](State& state) { return state.confirm_dead(insist); });
}

void Control::set_peer_state(wire::PeerState peer_state) {
    state_->post([state = state_.get(), peer_state](node::Node& node, TimePoint now) {
        state->draining = peer_state == wire::PeerState::draining || peer_state == wire::PeerState::leaving;
        node.set_peer_state(now, peer_state);
    });
}

void Control::set_replica(wire::ReplicaRecord record) {
    state_->post([record = std::move(record)](node::Node& node, TimePoint now) mutable {
        node.set_replica(now, std::move(record));
    });
}

asio::awaitable<Result<access::KeyChange>> Control::change_keys(access::KeyCommand command) {
    return on_strand<access::KeyChange>(
        [command = std::move(command)](State& state) { return state.change_keys(command); });
}

void Control::leave() {
    state_->post([](node::Node& node, TimePoint now) { node.leave(now); });
}

bool Control::has_left() const {
    return state_->left;
}

}  // namespace exa::app
