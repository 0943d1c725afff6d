// ResponsesStream: one answer to POST /v1/responses on its way to the client, at the target.
//
// The events of a stream, in order: response.created, response.in_progress, response.output_item.added,
// response.content_part.added; a response.output_text.delta for each piece of text; response.output_text.done,
// response.content_part.done, response.output_item.done; response.completed, or response.incomplete when the answer was
// cut by its length. No [DONE] follows.
//
// Order of calls and what they return: as AnswerStream, of which this is the kin for this API. The first four events
// ride with token 0. Ids and sequence numbers are functions of the head and the tokens so far. So that the last events
// are too, in a stream only deltas carry logprobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openai/answer.h"
#include "openai/logprobs.h"
#include "openai/responses_request.h"
#include "openai/text.h"

namespace exa::openai {

// The same for every event, and after a failover: the ingress makes id and created.
struct ResponseHead {
    std::string id;            // "resp_..."
    std::int64_t created = 0;  // Unix seconds
    std::string model;         // as the client named it
    bool stream = false;       // SSE events, else one JSON object
    bool logprobs = false;     // every token comes with its own
    ResponseSettings settings;
};

class ResponsesStream {
  public:
    explicit ResponsesStream(ResponseHead head);

    // Replayed ones and a stop token included.
    std::uint32_t tokens() const { return next_offset_; }

    // A token whose events the client has already got.
    void replay(std::uint32_t offset, std::string_view bytes);

    // `offset` counts from 0 without a gap, over replayed tokens too. The bytes of a stop token are not shown, nor are
    // its logprobs. Null logprobs: none are known of this token.
    std::string token(std::uint32_t offset, std::string_view bytes, bool is_stop_token,
                      const TokenLogprobs* logprobs = nullptr);

    // The rest of the text and the last events; without head.stream the whole response as one JSON object. Once.
    std::string end(Finish reason, const PromptUsage& usage);

  private:
    std::string event(std::string_view type, std::string_view members);
    std::string prelude();
    std::string delta(std::string_view text, std::string_view logprobs);
    std::string part(std::string_view text, std::string_view logprobs) const;
    std::string item(std::string_view status, std::string_view content) const;
    std::string response(std::string_view status, std::string_view output, std::string_view usage) const;

    ResponseHead head_;
    std::string item_id_;
    AnswerText text_;
    std::string whole_;
    std::string whole_logprobs_;  // kept only without head_.stream; entries with commas between them
    std::uint32_t next_offset_ = 0;
    std::uint64_t next_sequence_ = 0;
};

// An error after the first byte of a stream: one event, after which the stream ends. It has the flat members of the
// API's error event and the `error` object by which clients know that the stream broke.
std::string response_error_event(const ApiError& error, std::uint64_t sequence_number);

}  // namespace exa::openai
