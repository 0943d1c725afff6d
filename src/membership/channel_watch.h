// ChannelWatch: what this peer and another one cannot do with one another: exchange datagrams, or open a link.
//
// A firewall rule, a full conntrack table or a wrong address can block one channel of one pair. Others then still
// answer for the peer, so it is not dead; suspecting it again and again would only make it refute for good. Such a
// channel is an alarm that names the peer, and a broken link that is known says nothing about the peer's life.
//
// Datagrams: a peer whose probe only others or the link answered is pinged again with each probe of ours, until it
// answers itself. Links: one that breaks again, although the peer has refuted the suspicion of the first time and no
// link worked in between, is blocked. Our packets tell the peer so, as its own links may work.
//
// Timer: none; the prober's rounds pace it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/step.h"
#include "membership/view.h"

namespace exa::membership {

class ChannelWatch {
  public:
    static constexpr std::size_t watched_max = 64;

    std::vector<BrokenChannel> broken() const;
    // That we cannot open links to this peer: what our packets tell it.
    bool is_link_blocked(PeerId peer) const;

    // Datagrams.
    // A probe was answered, but not by the peer itself.
    void note_indirect_answer(PeerId peer);
    // A probe of ours begins: those in doubt are pinged as well.
    Effects check(const Step& step, bool all_are_blocked);
    // The peer itself answered a ping of ours.
    Effects note_direct_answer(const Step& step, PeerId peer);

    // Links.
    // False: it is known that no link can be opened to this peer, and the failure is no suspicion.
    bool note_link_broken(const Step& step, PeerId peer, Effects& effects);
    Effects note_link_works(const Step& step, PeerId peer);
    // The peer says whether it can open links to us.
    Effects hear(const Step& step, PeerId peer, bool cannot_link);

    // What was known of a peer's earlier instance, or of one that is gone, is void.
    void forget(PeerId peer);
    std::size_t size() const { return datagrams_.size() + links_.size() + deaf_.size(); }

  private:
    struct Datagrams {
        std::uint32_t misses = 0;  // pings in a row without an answer
        bool is_blocked = false;
        TimePoint since{};
    };
    struct Link {
        Generation generation;
        TimePoint broke{};  // first
        bool is_blocked = false;
        TimePoint since{};
    };

    std::map<PeerId, Datagrams> datagrams_;
    std::map<PeerId, Link> links_;
    std::map<PeerId, TimePoint> deaf_;  // peers that cannot open links to us, since
    PeerId next_checked_;
};

}  // namespace exa::membership
