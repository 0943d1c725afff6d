#include "app/kv/disk.h"

#include <utility>

namespace exa::app {

namespace {

class StoreDisk final : public KvDisk {
  public:
    explicit StoreDisk(std::unique_ptr<io::SegmentStore> store) : store_(std::move(store)) {}

    std::vector<io::PutOutcome> put(WallTime now, std::span<const kv::SealedSegment> segments) override {
        return store_->put(now, segments);
    }
    kv::SealedSegment get(WallTime now, const kv::SegmentKey& key) override { return store_->get(now, key); }
    bool has(WallTime now, const kv::SegmentKey& key) override { return store_->has(now, {&key, 1}).front() > 0; }
    std::optional<io::StoredInfo> find(const kv::SegmentKey& key) const override { return store_->find(key); }
    std::vector<kv::Item> look(WallTime now, std::span<const kv::SegmentKey> keys) override {
        std::vector<kv::Item> items;
        items.reserve(keys.size());
        for (const io::StoredInfo& found : store_->look(now, keys)) {
            const bool is_removal = found.kind == kv::SegmentKind::tombstone;
            items.push_back({found.key, found.stamp, is_removal ? 0 : found.bytes});
        }
        return items;
    }
    std::vector<io::StoredInfo> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override {
        return store_->list(after, limit);
    }
    std::size_t erase(std::span<const kv::SegmentKey> keys) override { return store_->erase(keys); }
    bool erase_version(const kv::SegmentKey& key, std::uint64_t stamp) override {
        return store_->erase_version(key, stamp);
    }
    std::vector<kv::SegmentKey> next_to_go(WallTime now, std::size_t limit) const override {
        return store_->next_to_go(now, limit);
    }
    kv::SealedSegment peek(const kv::SegmentKey& key) override { return store_->peek(key); }
    void settle(const kv::SegmentKey& key) override { store_->settle(key); }
    void maintain(WallTime now) override { store_->maintain(now); }
    io::ScrubReport scrub(const std::optional<kv::SegmentKey>& after, std::size_t count) override {
        return store_->scrub(after, count);
    }
    io::StoreStats stats() const override { return store_->stats(); }
    void set_quota(std::uint64_t tenant, std::uint64_t bytes) override { store_->set_quota(tenant, bytes); }
    std::uint64_t tenant_bytes(std::uint64_t tenant) const override { return store_->tenant_bytes(tenant); }

  private:
    const std::unique_ptr<io::SegmentStore> store_;
};

}  // namespace

Result<std::unique_ptr<KvDisk>> open_kv_disk(const io::StoreConfig& config, const kv::SegmentSealer& sealer,
                                             WallTime now, Log& log) {
    EXA_TRY(auto store, io::SegmentStore::open(config, sealer, now, log));
    return std::make_unique<StoreDisk>(std::move(store));
}

}  // namespace exa::app
