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

void note_repairs(const model::Tokenizer& tokenizer, LoadedModel& loaded) {
    const auto& repaired = tokenizer.repaired();
    if (repaired.empty()) return;
    loaded.warnings.push_back(std::to_string(repaired.size()) +
                              " tokens are typed as text and taken for control tokens, such as " +
                              std::string(tokenizer.spelling(repaired.front())));
}

// A template that cannot be trusted is no reason not to answer completions.
void take_chat_template(const model::Gguf& gguf, LoadedModel& loaded) {
    auto made = model::ChatTemplate::make(gguf);
    if (made) {
        loaded.chat_template = std::move(made).value();
        for (const std::string& markup : loaded.chat_template->unknown_markup())
            loaded.warnings.push_back("the chat template has " + markup +
                                      ", which is not written: prompts may differ from those it was trained with");
        for (const std::string& markup : loaded.chat_template->plain_markup(*loaded.tokenizer))
            loaded.warnings.push_back("the chat template has " + markup +
                                      ", which is no control token of the vocabulary: answers may not end");
        return;
    }
    const bool is_absent = made.error().code == model::errc::metadata_missing;
    loaded.no_chat_template = is_absent ? "this model has no chat template; use /v1/completions"
                                        : "this model's chat template is not supported (" + made.error().detail +
                                              "); use /v1/completions, or attach an engine that runs templates";
    if (!is_absent) loaded.warnings.push_back("chats are refused, completions are not: " + made.error().message());
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
    note_repairs(*loaded.tokenizer, loaded);
    take_chat_template(gguf.value(), loaded);
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
