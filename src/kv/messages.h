// What KV services ask one another over a peer link (wire::RequestKind::kv), and the answers.
//
//   lookup  which of these do you have?              answer: an item each, of size 0 for what is not there
//   fetch   send me these                            answer: segments, in the order of the question
//   offer   I have these; fetch what you lack        answer: an outcome each, once all are final
//   move    like offer, also to a peer that owns nothing of it
//
// Bytes of segments only ever travel in the answer to a fetch: the peer that needs them sets the pace. So an offer
// makes the other peer fetch before it answers.
//
//   question:  version u8 (1) | kind u8 | zero u16 | count u32 | items
//   item:      key 32 | stamp u64 | sealed bytes u32
//   segments:  for each item: sealed bytes u32 | that many; 0: not there
//   outcomes:  u8 each
//
// Integers are little-endian. Decoding accepts any bytes: errc::malformed, never a crash, in memory bounded by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "kv/segment_buffer.h"
#include "kv/segment_key.h"

namespace exa::kv {

enum class QuestionKind : std::uint8_t { lookup = 1, fetch = 2, offer = 3, move = 4 };

// What a peer holds or asks for.
struct Item {
    SegmentKey key;
    std::uint64_t stamp = 0;  // of a value of the Redis port, where the later one wins; 0 for a segment
    std::uint32_t bytes = 0;  // sealed; 0 in lookups and fetches
    bool operator==(const Item&) const = default;
};

struct Question {
    QuestionKind kind = QuestionKind::lookup;
    std::vector<Item> items;  // 1 to question_items_max
    bool operator==(const Question&) const = default;
};

inline constexpr std::size_t question_items_max = 512;

enum class OfferOutcome : std::uint8_t {
    held,     // it was there, or is stored now, as durably as that peer is configured to
    later,    // no room in the queues right now
    refused,  // no room on the disk, over a quota, or the disk fails
    foreign,  // the other peer does not own it, as it sees the cluster
    failed,   // it could not be fetched, or did not verify
};

std::string encode(const Question& question);
Result<Question> decode_question(std::string_view bytes);

// Upper bound of an answer about that many items, unless it is one of segments.
constexpr std::size_t answer_bytes_max(std::size_t items) {
    return items * 44;
}

std::string encode(std::span<const Item> items);
// An answer about that many items.
Result<std::vector<Item>> decode_items(std::string_view bytes, std::size_t count);

std::string encode(std::span<const OfferOutcome> outcomes);
Result<std::vector<OfferOutcome>> decode_outcomes(std::string_view bytes, std::size_t count);

// Precedes the bytes of each segment in the answer to a fetch.
std::string segment_prefix(std::size_t sealed_bytes);

// The answer to a fetch as it comes in, cut anywhere.
class SegmentReader {
  public:
    explicit SegmentReader(std::size_t count) : count_(count) {}

    // room(): where the next bytes go, at least one. filled(): that many of them are there. errc::malformed for a size
    // that no segment has, or bytes after the last one; nothing more is read then.
    std::span<std::uint8_t> room();
    Result<void> filled(std::size_t count);
    Result<void> feed(std::string_view bytes);
    // Segments that have arrived whole, in order; null for one that the other peer does not have. Not verified yet.
    std::optional<SealedSegment> next();
    // How many have begun to arrive or are whole.
    std::size_t seen() const { return seen_; }
    bool whole() const { return !failed_ && seen_ == count_ && !current_ && filled_ == 0; }

  private:
    const std::size_t count_;
    std::size_t seen_ = 0;
    bool failed_ = false;
    std::array<std::uint8_t, 4> prefix_{};
    std::shared_ptr<SegmentBuffer> current_;  // null: the prefix of the next one is due
    std::size_t filled_ = 0;                  // bytes of the one or the other
    std::vector<SealedSegment> ready_;
    std::size_t taken_ = 0;
};

}  // namespace exa::kv
