// Loads a model file once for all replicas of a peer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/chat_template.h"
#include "model/tokenizer.h"
#include "model/weights.h"

namespace exa::app::builtin {

struct LoadedModel {
    std::shared_ptr<const model::Weights> weights;  // null for the null engine
    std::shared_ptr<const model::Tokenizer> tokenizer;
    std::optional<model::ChatTemplate> chat_template;  // nothing: the model answers completions only
    std::string no_chat_template;                      // why there is none, for a client
    std::vector<std::string> warnings;                 // what in the file was doubtful
};

// app::errc::bad_model; the detail names the path, and the offset, key or tensor that is wrong.
Result<LoadedModel> load_model(const std::string& path);

// What the null engine needs of a model: a small tokenizer that takes any text, and ChatML.
LoadedModel null_model();

}  // namespace exa::app::builtin
