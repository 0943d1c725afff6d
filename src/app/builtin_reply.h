// BuiltinReply: one generation of an engine of this process on its way through tokens, text and rendering to its
// reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/backend.h"
#include "app/replica_host.h"
#include "app/reply.h"
#include "engine/replica.h"
#include "model/tokenizer.h"
#include "openai/completion.h"

namespace exa::app {

// What is made of the tokens.
struct BuiltinAnswer {
    openai::CompletionStream text;  // with the tokens of a resumed answer replayed
    bool is_stream = false;
    std::uint32_t prompt_tokens = 0;
};

class BuiltinReply final : public ReplyReader, public std::enable_shared_from_this<BuiltinReply> {
  public:
    BuiltinReply(std::shared_ptr<ReplicaHost> host, std::shared_ptr<const model::Tokenizer> tokenizer,
                 BuiltinAnswer answer, ReplyContext context);
    ~BuiltinReply() override;

    // Hands the request to the engine; once, before anything is read. Errors as of ReplicaHost::submit().
    Result<void> submit(engine::GenerateRequest request);

    std::optional<Result<ReplyPart>> poll() override;
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override;

  private:
    void take(std::vector<engine::TokenEvent> events);
    // Renders what waits, up to the end of the answer: into data_, body_ and end_.
    void render();
    void add(const engine::TokenEvent& event, wire::Data& out);
    void finish();
    void account();

    const std::shared_ptr<ReplicaHost> host_;
    const std::shared_ptr<const model::Tokenizer> tokenizer_;
    BuiltinAnswer answer_;
    const ReplyContext context_;
    std::function<void()> on_ready_;
    openai::PromptUsage usage_;
    std::optional<engine::RequestId> id_;  // until the engine has nothing more to do for it

    std::vector<engine::TokenEvent> events_;  // from next_event_ on they wait for the reader
    std::size_t next_event_ = 0;
    std::optional<engine::FinishReason> finish_;
    bool cancelled_ = false;
    bool accounted_ = false;

    // Rendered and not yet read, in this order.
    bool head_due_ = true;
    std::optional<wire::Data> data_;
    std::optional<wire::Data> body_;
    std::optional<wire::End> end_;
    bool ended_ = false;
};

}  // namespace exa::app
