// BuiltinBackend: an engine of this process behind the API: it parses the client's body, applies the chat template,
// generates, and renders what the client will get.
//
// A request's choices are sequences of their own. The first samples under the request's seed, the others under
// numbers derived from it, so that each goes on elsewhere as it began.
#pragma once

#include <memory>
#include <optional>

#include "app/builtin/model_loader.h"
#include "app/builtin/parsed_request.h"
#include "app/builtin/replica_host.h"
#include "app/kv/scopes.h"
#include "app/replica/backend.h"
#include "engine/replica.h"

namespace exa::app::builtin {

class BuiltinBackend final : public replica::Backend {
  public:
    // `record` gives the replica's id, limits and numerics; of `model` the tokenizer and the chat template are used.
    // Without `scopes`, KV stays in the replica and tenants share it.
    BuiltinBackend(const wire::ReplicaRecord& record, const LoadedModel& model,
                   std::unique_ptr<engine::Replica> replica, const HostConfig& host, ReplicaHost::Clock clock,
                   std::shared_ptr<const kv::KvScopes> scopes = nullptr);

    std::shared_ptr<replica::ReplyReader> open(const wire::Open& open, const replica::ReplyContext& context) override;
    wire::LoadReport load() const override { return host_->load(); }
    std::optional<std::vector<exa::kv::SegmentKey>> kv_keys(const wire::Open& open) override;
    void stop() override { host_->stop(); }

  private:
    std::shared_ptr<replica::ReplyReader> open_answer(const wire::Open& open, const replica::ReplyContext& context);
    std::shared_ptr<replica::ReplyReader> open_embeddings(const wire::Open& open, const replica::ReplyContext& context);
    std::shared_ptr<replica::ReplyReader> refused(const Error& why, const replica::ReplyContext& context) const;
    ParseContext parse_context() const {
        return {*tokenizer_, chat_template_, no_chat_template_, context_tokens_, host_->abilities()};
    }

    const std::uint32_t context_tokens_;
    const std::string numerics_;
    const std::shared_ptr<const model::Tokenizer> tokenizer_;
    const std::optional<model::ChatTemplate> chat_template_;
    const std::string no_chat_template_;
    const std::shared_ptr<const kv::KvScopes> scopes_;  // null: all share
    const std::shared_ptr<ReplicaHost> host_;
};

}  // namespace exa::app::builtin
