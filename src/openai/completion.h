// CompletionStream: the text of one answer on its way to the client, at the target.
//
// Order of calls: replay() for tokens another target has already delivered; then token() for each new one, until it is
// a stop token or stopped() turns true (cancel the generation then); then finish(), or body() for an answer in one
// piece. What token() and finish() return goes to the client as is; it is empty when there is nothing to show yet.
//
// The bytes of every call are a function of the head, the stop strings and the tokens so far: a target that resumes
// produces what the first one would have, with the same id. The role's delta rides with token 0, so no bytes were sent
// exactly when no token was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"
#include "openai/text.h"

namespace exa::openai {

enum class Shape : std::uint8_t { chat, completion };

// The same for every chunk of an answer, and after a failover: the entry makes it.
struct AnswerHead {
    Shape shape = Shape::chat;
    std::string id;              // "chatcmpl-..." or "cmpl-..."
    std::int64_t created = 0;    // Unix seconds
    std::string model;           // as the client named it
    std::string fingerprint;     // system_fingerprint; empty leaves it out
    bool stream = false;         // SSE events, else only body()
    bool include_usage = false;  // a usage chunk before [DONE]
};

enum class Finish : std::uint8_t { stop, length };

struct PromptUsage {
    std::uint32_t prompt_tokens = 0;
    std::uint32_t cached_tokens = 0;  // of them, found in a KV cache
};

class CompletionStream {
  public:
    CompletionStream(AnswerHead head, std::vector<std::string> stops);

    // A stop string was found.
    bool stopped() const { return text_.stopped(); }
    // Replayed ones and a stop token included.
    std::uint32_t completion_tokens() const { return next_offset_; }

    // A token whose events the client has already got.
    void replay(std::uint32_t offset, std::string_view bytes);

    // `offset` counts from 0 without a gap, over replayed tokens too. The bytes of a stop token are not shown.
    std::string token(std::uint32_t offset, std::string_view bytes, bool is_stop_token);

    // The rest of the text, the chunk with the finish reason, usage when asked for, [DONE]. A stop string that was
    // found makes the reason `stop`. Once, with head.stream.
    std::string finish(Finish reason, const PromptUsage& usage);

    // The whole answer as one JSON object. Once, without head.stream.
    std::string body(Finish reason, const PromptUsage& usage);

  private:
    std::string text_chunk(std::string_view text, bool first) const;

    AnswerHead head_;
    std::string chunk_open_;  // of every chunk: from "data: {" to "choices":[
    AnswerText text_;
    std::string whole_;  // kept only without head_.stream
    std::uint32_t next_offset_ = 0;
};

// An error behind the first byte of a stream: one event, after which the stream ends without [DONE].
std::string error_event(const ApiError& error);

// The id of an answer: "chatcmpl-" or "cmpl-" and 32 hexadecimal digits of two random numbers.
std::string answer_id(Shape shape, std::uint64_t random_high, std::uint64_t random_low);

}  // namespace exa::openai
