// Model: the arithmetic behind a BatchReplica. It owns the memory of the KV pages; which page is whose is the
// replica's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "engine/page_pool.h"

namespace exa::engine {

// One sequence's part of a step. Borrowed for the call.
struct Slice {
    std::span<const TokenId> tokens;  // to compute, at positions start .. start + tokens.size() - 1; not empty
    std::uint32_t start = 0;          // keys and values of all earlier positions are in `pages` already
    std::span<const PageId> pages;    // cover start + tokens.size() positions
    bool wants_logits = false;        // of the last token
    bool wants_hidden = false;        // of every token
    bool wants_all_logits = false;    // of every token

    std::size_t logit_rows() const { return wants_all_logits ? tokens.size() : wants_logits ? 1 : 0; }
};

// One thread uses a model at a time.
class Model {
  public:
    virtual ~Model() = default;

    virtual std::uint32_t vocab_size() const = 0;
    // Longest sequence it was made for.
    virtual std::uint32_t context_tokens() const = 0;
    // Pages of its KV memory, named 0 .. pages() - 1.
    virtual std::uint32_t pages() const = 0;

    // Computes keys and values of the slices' tokens into their pages, and the logits, [logit_rows() of all slices,
    // vocab_size], in the order of the slices. What a token's logits are must not depend on the other slices or on how
    // a sequence was cut into calls. Token ids are below vocab_size. After an error (errc::model_failed) the slices'
    // new positions are undefined.
    virtual Result<void> forward(std::span<const Slice> slices, std::span<float> logits) = 0;

    // Width of a hidden state.
    virtual std::uint32_t hidden_size() const = 0;
    // Of the last forward(): what the model makes logits of, [tokens of slices that wanted it, hidden_size], in the
    // order of the slices; as independent of batch and cuts as logits are. Valid until the next call.
    virtual std::span<const float> hidden() const = 0;

    // Keys and values of so many tokens as they leave the model, in bytes: [layer][k, v][token][kv_head][dim],
    // binary16, little-endian.
    virtual std::size_t kv_bytes(std::uint32_t tokens) const = 0;
    // Positions first .. first + tokens - 1 of the sequence in `pages`, which are computed. out: [kv_bytes(tokens)],
    // at an even address.
    virtual void export_kv(std::span<const PageId> pages, std::uint32_t first, std::uint32_t tokens,
                           std::span<std::uint8_t> out) const = 0;
    // The way back: the positions then are as if forward() had computed them, when the bytes are an export of the same
    // tokens behind the same tokens by a model of the same numerics. The first `skip` of them stay as they are.
    // payload: [kv_bytes(tokens)], at an even address.
    virtual void import_kv(std::span<const PageId> pages, std::uint32_t first, std::uint32_t tokens, std::uint32_t skip,
                           ByteView payload) = 0;
};

}  // namespace exa::engine
