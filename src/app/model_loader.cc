#include "app/model_loader.h"

#include <utility>

#include "app/errc.h"
#include "model/errc.h"
#include "model/gguf.h"
#include "model/mapped_file.h"

namespace exa::app {

namespace {

Error bad_model(const std::string& path, const Error& cause) {
    return error(errc::bad_model, path + ": " + cause.message());
}

}  // namespace

Result<LoadedModel> load_model(const std::string& path) {
    auto file = model::MappedFile::open(path);
    if (!file) return bad_model(path, file.error());
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

}  // namespace exa::app
