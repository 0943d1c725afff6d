// MemberMemory: the members of its cluster that a peer remembers across restarts.
//
// Seeds may be gone, or be names that resolve to nothing or to this peer alone. The members of before are asked too,
// and a peer that has not met them again knows that it must not decide for them: commands that bind others look at
// unmet().
//
// The file, in the peer's data directory, holds hints: a damaged one is as good as none.
//
//   exaserve-members 1
//   <16 hexadecimal digits> 10.0.0.1:7946 node-1     id, gossip address, name
//   end <16 hexadecimal digits>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "membership/config.h"
#include "membership/roster.h"

namespace exa::membership {

struct RememberedMember {
    PeerId id;
    Endpoint gossip;
    std::string name;
    bool operator==(const RememberedMember&) const = default;
};

std::string format_members(const std::vector<RememberedMember>& members);
// Nothing: the text is damaged, or of a later version.
std::optional<std::vector<RememberedMember>> parse_members(std::string_view text);

class MemberMemory {
  public:
    // Of a larger cluster each peer remembers so many, others than its neighbours do.
    static constexpr std::size_t members_max = 256;

    // `members`: of the instance before.
    void start(TimePoint now, std::vector<RememberedMember> members);
    // The members of before of which nothing has been heard since the start, neither from them nor from others. A live
    // peer of the same name has taken the place of one.
    std::vector<RememberedMember> unmet(const Roster& roster) const;
    // What to store, when that changed since the last call; at most once each write_interval.
    std::optional<std::string> take_file(TimePoint now, const Config& config, const Roster& roster);

  private:
    std::vector<RememberedMember> members(const Roster& roster) const;

    std::vector<RememberedMember> before_;
    TimePoint started_{};
    std::optional<TimePoint> written_;
    std::uint64_t written_version_ = 0;  // of the roster's live peers
    std::string text_;                   // as it was stored last
};

}  // namespace exa::membership
