// BuiltinReply: the sequences of an engine of this process on their way through tokens, text and rendering to the
// reader of one answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/builtin/answer_writer.h"
#include "app/builtin/sequence_group.h"
#include "app/replica/backend.h"
#include "app/replica/reply.h"
#include "engine/replica.h"
#include "model/tokenizer.h"

namespace exa::app::builtin {

// What is made of the tokens.
struct BuiltinAnswer {
    AnswerWriter text;                                   // with the tokens of a resumed answer replayed
    std::uint32_t prompt_tokens = 0;                     // of all prompts
    std::uint32_t prompts = 1;                           // as many choices each, those of the first prompt first
    std::uint32_t replayed = 0;                          // tokens of all choices
    bool shows_special = false;                          // control tokens, by their names
    std::vector<std::vector<engine::TokenId>> echoed{};  // the prompts, if choices begin with them and their logprobs
};

class BuiltinReply final : public replica::ReplyReader, public std::enable_shared_from_this<BuiltinReply> {
  public:
    BuiltinReply(std::shared_ptr<ReplicaHost> host, std::shared_ptr<const model::Tokenizer> tokenizer,
                 BuiltinAnswer answer, replica::ReplyContext context);
    ~BuiltinReply() override;

    // Hands the sequences to the engine, one a choice; once, before anything is read. Errors as of
    // SequenceGroup::start().
    Result<void> start(std::vector<SequenceGroup::Item> sequences, const SequenceGroup::WaitOptions& wait_options);

    std::optional<Result<replica::ReplyPart>> poll() override;
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override;

  private:
    struct Choice {
        std::vector<engine::TokenEvent> events;  // from next_event on they wait for the reader
        std::size_t next_event = 0;
        std::uint32_t cached_tokens = 0;

        bool waits() const { return next_event < events.size(); }
    };

    void take(std::uint32_t index, std::vector<engine::TokenEvent> events);
    void refuse(const Error& why);
    // Renders what waits of one choice: into data_, and at the end of the answer into body_ and end_. Nothing when
    // nothing waits.
    void render();
    std::optional<std::uint32_t> next_choice();
    void add(std::uint32_t index, const engine::TokenEvent& event, wire::Data& out);
    void add_echo(std::uint32_t index, const std::vector<engine::TokenLogprobs>& logprobs);
    void finish();
    openai::PromptUsage usage() const;
    void account();

    const std::shared_ptr<ReplicaHost> host_;
    const std::shared_ptr<const model::Tokenizer> tokenizer_;
    BuiltinAnswer answer_;
    const replica::ReplyContext context_;
    std::function<void()> on_ready_;
    std::shared_ptr<SequenceGroup> sequences_;

    std::vector<Choice> choices_;
    std::uint32_t last_choice_;  // that was rendered
    std::optional<engine::FinishReason> failure_;
    bool cut_ = false;  // by an event that fits no frame
    bool cancelled_ = false;
    bool accounted_ = false;

    // Rendered and not yet read, in this order.
    bool head_due_ = true;
    std::optional<wire::Data> data_;
    std::optional<wire::Data> body_;
    std::optional<wire::End> end_;
    bool ended_ = false;
};

// The engine's figures with the tokens' bytes.
openai::TokenLogprobs to_openai(const engine::TokenLogprobs& logprobs, const model::Tokenizer& tokenizer);

}  // namespace exa::app::builtin
