#include "membership/member_memory.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "wire/gossip.h"

namespace exa::membership {

namespace {

constexpr std::string_view header = "exaserve-members 1\n";
constexpr std::chrono::seconds write_interval{5};

std::string checksum(std::string_view text) {
    return to_string(PeerId{hash64(as_bytes(text))});
}

std::optional<PeerId> parse_id(std::string_view text) {
    PeerId id;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), id.value, 16);
    if (errc != std::errc{} || end != text.data() + text.size() || id == PeerId{}) return std::nullopt;
    return id;
}

std::optional<RememberedMember> parse_line(std::string_view line) {
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', std::min(first, line.size() - 1) + 1);
    if (first == line.npos || second == line.npos) return std::nullopt;
    const auto id = parse_id(line.substr(0, first));
    const auto gossip = parse_endpoint(line.substr(first + 1, second - first - 1));
    const std::string_view name = line.substr(second + 1);
    if (!id || !gossip || name.size() > wire::text_bytes_max) return std::nullopt;
    return RememberedMember{*id, *gossip, std::string(name)};
}

}  // namespace

std::string format_members(const std::vector<RememberedMember>& members) {
    std::string text(header);
    for (const RememberedMember& member : members)
        text += to_string(member.id) + " " + to_string(member.gossip) + " " + member.name + "\n";
    return text + "end " + checksum(text) + "\n";
}

std::optional<std::vector<RememberedMember>> parse_members(std::string_view text) {
    const std::size_t end = text.rfind("end ");
    if (end == text.npos || text.substr(end) != "end " + checksum(text.substr(0, end)) + "\n") return std::nullopt;
    if (!text.starts_with(header)) return std::nullopt;
    text = text.substr(0, end);
    text.remove_prefix(header.size());
    std::vector<RememberedMember> members;
    while (!text.empty()) {
        const std::size_t line = text.find('\n');
        if (line == text.npos || line == 0 || members.size() >= MemberMemory::members_max) return std::nullopt;
        auto member = parse_line(text.substr(0, line));
        if (!member) return std::nullopt;
        members.push_back(std::move(*member));
        text.remove_prefix(line + 1);
    }
    return members;
}

void MemberMemory::start(TimePoint now, std::vector<RememberedMember> members) {
    before_ = std::move(members);
    started_ = now;
    text_ = format_members(before_);
}

std::vector<RememberedMember> MemberMemory::unmet(const Roster& roster) const {
    std::vector<RememberedMember> unmet;
    std::set<std::string_view> names;
    if (!before_.empty())
        for (const PeerId id : roster.live()) names.insert(roster.find(id)->record->name);
    for (const RememberedMember& member : before_)
        if (member.id != roster.self() && roster.find(member.id) == nullptr && !names.contains(member.name))
            unmet.push_back(member);
    return unmet;
}

std::optional<std::string> MemberMemory::take_file(TimePoint now, const Config& config, const Roster& roster) {
    if (roster.live_version() == written_version_ || (written_ && now - *written_ < write_interval))
        return std::nullopt;
    written_version_ = roster.live_version();
    if (now - started_ > config.lost_retention) before_.clear();
    const auto remembered = members(roster);
    if (text_.empty() && remembered.empty()) return std::nullopt;
    written_ = now;
    std::string text = format_members(remembered);
    if (text == text_) return std::nullopt;
    text_ = text;
    return text;
}

// All that have not left. Which of too many is a matter of both ids, so that a change replaces few of them.
std::vector<RememberedMember> MemberMemory::members(const Roster& roster) const {
    std::vector<std::pair<std::uint64_t, PeerId>> known;
    const auto add = [&](PeerId id) { known.emplace_back(hash64(roster.self().value, id.value), id); };
    for (const PeerId id : roster.live()) add(id);
    for (const auto& [since, id] : roster.dead()) add(id);
    if (known.size() > members_max) {
        std::ranges::nth_element(known, known.begin() + members_max);
        known.resize(members_max);
    }
    std::ranges::sort(known, {}, &std::pair<std::uint64_t, PeerId>::second);
    std::vector<RememberedMember> members;
    for (const auto& [rank, id] : known) {
        const wire::PeerRecord& record = *roster.find(id)->record;
        members.push_back({id, record.gossip, record.name});
    }
    for (RememberedMember& member : unmet(roster))
        if (members.size() < members_max) members.push_back(std::move(member));
    return members;
}

}  // namespace exa::membership
