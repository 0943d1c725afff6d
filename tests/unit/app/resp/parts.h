// What the parts of a RespKeyspace stand on, and versions as a set makes them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/resp/counters.h"
#include "app/resp/deps.h"
#include "app/resp/value.h"
#include "app/resp/value_cache.h"
#include "app/resp/version.h"
#include "unit/app/kv/fakes.h"

namespace exa::app::test {

// Others that hold back what they are asked for until the test answers.
class AskedPeers final : public FakeKvPeers {
  public:
    bool has_others() const override { return true; }
    void find(std::vector<exa::kv::KnownValue> values, Found done) override {
        asked = std::move(values);
        found = std::move(done);
    }
    void fetch(const exa::kv::Item& item, std::vector<PeerId>, Fetched done) override {
        fetched_item = item;
        fetched = std::move(done);
    }
    void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool>, const exa::kv::FetchTerms&,
              Sink sink) override {
        chain_asked = std::move(chain);
        chain_sink = std::move(sink);
    }
    void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment segment) override {
        const std::lock_guard lock(mutex_);
        offered_.emplace_back(head.key, sealer.verify(head.key, segment->view()).has_value());
    }
    // Keys, and whether they came sealed.
    std::vector<std::pair<exa::kv::SegmentKey, bool>> offered() const {
        const std::lock_guard lock(mutex_);
        return offered_;
    }

    std::vector<exa::kv::KnownValue> asked;
    Found found;
    exa::kv::Item fetched_item;
    Fetched fetched;
    std::vector<exa::kv::SegmentKey> chain_asked;
    Sink chain_sink;

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<exa::kv::SegmentKey, bool>> offered_;
};

inline exa::kv::SegmentKey user_key_of(const std::string& user_key) {
    return resp::resp_key(crypto, Digest{}, user_key);
}

struct RespPartsFixture {
    explicit RespPartsFixture(io::store::SegmentStore* disk = nullptr, kv::KvPeers* peers = nullptr,
                              std::uint64_t memory_bytes = 1 << 20)
        : deps{crypto, secret, sealer, disk, peers, [this] { return WallTime{now_us}; }},
          cache({memory_bytes, 2 * memory_bytes, 1}, deps, counters) {}

    // Without a stamp and keys, as RespValueCache::write() takes it.
    resp::RespVersion version(const std::string& user_key, const std::vector<std::string>& parts,
                              std::int64_t expires_ms = 0) {
        resp::RespVersion made;
        made.tag = 3;
        made.expires_ms = expires_ms;
        made.sealing = std::make_shared<std::once_flag>();
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::size_t before =
                exa::kv::segment_header_size + (i == 0 ? resp::resp_head_size(user_key.size()) : 0);
            made.parts.push_back(cache.make_buffer(before + parts[i].size()));
            std::ranges::copy(as_bytes(parts[i]), made.parts[i]->bytes().subspan(before).begin());
            bytes += parts[i].size();
            made.bytes += made.parts[i]->size();
        }
        resp::write_resp_head({user_key, static_cast<std::uint32_t>(parts.size()), bytes, expires_ms, {}},
                              made.parts[0]->bytes().subspan(exa::kv::segment_header_size));
        return made;
    }
    resp::RespVersion write(const std::string& user_key, const std::string& text, std::int64_t expires_ms = 0) {
        return cache.write(user_key_of(user_key), version(user_key, {text}, expires_ms), 0);
    }
    // Sealed, as a disk or a peer has it, part by part.
    std::vector<exa::kv::SealedSegment> sealed_parts(const std::string& user_key, const std::vector<std::string>& parts,
                                                     std::uint64_t stamp) {
        resp::RespVersion made = version(user_key, parts);
        made.stamp = stamp;
        for (std::uint32_t i = 0; i < parts.size(); ++i)
            made.keys.push_back(resp::resp_part_key(crypto, user_key_of(user_key), stamp, i));
        resp::seal_resp(made, sealer);
        return {made.parts.begin(), made.parts.end()};
    }

    std::atomic<std::int64_t> now_us = 1'800'000'000'000'000;
    resp::RespDeps deps;
    resp::RespCounters counters;
    resp::RespValueCache cache;
};

inline std::string text_of(const std::optional<exa::resp::Value>& value) {
    if (!value) return "(none)";
    std::string text;
    for (const exa::resp::Piece& piece : value->pieces) text += as_text(piece.bytes);
    return text;
}

}  // namespace exa::app::test
