// A disk and peers of a KvService that tests hold in their hands.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "app/kv/service.h"
#include "io/crypto/openssl_crypto.h"

namespace exa::app::test {

inline const io::crypto::OpenSslCrypto crypto;
inline const Bytes secret(32, 7);
inline const exa::kv::SegmentSealer sealer(crypto, secret);

inline exa::kv::SegmentKey key_of(std::uint8_t n) {
    exa::kv::SegmentKey key;
    key.bytes[0] = n;
    return key;
}

// A segment of so many bytes of payload, all of them `n`, under key_of(n).
inline std::pair<exa::kv::SegmentHead, std::shared_ptr<exa::kv::SegmentBuffer>> segment_of(std::uint8_t n,
                                                                                           std::size_t bytes = 100) {
    exa::kv::SegmentHead head;
    head.key = key_of(n);
    head.tokens = 16;
    auto buffer = std::make_shared<exa::kv::SegmentBuffer>(exa::kv::segment_header_size + bytes);
    std::ranges::fill(buffer->bytes().subspan(exa::kv::segment_header_size), n);
    return {head, std::move(buffer)};
}

inline exa::kv::SealedSegment sealed(std::uint8_t n, std::size_t bytes = 100);
// As sealed(n), with one bit of it changed.
inline exa::kv::SealedSegment rotten(std::uint8_t n) {
    const auto good = sealed(n);
    auto bad = std::make_shared<exa::kv::SegmentBuffer>(good->size());
    std::ranges::copy(good->view(), bad->bytes().begin());
    bad->bytes().back() ^= 1;
    return bad;
}

inline exa::kv::SealedSegment sealed(std::uint8_t n, std::size_t bytes) {
    auto [head, buffer] = segment_of(n, bytes);
    sealer.seal(head, *buffer);
    return buffer;
}

class FakeDisk final : public io::store::SegmentStore {
  public:
    std::vector<io::store::PutOutcome> put(WallTime, std::span<const exa::kv::SealedSegment> segments) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !writes_held_; });
        std::vector<io::store::PutOutcome> outcomes;
        for (const auto& segment : segments) {
            const exa::kv::SegmentHead head = exa::kv::parse_segment(segment->view()).value();
            const auto old = segments_.find(head.key);
            const bool later = head.stamp != 0 && old != segments_.end() && info_of(*old).stamp >= head.stamp;
            if (!full && !later) segments_[head.key] = segment;
            outcomes.push_back(full    ? io::store::PutOutcome::refused_full
                               : later ? io::store::PutOutcome::present
                                       : io::store::PutOutcome::stored);
            ++puts_;
        }
        changed_.notify_all();
        return outcomes;
    }
    exa::kv::SealedSegment get(WallTime, const exa::kv::SegmentKey& key) override {
        std::unique_lock lock(mutex_);
        ++gets_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !reads_held_; });
        const auto found = segments_.find(key);
        if (found == segments_.end()) return nullptr;
        if (sealer.verify(key, found->second->view())) return found->second;
        segments_.erase(found);
        return nullptr;
    }
    std::vector<exa::kv::Item> lookup(WallTime, std::span<const exa::kv::SegmentKey> keys) override {
        std::vector<exa::kv::Item> items;
        for (const auto& key : keys) {
            const auto found = find(key).value_or(io::store::StoredInfo{.key = key});
            items.push_back({key, found.stamp, found.kind == exa::kv::SegmentKind::tombstone ? 0 : found.bytes});
        }
        return items;
    }
    std::optional<io::store::StoredInfo> find(const exa::kv::SegmentKey& key) const override {
        const std::lock_guard lock(mutex_);
        const auto found = segments_.find(key);
        if (found == segments_.end()) return std::nullopt;
        return info_of(*found);
    }
    std::vector<io::store::StoredInfo> list(const std::optional<exa::kv::SegmentKey>& after,
                                            std::size_t limit) const override {
        const std::lock_guard lock(mutex_);
        std::vector<io::store::StoredInfo> page;
        for (auto at = after ? segments_.upper_bound(*after) : segments_.begin();
             at != segments_.end() && page.size() < limit; ++at)
            page.push_back(info_of(*at));
        return page;
    }
    std::size_t erase(std::span<const exa::kv::SegmentKey> keys) override {
        const std::lock_guard lock(mutex_);
        std::size_t erased = 0;
        for (const auto& key : keys) erased += segments_.erase(key);
        return erased;
    }
    bool erase_version(const exa::kv::SegmentKey& key, std::uint64_t stamp) override {
        const auto found = find(key);
        return found && found->stamp == stamp && erase({&key, 1}) > 0;
    }
    std::vector<exa::kv::SegmentKey> next_to_go(WallTime, std::size_t limit) const override {
        const std::lock_guard lock(mutex_);
        return {aging_.begin(), aging_.begin() + static_cast<std::ptrdiff_t>(std::min(limit, aging_.size()))};
    }
    exa::kv::SealedSegment peek(const exa::kv::SegmentKey& key) override { return get({}, key); }
    void mark_persisted(const exa::kv::SegmentKey& key) override {
        const std::lock_guard lock(mutex_);
        std::erase(aging_, key);
        changed_.notify_all();
    }
    void maintain(WallTime) override {}
    // One page: those that are bad go.
    io::store::ScrubReport scrub(const std::optional<exa::kv::SegmentKey>&, std::size_t) override {
        io::store::ScrubReport report;
        const std::lock_guard lock(mutex_);
        for (auto at = segments_.begin(); at != segments_.end();) {
            ++report.checked;
            report.bytes += at->second->size();
            if (sealer.verify(at->first, at->second->view())) {
                ++at;
                continue;
            }
            ++report.dropped;
            report.lost.push_back(at->first);
            at = segments_.erase(at);
        }
        return report;
    }
    io::store::StoreStats stats() const override { return {}; }
    void set_quota(std::uint64_t tenant, std::uint64_t bytes) override { quotas[tenant] = bytes; }
    std::uint64_t tenant_bytes(std::uint64_t) const override { return 77; }

    void keep(exa::kv::SealedSegment segment) {
        const std::lock_guard lock(mutex_);
        segments_[exa::kv::parse_segment(segment->view()).value().key] = std::move(segment);
    }
    // Is the next to go.
    void age(const exa::kv::SegmentKey& key) {
        const std::lock_guard lock(mutex_);
        aging_.push_back(key);
    }
    void wait_for_settled() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return aging_.empty(); });
    }
    void hold_reads(bool held) { set(reads_held_, held); }
    void hold_writes(bool held) { set(writes_held_, held); }
    void wait_for_puts(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return puts_ >= count; });
    }
    std::size_t wait_for_gets(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return gets_ >= count; });
        return gets_;
    }
    bool full = false;
    std::map<std::uint64_t, std::uint64_t> quotas;

  private:
    void set(bool& flag, bool value) {
        const std::lock_guard lock(mutex_);
        flag = value;
        changed_.notify_all();
    }

    static io::store::StoredInfo info_of(const std::pair<const exa::kv::SegmentKey, exa::kv::SealedSegment>& entry) {
        const exa::kv::SegmentHead head = exa::kv::parse_segment(entry.second->view()).value();
        return {entry.first, head.tenant, head.stamp, static_cast<std::uint32_t>(entry.second->size()), head.kind};
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<exa::kv::SegmentKey, exa::kv::SealedSegment> segments_;
    std::vector<exa::kv::SegmentKey> aging_;
    bool reads_held_ = false;
    bool writes_held_ = false;
    std::size_t puts_ = 0;
    std::size_t gets_ = 0;
};

// Others that have nothing.
class FakeKvPeers : public kv::KvPeers {
  public:
    void load(std::vector<exa::kv::SegmentKey>, std::vector<bool>, const exa::kv::FetchTerms&, Sink sink) override {
        sink({});
    }
    void handle_stored(const exa::kv::SegmentHead&, exa::kv::SealedSegment) override {}
    void recover(const exa::kv::SegmentKey&) override {}
    void move(PeerId, std::vector<exa::kv::SegmentKey>, Moved) override {}
    bool has_others() const override { return false; }
    void find(std::vector<exa::kv::KnownValue>, Found) override {}
    void fetch(const exa::kv::Item&, std::vector<PeerId>, Fetched) override {}
    node::KvReplicatorStatus status() const override { return {}; }
};

// What one load brought.
class Basket {
  public:
    explicit Basket(std::size_t enough = SIZE_MAX) : enough_(enough) {}

    kv::KvSink sink() {
        return [this](exa::kv::SealedSegment segment) {
            if (!segment) {
                done_.set_value();
                return false;
            }
            brought_.push_back(std::move(segment));
            if (brought_.size() < enough_) return true;
            done_.set_value();
            return false;
        };
    }
    // The first payload bytes, once it has ended.
    std::vector<int> wait() {
        done_.get_future().get();
        std::vector<int> bytes;
        for (const auto& segment : brought_) bytes.push_back(exa::kv::payload_of(segment->view()).front());
        return bytes;
    }

  private:
    const std::size_t enough_;
    std::vector<exa::kv::SealedSegment> brought_;
    std::promise<void> done_;
};

inline std::vector<exa::kv::SegmentKey> keys_of(std::initializer_list<std::uint8_t> numbers) {
    std::vector<exa::kv::SegmentKey> keys;
    for (const std::uint8_t n : numbers) keys.push_back(key_of(n));
    return keys;
}

}  // namespace exa::app::test
