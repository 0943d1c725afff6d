// Bootstrap: how a peer finds its cluster, and finds the rest of it again after a partition.
//
// A joining peer pings its seeds, and the members that it remembers from before, until one answers; the first full
// comparison with a member then makes it joined. Seeds may be names. A name that resolves to nothing, or to this peer
// alone, teaches nothing: it is looked up again, and the peer founds a cluster only when there is nobody to ask, or
// when it is told that it is the first (docs/decisions/0036-joining.md).
//
// Once joined it dials, once each redial_interval and for good, one dead peer and one address at which a member may be:
// a seed's, or that of a peer of the past. An answer refutes the death, and a comparison follows.
//
// Timers: seeds -> dial_seeds(); redial -> redial(); lookups -> look_up().
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "membership/member_memory.h"
#include "membership/step.h"

namespace exa::membership {

struct JoinRequest {
    std::vector<std::string> seeds{};  // "host:port" of some members, and maybe of ourselves; names are looked up
    std::vector<RememberedMember> members{};  // of the cluster when this peer was last in it
    bool first = false;                       // with no such member: found the cluster, whatever the seeds say
};

struct SeedStatus {
    enum class State : std::uint8_t {
        answering,  // a member lives there, or somebody answered from there in the last minute
        self,       // it is this peer alone
        silent,
        unresolved  // the last look-up failed, and there is no earlier answer
    };
    std::string seed;
    State state = State::silent;
    std::vector<Endpoint> addresses;
    TimePoint heard;  // when it last answered; if it never did, when it was given
    bool operator==(const SeedStatus&) const = default;
};

class Bootstrap {
  public:
    static constexpr std::size_t seeds_max = 128;
    // A seed that has not answered for so long is an alarm.
    static constexpr Duration silent_after = std::chrono::minutes{2};
    // A peer that nobody has answered for so long is alone.
    static constexpr Duration alone_after = std::chrono::seconds{3};

    explicit Bootstrap(TimePoint now) : join_sync_from_(now), heal_sync_from_(now), in_company_(now) {}

    bool is_joined() const { return joined_; }
    // There are others to ask, and none of them answers.
    bool is_alone() const { return alone_; }
    bool has_silent_seed() const { return silent_seed_; }
    std::vector<SeedStatus> seeds(TimePoint now, const Roster& roster) const;

    // Adds to what earlier calls gave. All are dialled at once. With nobody to ask, we are the first of the cluster.
    Effects join(const Step& step, JoinRequest request);
    // Our first comparison is complete.
    Effects complete_join(const Step& step);
    Effects dial_seeds(const Step& step);
    Effects redial(const Step& step);
    // The packet from `seed` was our own: it is not worth another try.
    Effects drop_own_address(const Step& step, const Endpoint& seed);
    // A dead peer was forgotten: its address is remembered.
    void remember(const Endpoint& endpoint);
    // An answer came from there.
    void hear(TimePoint now, const Endpoint& from);

    // Names.
    void look_up(const Step& step);
    // A name that is to be looked up; handle_lookup() is expected for each.
    std::optional<std::string> poll_lookup();
    // What a name resolved to; nothing when that failed: addresses of before stay.
    Effects handle_lookup(const Step& step, std::string_view name, std::vector<Endpoint> found);

    // A live member spoke while we have not joined: true when we should compare with it now.
    bool take_join_sync(const Step& step);
    // A member that was dead or unknown answered: most likely a whole side of the cluster is back with it. True when we
    // should compare with it now.
    bool take_heal_sync(const Step& step);

  private:
    struct Seed {
        std::string text;
        bool is_name = false;
        std::vector<Endpoint> at;
        bool is_unresolved = false;
        TimePoint given{};
        std::optional<TimePoint> heard;
        TimePoint asked_until{};  // a look-up is under way
    };

    bool add_seed(const Step& step, std::string text);
    bool is_own(const Roster& roster, const Endpoint& endpoint) const;
    // Whether anybody but ourselves may ever be found.
    bool has_others(const Roster& roster) const;
    void found_if_first(const Step& step, Effects& effects);
    void finish(const Step& step, Effects& effects);
    void watch(const Step& step, Effects& effects);
    void find_others(const Step& step);
    bool is_members(const Roster& roster, const Seed& seed) const;
    SeedStatus status(TimePoint now, const Roster& roster, const Seed& seed) const;

    bool joined_ = false;
    bool alone_ = false;
    bool silent_seed_ = false;
    std::vector<Seed> seeds_;
    std::vector<Endpoint> own_;  // addresses from which our own packets came back
    std::deque<std::string> lookups_;
    Duration seed_wait_{0};
    TimePoint join_sync_from_;
    TimePoint heal_sync_from_;
    TimePoint in_company_;              // when another live peer was last known
    std::deque<Endpoint> earlier_;      // gossip addresses of members of the past, oldest first
    std::size_t next_earlier_ = 0;      // of those that are dialled in turn
    std::vector<Endpoint> others_;      // of those and the seeds, what was no live peer's address in others_version_
    std::uint64_t others_version_ = 0;  // of the roster's live peers; 0: never looked
};

}  // namespace exa::membership
