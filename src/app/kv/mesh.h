// KvMesh: this peer's KV service among those of other peers. It drives kv::Exchange on a thread of its own, with links
// of its own, so that segments on their way hold up no token.
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
#include "kv/exchange.h"
#include "wire/link_messages.h"

namespace exa::app {

struct KvMeshParts {
    io::LinkIdentity identity;
    io::LinkSealing sealing;  // as it is at the start
    // All outlive the mesh.
    KvService& service;
    const kv::SegmentSealer& sealer;
    const SharedView& view;
    const io::SystemClock& clock;
    Log& log;
};

class KvMesh final : public KvPeers {
  public:
    explicit KvMesh(KvMeshParts parts, const kv::ExchangeConfig& config = {});
    ~KvMesh() override;  // stops

    // Starts the thread. A view must have been published.
    void run();
    // What is being loaded ends; then the thread does. Idempotent.
    void stop();

    // The rest is thread-safe.

    void load(std::vector<kv::SegmentKey> chain, std::vector<bool> held, const kv::LoadTerms& terms,
              Sink sink) override;
    void handle_stored(const kv::SegmentHead& head, kv::SealedSegment segment) override;
    void recover(const kv::SegmentKey& key) override;
    void move(PeerId to, std::vector<kv::SegmentKey> keys, Moved done) override;
    bool has_others() const override;
    void find(std::vector<kv::KnownValue> values, Found done) override;
    void fetch(const kv::Item& item, std::vector<PeerId> holders, Fetched done) override;

    // The answer to another peer's question, for a link's stream of `executor`.
    std::shared_ptr<ReplyReader> answer(const wire::Open& open, PeerId from,
                                        const boost::asio::any_io_executor& executor);

    void set_keys(std::shared_ptr<const LinkKeys> keys);
    KvPeersStats stats() const override;

  private:
    struct State;
    const std::shared_ptr<State> state_;
};

}  // namespace exa::app
