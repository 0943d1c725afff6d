// KvReplicatorThread: the KV replicator (node/kv_replicator.h) on a thread of its own, with links of its own, so that
// segments on their way hold up no token. It carries actions over links and to the store, and decides nothing.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "app/kv/service.h"
#include "app/kv/tiers.h"
#include "app/replica/reply.h"
#include "app/shared/shared_view.h"
#include "base/log.h"
#include "io/clock/system_clock.h"
#include "io/link/config.h"
#include "node/kv_replicator.h"
#include "wire/link_messages.h"

namespace exa::app::kv {

struct KvReplicatorDeps {
    io::link::LinkIdentity identity;
    io::link::LinkEncryption encryption;  // as it is at the start
    // All outlive the thread.
    KvService& service;
    const exa::kv::SegmentSealer& sealer;
    const shared::SharedView& view;
    const io::clock::SystemClock& clock;
    Log& log;
};

class KvReplicatorThread final : public KvPeers {
  public:
    explicit KvReplicatorThread(KvReplicatorDeps deps, const node::KvReplicatorConfig& config = {});
    ~KvReplicatorThread() override;  // stops

    // Starts the thread. A view must have been published.
    void run();
    // Ends what is being fetched, and joins. Idempotent.
    void stop();

    // The rest is thread-safe.

    void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool> held, const exa::kv::FetchTerms& terms,
              Sink sink) override;
    void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment segment) override;
    void recover(const exa::kv::SegmentKey& key) override;
    void move(PeerId to, std::vector<exa::kv::SegmentKey> keys, Moved done) override;
    bool has_others() const override;
    void find(std::vector<exa::kv::KnownValue> values, Found done) override;
    void fetch(const exa::kv::Item& item, std::vector<PeerId> holders, Fetched done) override;

    // The answer to another peer's question, for a link's stream of `executor`.
    std::shared_ptr<replica::ReplyReader> answer(const wire::Open& open, PeerId from,
                                                 const boost::asio::any_io_executor& executor);

    void set_keys(std::shared_ptr<const LinkKeys> keys);
    node::KvReplicatorStatus status() const override;

  private:
    struct State;
    const std::shared_ptr<State> state_;
};

}  // namespace exa::app::kv
