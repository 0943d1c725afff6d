// Control: the one strand that owns the node object. Packets, timers and commands go in; datagrams and link messages
// come out, and new views are published for the data plane (node/publish_schedule.h says when).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/access/key_command.h"
#include "app/access/key_store.h"
#include "app/replica/local_replicas.h"
#include "app/shared/data_dir.h"
#include "app/shared/shared_view.h"
#include "base/log.h"
#include "base/result.h"
#include "io/clock/system_clock.h"
#include "io/link/config.h"
#include "node/node.h"

namespace exa::app {

struct ControlDeps {
    io::link::LinkIdentity identity;
    std::shared_ptr<replica::LocalReplicas> replicas;
    shared::SharedView& view;  // outlives this object, like the two below
    const io::clock::SystemClock& clock;
    Log& log;
    // The node must not serve: another process has its identity or its name. Called once, on the strand.
    std::function<void(std::string why)> on_refused;
    // Of an encrypted cluster: where changes of the key ring are kept, and who derives from them. All outlive this
    // object.
    const access::KeyStore& keys;
    const shared::DataDir& directory;  // for the members to remember
    const Crypto& crypto;
    // Called on the strand with the keys as they are now, at each change.
    std::function<void(std::shared_ptr<const LinkKeys>)> on_keys;
    std::shared_ptr<const LinkKeys> first_keys;  // null: not sealed
};

class Control {
  public:
    explicit Control(ControlDeps deps);
    // Stops the strand. Nobody is told: leave() first for that.
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    // Binds the gossip socket and returns what was bound, with the real port. io::errc::port_taken, address_unusable.
    Result<Endpoint> bind(Endpoint gossip);

    // Publishes the first view and starts the strand.
    void run(std::unique_ptr<node::Node> node);

    // After run(). All below are thread-safe and return at once.
    void join(membership::JoinRequest request);
    void handle_sync(PeerId from, Bytes message);
    void handle_link_broken(PeerId peer, Generation generation);
    void set_peer_state(wire::PeerState state);
    void set_replica(wire::ReplicaRecord record);

    // After run(), from any executor, where it also ends. Errors are the node's, and nothing changed then.
    boost::asio::awaitable<Result<access::KeyChange>> change_keys(access::KeyCommand command);
    // The value is what was insisted against; empty: nothing.
    boost::asio::awaitable<Result<std::string>> confirm_dead(bool insist);

    // Tells the cluster that this peer leaves; has_left() once it was told.
    void leave();
    bool has_left() const;

  private:
    struct State;

    template <class Value, class Command>
    boost::asio::awaitable<Result<Value>> on_strand(Command command);

    std::unique_ptr<State> state_;
};

}  // namespace exa::app
