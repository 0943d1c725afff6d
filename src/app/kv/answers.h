// The answers of a KV service to other peers' questions, as replies for a link.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/kv/service.h"
#include "app/replica/reply.h"
#include "kv/messages.h"

namespace exa::app {

// An item for each that is asked for.
std::shared_ptr<ReplyReader> answer_look(KvService& service, const kv::Question& question);

// Segments one after the other, from memory or the disk, the next one read while one is sent. `service` outlives the
// reply, which belongs to `executor`.
std::shared_ptr<ReplyReader> answer_fetch(KvService& service, kv::Question question,
                                          const boost::asio::any_io_executor& executor);

// An answer that comes later, from another thread: `begin` gets what it is to be given to, at most once, and `forget`
// is called when nobody waits any more.
using OutcomesSink = std::function<void(std::vector<kv::OfferOutcome>)>;
std::shared_ptr<ReplyReader> answer_offer(const boost::asio::any_io_executor& executor,
                                          const std::function<void(OutcomesSink)>& begin, std::function<void()> forget);

}  // namespace exa::app
