// AnswerReader: the body of one answer, as JSON in one piece or as server-sent events, while it arrives.
// The body is untrusted: whatever it holds ends in text, counts or a failure. Memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loadgen/outcome.h"

namespace exa::loadgen {

class AnswerReader {
  public:
    static constexpr std::size_t body_bytes_max = 16UL * 1024 * 1024;  // of an answer in one piece
    static constexpr std::size_t line_bytes_max = 1024UL * 1024;       // of an event
    static constexpr std::size_t message_bytes_max = 200;

    // `keeps_text`: the caller wants the answer's text.
    AnswerReader(bool stream, bool keeps_text) : stream_(stream), keeps_text_(keeps_text) {}

    // The next piece of the body. Returns how many events with text (content, reasoning or a tool call) it completed;
    // always 0 for an answer in one piece.
    std::uint32_t feed(std::string_view piece);
    // The body has ended.
    void finish();

    // Once there is one the rest of the body does not matter.
    Failure failure() const { return failure_; }
    const std::string& message() const { return message_; }

    std::uint64_t events() const { return events_; }
    std::uint64_t prompt_tokens() const { return prompt_tokens_; }  // 0: the server did not say
    std::uint64_t output_tokens() const { return output_tokens_; }  // the same
    const std::string& text() const { return text_; }

  private:
    void read_line(std::string_view line);
    void read_event(std::string_view data);
    // True when it carries text.
    bool read_json(std::string_view json);
    void fail(Failure failure, std::string_view message);

    bool stream_;
    bool keeps_text_;
    bool done_ = false;
    std::string pending_;  // a line that has not ended, or the body in one piece
    std::string text_;
    std::uint64_t events_ = 0;
    std::uint64_t prompt_tokens_ = 0;
    std::uint64_t output_tokens_ = 0;
    Failure failure_ = Failure::none;
    std::string message_;
};

// "<message>" of a body in OpenAI's error shape, else its first bytes, with control characters as spaces; bounded.
std::string error_text(std::string_view body);

}  // namespace exa::loadgen
