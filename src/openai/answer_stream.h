// AnswerStream: the text of one answer of one or more choices on its way to the client, at the target.
//
// Order of calls, for each choice on its own: replay() for tokens another target has already delivered, replay_finish()
// if it has delivered the choice's end too; then token() for each new one, until it is a stop token or stopped() turns
// true (cancel the generation then); then finish(). When all have finished: end(). What these return goes to the client
// as is; it is empty when there is nothing to show yet. Without head.stream everything comes from end().
//
// The bytes of every call are a function of the head, the stop strings and that choice's tokens so far (end(): of the
// counts of all): a target that resumes produces what the first one would have, with the same id. The role's delta and
// an echo ride with token 0, so no bytes of a choice were sent exactly when no token of it was. Logprobs ride with
// their token, whose text may come later: they were sent exactly when the token was; an echo's ride with token 0. Only
// an answer in one piece needs those of replayed tokens, which are gone: such an answer with logprobs starts again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/answer.h"
#include "openai/logprobs.h"
#include "openai/text.h"

namespace exa::openai {

// A token of a prompt that is echoed.
struct EchoedToken {
    std::string bytes;
    bool is_text = true;                      // false: it stands for nothing in the echo, such as BOS
    std::optional<TokenLogprobs> logprobs{};  // nothing: it follows none
};

class AnswerStream {
  public:
    AnswerStream(AnswerHead head, const std::vector<std::string>& stops);

    // A stop string was found.
    bool stopped(std::uint32_t choice) const { return choices_[choice].text.stopped(); }
    bool finished(std::uint32_t choice) const { return choices_[choice].finish.has_value(); }
    bool all_finished() const;
    // Replayed ones and a stop token included.
    std::uint32_t tokens(std::uint32_t choice) const { return choices_[choice].next_offset; }
    std::uint32_t completion_tokens() const;

    // A token whose events the client has already got.
    void replay(std::uint32_t choice, std::uint32_t offset, std::string_view bytes);
    void replay_finish(std::uint32_t choice, Finish reason);

    // Of an echo with logprobs, before token 0: what they are of the prompt's tokens. Without it the echo has none.
    void echo_logprobs(std::uint32_t choice, std::span<const EchoedToken> tokens);

    // `offset` counts from 0 without a gap, over replayed tokens too. The bytes of a stop token are not shown, nor are
    // its logprobs. Null logprobs: none are known of this token.
    std::string token(std::uint32_t choice, std::uint32_t offset, std::string_view bytes, bool is_stop_token,
                      const TokenLogprobs* logprobs = nullptr);

    // The rest of the choice's text and the chunk with its finish reason. A stop string that was found makes the reason
    // `stop`.
    std::string finish(std::uint32_t choice, Finish reason);

    // Of a stream: usage when asked for, and [DONE]. Else the whole answer as one JSON object. Once.
    std::string end(const PromptUsage& usage);

  private:
    struct Choice {
        AnswerText text;
        std::string whole;            // kept only without head_.stream
        std::string chat_logprobs;    // likewise; entries with commas between them
        CompletionLogprobs logprobs;  // likewise; of a stream those of the echo, until token 0
        std::size_t code_points = 0;  // begun in the tokens so far and in the echo
        std::uint32_t next_offset = 0;
        std::optional<Finish> finish;
    };

    std::string_view echo(std::uint32_t choice) const;
    std::string chunk(std::uint32_t choice, std::string_view text, bool first, std::string_view logprobs) const;
    std::string token_logprobs(Choice& choice, std::string_view bytes, const TokenLogprobs& logprobs) const;
    std::string whole_choice(std::uint32_t choice) const;
    std::string body(const PromptUsage& usage) const;

    AnswerHead head_;
    std::string chunk_open_;  // of every chunk: from "data: {" to "choices":[
    std::vector<Choice> choices_;
};

}  // namespace exa::openai
