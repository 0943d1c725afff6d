// KvReply: the answer to another peer's question about KV, as a reply for a link. node::KvAnswer decides what it says;
// this type connects it to the store, the replicator and the frames of a link.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/kv/service.h"
#include "app/replica/reply.h"
#include "base/ids.h"
#include "kv/intake.h"
#include "node/kv_answer.h"

namespace exa::app::kv {

// Takes offers to the replicator on its thread. Thread-safe.
class KvOffers {
  public:
    using Done = std::function<void(std::string body)>;

    virtual ~KvOffers() = default;

    // Calls `done` at most once, from another thread.
    virtual exa::kv::OfferId begin(PeerId from, exa::kv::Question question, Done done) = 0;
    // The outcomes are not awaited any more.
    virtual void forget(exa::kv::OfferId id) = 0;
};

// `question` as it came from that peer; `service` outlives the reply, which belongs to `executor`.
std::shared_ptr<replica::ReplyReader> answer_kv(std::string_view question, PeerId from, KvService& service,
                                                std::shared_ptr<KvOffers> offers,
                                                const boost::asio::any_io_executor& executor);

}  // namespace exa::app::kv
