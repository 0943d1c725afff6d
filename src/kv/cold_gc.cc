#include "kv/cold_gc.h"

#include <algorithm>
#include <utility>

#include "base/flat_map.h"
#include "ring/rendezvous.h"

namespace exa::kv {

std::uint32_t cold_folder(const SegmentKey& key) {
    return std::uint32_t{key.bytes[0]} << 4 | key.bytes[1] >> 4;
}

ColdGc::ColdGc(PeerId self, const ColdGcConfig& config) : self_(self), config_(config), folders_(cold_folders) {}

std::uint64_t ColdGc::share_bytes() const {
    return static_cast<std::uint64_t>(static_cast<double>(config_.capacity_bytes) * folders() / cold_folders);
}

void ColdGc::handle_peers(TimePoint now, const std::vector<PeerId>& peers) {
    std::vector<ring::RendezvousCandidate> candidates;
    candidates.reserve(peers.size());
    for (const PeerId peer : peers) candidates.push_back({.id = peer.value});
    for (std::uint32_t number = 0; number < cold_folders; ++number) {
        const auto chosen = ring::choose_owners(mix64(number), candidates, 1);
        const bool is_mine = !chosen.empty() && peers[chosen.front()] == self_;
        Folder& folder = folders_[number];
        if (is_mine == folder.is_mine) continue;
        forget(folder);
        folder.is_mine = is_mine;
        if (is_mine)
            mine_.insert(number);
        else
            mine_.erase(number);
    }
    if (mine_.empty())
        next_ = time_never;
    else if (next_ == time_never)
        next_ = now;
}

std::optional<std::uint32_t> ColdGc::next(TimePoint now) {
    if (now < next_) return std::nullopt;
    const bool may_be_full = bytes_ + std::max(written_, written_before_) > share_bytes();
    // From now, not from when it was due: rounds missed while the directory did not answer are not made up for.
    next_ = now + (may_be_full ? config_.full_round : config_.round) / static_cast<std::int64_t>(mine_.size());
    auto at = last_ ? mine_.upper_bound(*last_) : mine_.begin();
    if (at == mine_.end()) {
        at = mine_.begin();
        written_before_ = std::exchange(written_, 0);
    }
    last_ = *at;
    return last_;
}

std::vector<std::string> ColdGc::handle_listing(WallTime now, std::uint32_t number, std::vector<ColdFile> files) {
    std::vector<std::string> gone;
    Folder& folder = folders_[number];
    if (!folder.is_mine) return gone;
    forget(folder);
    std::erase_if(files, [&](ColdFile& file) {
        if (file.key) return false;
        if (now.unix_seconds() - file.used_s > config_.leftover_s) gone.push_back(std::move(file.name));
        return true;
    });
    for (const ColdFile& file : files) folder.bytes += file.bytes;
    folder.files = files.size();
    bytes_ += folder.bytes;
    files_ += folder.files;

    if (evict_left_ == 0 && bytes_ > share_bytes()) {
        evict_left_ = mine_.size();
        evict_part_ = 1.0 - static_cast<double>(share_bytes()) * config_.low_water / static_cast<double>(bytes_);
        carry_ = 0;
    }
    if (evict_left_ == 0) return gone;
    --evict_left_;
    carry_ += static_cast<double>(folder.bytes) * evict_part_;
    std::ranges::sort(files, {}, [](const ColdFile& file) { return std::pair(file.used_s, file.name); });
    for (ColdFile& file : files) {
        if (static_cast<double>(file.bytes) > carry_) break;
        carry_ -= static_cast<double>(file.bytes);
        folder.bytes -= file.bytes;
        bytes_ -= file.bytes;
        --folder.files;
        --files_;
        gone.push_back(std::move(file.name));
    }
    return gone;
}

void ColdGc::forget(Folder& folder) {
    bytes_ -= std::exchange(folder.bytes, 0);
    files_ -= std::exchange(folder.files, 0);
}

}  // namespace exa::kv
