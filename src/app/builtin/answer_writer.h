// AnswerWriter: what the client gets for the tokens of an answer, whatever API it asked by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/answer.h"
#include "openai/answer_stream.h"
#include "openai/error.h"
#include "openai/logprobs.h"
#include "openai/responses_stream.h"

namespace exa::app::builtin {

// Order of calls as of openai::AnswerStream, which see; offsets are counted in here.
class AnswerWriter {
  public:
    AnswerWriter(openai::AnswerHead head, const std::vector<std::string>& stops);
    explicit AnswerWriter(openai::ResponseHead head);

    bool is_stream() const { return is_stream_; }
    std::uint32_t choices() const { return choices_; }
    bool stopped(std::uint32_t choice) const;
    bool finished(std::uint32_t choice) const;
    bool all_finished() const;
    std::uint32_t tokens(std::uint32_t choice) const;
    std::uint32_t completion_tokens() const;  // replayed ones included

    void replay(std::uint32_t choice, std::string_view bytes);
    void replay_finish(std::uint32_t choice, openai::Finish reason);
    void echo_logprobs(std::uint32_t choice, std::span<const openai::EchoedToken> tokens);
    std::string token(std::uint32_t choice, std::string_view bytes, bool is_stop_token,
                      const openai::TokenLogprobs* logprobs);
    std::string finish(std::uint32_t choice, openai::Finish reason);
    std::string end(const openai::PromptUsage& usage);

    // Of a stream: what its client gets last instead of more.
    std::string error_event(const openai::ApiError& error) const;

  private:
    // Its one choice finishes in end().
    struct Response {
        openai::ResponsesStream stream;
        std::optional<openai::Finish> finish = std::nullopt;
    };

    bool is_stream_;
    std::uint32_t choices_;
    std::variant<openai::AnswerStream, Response> writer_;
};

}  // namespace exa::app::builtin
