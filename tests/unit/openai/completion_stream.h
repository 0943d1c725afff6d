// CompletionStream: an AnswerStream of one choice with short names, for the many tests that need no more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openai/answer.h"
#include "openai/answer_stream.h"

namespace exa::openai {

class CompletionStream {
  public:
    CompletionStream(AnswerHead head, const std::vector<std::string>& stops) : answer_(std::move(head), stops) {}

    bool stopped() const { return answer_.stopped(0); }
    std::uint32_t completion_tokens() const { return answer_.completion_tokens(); }

    void replay(std::uint32_t offset, std::string_view bytes) { answer_.replay(0, offset, bytes); }
    std::string token(std::uint32_t offset, std::string_view bytes, bool is_stop_token) {
        return answer_.token(0, offset, bytes, is_stop_token);
    }

    // The rest of the text, the chunk with the finish reason, usage when asked for, [DONE]. Once, with head.stream.
    std::string finish(Finish reason, const PromptUsage& usage) {
        std::string rest = answer_.finish(0, reason);
        return rest + answer_.end(usage);
    }

    // The whole answer as one JSON object. Once, without head.stream.
    std::string body(Finish reason, const PromptUsage& usage) { return finish(reason, usage); }

  private:
    AnswerStream answer_;
};

}  // namespace exa::openai
