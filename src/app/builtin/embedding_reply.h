// EmbeddingReply: the embeddings of one request, of an engine of this process, on their way to one JSON object. Empty
// data shows the ingress that it goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/builtin/sequence_group.h"
#include "app/replica/backend.h"
#include "app/replica/reply.h"
#include "engine/replica.h"
#include "openai/embeddings.h"

namespace exa::app::builtin {

// What is made of the vectors.
struct EmbeddingAnswer {
    std::string model;
    openai::EmbeddingFormat format = openai::EmbeddingFormat::numbers;
    std::uint32_t prompt_tokens = 0;  // of all inputs
};

class EmbeddingReply final : public replica::ReplyReader, public std::enable_shared_from_this<EmbeddingReply> {
  public:
    EmbeddingReply(std::shared_ptr<ReplicaHost> host, EmbeddingAnswer answer, replica::ReplyContext context);
    ~EmbeddingReply() override;

    // One generation an input, in their order; once, before anything is read. Errors as of SequenceGroup::start().
    Result<void> start(std::vector<SequenceGroup::Item> sequences, const SequenceGroup::WaitOptions& wait_options);

    std::optional<Result<replica::ReplyPart>> poll() override;
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override;

  private:
    void take(std::size_t index, const engine::TokenEvent& last);
    void refuse(const Error& why);
    void finish(std::optional<engine::FinishReason> failure);
    wire::Head head() const;

    const std::shared_ptr<ReplicaHost> host_;
    const EmbeddingAnswer answer_;
    const replica::ReplyContext context_;
    std::function<void()> on_ready_;
    std::shared_ptr<SequenceGroup> sequences_;

    std::vector<std::vector<float>> vectors_;  // those that are there; others are empty
    std::size_t missing_ = 0;
    bool cancelled_ = false;
    bool head_due_ = true;
    bool progress_due_ = false;  // a vector has come since the reader was here
    std::vector<replica::ReplyPart>
        parts_;  // from next_part_ on they wait for the reader; none before all vectors are there
    std::size_t next_part_ = 0;
};

}  // namespace exa::app::builtin
