#include "app/builtin/model_loader.h"

#include <utility>

#include "app/shared/errc.h"
#include "base/check.h"
#include "model/errc.h"
#include "model/gguf.h"
#include "model/mapped_file.h"
#include "model/tiny_model.h"

namespace exa::app::builtin {

namespace {

Error bad_model(const std::string& path, const Error& cause) {
    return error(shared::errc::bad_model, path + ": " + cause.message());
}

}  // namespace

Result<LoadedModel> load_model(const std::string& path) {
    auto file = model::MappedFile::open(path);
    if (!file) return error(shared::errc::bad_model, file.error().message());  // it names the file
    const auto mapped = std::make_shared<const model::MappedFile>(std::move(file).value());
    const auto gguf = model::Gguf::parse(mapped->bytes());
    if (!gguf) return bad_model(path, gguf.error());
    auto tokenizer = model::Tokenizer::make(gguf.value());
    if (!tokenizer) return bad_model(path, tokenizer.error());
    auto weights = model::Weights::load(gguf.value(), mapped->bytes(), mapped);
    if (!weights) return bad_model(path, weights.error());

    LoadedModel loaded;
    loaded.tokenizer = std::move(tokenizer).value();
    loaded.weights = std::move(weights).value();
    auto chat_template = model::ChatTemplate::make(gguf.value());
    if (chat_template)
        loaded.chat_template = std::move(chat_template).value();
    else if (chat_template.error().code != model::errc::metadata_missing)
        return bad_model(path, chat_template.error());
    return loaded;
}

LoadedModel null_model() {
    const auto file = model::make_tiny_model({.layers = 1, .d = 8, .heads = 1, .kv_heads = 1, .ff = 8});
    EXA_CHECK(file.has_value());
    const auto gguf = model::Gguf::parse(file.value());
    EXA_CHECK(gguf.has_value());
    LoadedModel loaded;
    auto tokenizer = model::Tokenizer::make(gguf.value());
    auto chat_template = model::ChatTemplate::make(gguf.value());
    EXA_CHECK(tokenizer.has_value() && chat_template.has_value());
    loaded.tokenizer = std::move(tokenizer).value();
    loaded.chat_template = std::move(chat_template).value();
    return loaded;
}

}  // namespace exa::app::builtin
