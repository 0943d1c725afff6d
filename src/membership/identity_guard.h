// IdentityGuard: whose messages count. It tells the instances of a peer apart.
//
// An instance is one run of a peer's process: (peer id, generation, instance id). Generations order the instances of a
// peer, because each is persisted before use. Two instances have one generation when a data directory was cloned, or
// when a disk lost a generation that it had promised to keep. The clone lives elsewhere while its original goes on; an
// instance whose disk lied has the address of the one before it. So an instance in doubt is not believed, but the
// address that we know is challenged, and whoever answers there is the peer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class IdentityGuard {
  public:
    // What is to be made of a message's sender.
    enum class Sender : std::uint8_t {
        accepted,  // unknown, newer or the one that we know
        refuted,   // the one that we know, in a later incarnation: it refuted what others say of it
        stale,     // an earlier instance: what it says is ignored
        in_doubt   // another instance of this generation: ignored, and challenge() is next
    };
    // What to make of a message in our own name.
    enum class Own : std::uint8_t {
        ours,     // our own packet that came back
        earlier,  // of an instance of ours that is over
        conflict  // another instance of ours is alive: report() is next
    };
    static Sender check_sender(const Roster& roster, const wire::Header& header);
    static Own check_own(const Roster& roster, Generation generation, std::uint32_t instance);

    // A message, by its number, says that another instance of ours is alive. True when an earlier one said so too, not
    // long ago: no message alone ends a peer.
    bool is_confirmed(TimePoint now, Generation generation, std::uint64_t message);
    // Another instance of `peer` is alive, 0: one that only others spoke of. True the first time for each: then it is
    // to be reported.
    bool report(PeerId peer, std::uint32_t instance);
    // Asks the address that we know of `peer` which instance answers there, once in a while.
    Effects challenge(const Step& step, PeerId peer);
    // True when `packet` answers that challenge for another instance than the one that we know: it replaces it.
    bool is_successor(const Roster& roster, const wire::Packet& packet);

    // Peers of which another instance was seen.
    std::size_t size() const { return doubts_.size(); }

  private:
    struct Doubt {
        std::uint32_t instance = 0;
        std::uint64_t seq = 0;  // of the challenge; 0: none yet
        TimePoint asked_until{};
    };

    struct OwnDoubt {
        Generation generation;
        std::uint64_t message = 0;
        TimePoint heard;
    };

    std::map<PeerId, Doubt> doubts_;
    std::optional<OwnDoubt> own_doubt_;
};

}  // namespace exa::membership
