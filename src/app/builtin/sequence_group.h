// SequenceGroup: the requests to one engine that one reply is made of, a few of them at a time.
//
// The first takes a permit of the replica, waits for one, or is refused; others take more permits while there are some,
// and one that ends leaves its permit to the next. So a reply of many sequences always comes to its end, and never
// fills a replica. Those of one prompt begin when the first of them has begun its answer: then the prompt's pages are
// there to share.
//
// Belongs to the executor of its mailbox; only events come from the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/builtin/replica_host.h"
#include "app/shared/mailbox.h"
#include "engine/replica.h"
#include "wire/link_messages.h"

namespace exa::app::builtin {

class SequenceGroup final : public shared::Recipient, public std::enable_shared_from_this<SequenceGroup> {
  public:
    // At once, of one reply.
    static constexpr std::size_t running_max = 4;

    struct Item {
        // Nothing: it has ended elsewhere, or there is nothing to do.
        std::optional<engine::GenerateRequest> request;
        std::size_t first_of_prompt = 0;  // the first item of the same prompt, perhaps this one
    };
    // The events of item `index`, in order; the last carries its finish.
    using Handler = std::function<void(std::size_t index, std::vector<engine::TokenEvent> events)>;
    // Why none begins: engine::errc::deadline or busy.
    using Refused = std::function<void(const Error& why)>;
    // On what terms the first waits for a permit, and how long at most; 0: not at all.
    struct WaitOptions {
        std::string tenant{};
        std::uint32_t priority = 1;
        Duration wait{0};
    };

    SequenceGroup(std::shared_ptr<ReplicaHost> host, std::shared_ptr<shared::Mailbox> mailbox, std::vector<Item> items);
    ~SequenceGroup() { cancel(); }
    SequenceGroup(const SequenceGroup&) = delete;
    SequenceGroup& operator=(const SequenceGroup&) = delete;

    // Begins; once. Errors as of ReplicaHost::submit(), then nothing was begun. Handlers are called by the executor,
    // never from in here, until all items have ended or cancel(); `refused` once and nothing else, when the wait for a
    // permit was in vain. When the replica takes no more, because it stops, one of those that wait ends as cancelled,
    // and of the rest nothing is heard.
    Result<void> start(Handler handler, const WaitOptions& wait_options, Refused refused);

    // The item ends soon, as cancelled.
    void cancel(std::size_t index);
    // All of them, and nothing more is heard.
    void cancel();

    void take(std::size_t index, std::vector<engine::TokenEvent> events) override;

    // Whether the engine has, or will get, anything to do.
    bool busy() const { return running_ > 0 || next_ < items_.size(); }

  private:
    struct State {
        Item item;
        std::optional<engine::RequestId> id;  // while it runs
        Permit permit;                        // while it runs, if others wait for it
        bool begun = false;                   // its first token is there, or it never runs here
    };

    Result<void> wait_for_permit(const WaitOptions& wait_options);
    void take_permit(Result<Permit> permit);
    Result<void> submit(std::size_t index, Permit permit);
    void submit_more();
    void skip_idle();

    const std::shared_ptr<ReplicaHost> host_;
    const std::shared_ptr<shared::Mailbox> mailbox_;
    std::vector<State> items_;
    Handler handler_;
    Refused refused_;
    std::optional<engine::WaitTicket> ticket_;  // while it waits
    std::size_t next_ = 0;                      // to be submitted
    std::size_t running_ = 0;
    std::vector<Permit> free_permits_;  // of items that have ended
};

}  // namespace exa::app::builtin
