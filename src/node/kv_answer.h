// KvAnswer: what this peer answers to one question of another peer about KV, as a machine that production and the
// simulator drive on whichever thread the question came to.
//
// A lookup is answered with an item for each key; a fetch with the segments in the order of the question, reading ahead
// while one is sent; an offer or a move with the outcomes from the replicator (kv_replicator.h). A question that cannot
// be decoded is refused.
//
// Sans-IO. Polling order: handle_*() and cancel() at any time, then poll_work() until it is empty; poll_part() whenever
// there is room to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kv/messages.h"

namespace exa::node {

class KvAnswer {
  public:
    // For the store: which of these are here? handle_items() follows.
    struct Lookup {
        std::vector<kv::SegmentKey> keys;
    };
    // For the store: this segment, from memory, disk or the cold tier. handle_read() follows; one at a time.
    struct Read {
        kv::SegmentKey key;
    };
    // For the replicator; handle_outcomes() follows. The stamp is for the peer's clock of values; 0: there is none.
    struct Offer {
        kv::Question question;
        std::uint64_t latest_stamp = 0;
    };
    // The offer's outcomes are not awaited any more.
    struct Forget {};
    using Work = std::variant<Lookup, Read, Offer, Forget>;

    struct Body {
        std::string bytes;
    };
    struct Segment {
        kv::SealedSegment segment;  // null: it is not here
    };
    // The last part.
    struct End {
        std::string failure;  // empty unless the question is refused
    };
    using Part = std::variant<Body, Segment, End>;

    // Segments of a fetch that are read before there is room to send them.
    static constexpr std::size_t read_ahead = 2;

    // `question` is the body as it came.
    explicit KvAnswer(std::string_view question);

    // An item for each key, in order.
    void handle_items(std::span<const kv::Item> items);
    // Null: it is not here.
    void handle_read(kv::SealedSegment segment);
    // The body of the replicator's Answer.
    void handle_outcomes(std::string body);
    // The answer is not read any more: no part follows, and no work except a Forget.
    void cancel();

    std::optional<Work> poll_work();
    std::optional<Part> poll_part();
    // All parts before the End are polled.
    bool is_sent() const;

  private:
    enum class State : std::uint8_t { begun, waiting, refused, answered, over };

    kv::Question question_;
    State state_ = State::begun;
    bool forgets_ = false;
    std::string body_;  // the answer, or why there is none
    // Of a fetch:
    std::size_t asked_ = 0;  // items
    std::size_t sent_ = 0;
    bool is_reading_ = false;
    std::deque<kv::SealedSegment> ready_;
};

}  // namespace exa::node
