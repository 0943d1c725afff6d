// exa-token-dump: what our tokenizer makes of texts, for tests in Python that ask another program the same.
//
//   exa-token-dump MODEL.gguf < requests.jsonl > answers.jsonl
//
// A request is one JSON value a line: a string is encoded as a client's text; {"text": ..., "special": true} with
// control tokens read; {"messages": [{"role": ..., "content": ...}, ...]} through the chat template; {"tokens": [...]}
// is decoded. Its answer is an array of token ids (an object {"text": ...} for tokens), or {"error": ...}.
#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "model/chat_template.h"
#include "model/gguf.h"
#include "model/mapped_file.h"
#include "model/tokenizer.h"

namespace {

namespace json = boost::json;

json::value to_json(const std::vector<exa::model::TokenId>& tokens) {
    json::array array;
    for (const auto token : tokens) array.emplace_back(token);
    return array;
}

json::value render(const exa::model::Gguf& gguf, const exa::model::Tokenizer& tokenizer, const json::array& input) {
    const auto chat_template = exa::model::ChatTemplate::make(gguf);
    if (!chat_template) return {{"error", chat_template.error().message()}};
    std::vector<exa::model::ChatMessage> messages;
    for (const json::value& message : input)
        messages.push_back(
            {json::value_to<std::string>(message.at("role")), json::value_to<std::string>(message.at("content"))});
    const auto tokens = chat_template.value().render(tokenizer, messages);
    if (!tokens) return {{"error", tokens.error().message()}};
    return to_json(tokens.value());
}

json::value answer(const exa::model::Gguf& gguf, const exa::model::Tokenizer& tokenizer, const json::value& request) {
    if (request.is_string()) return to_json(tokenizer.encode(request.get_string()));
    const json::object& object = request.as_object();
    if (const json::value* messages = object.if_contains("messages"))
        return render(gguf, tokenizer, messages->as_array());
    if (const json::value* tokens = object.if_contains("tokens"))
        return {{"text", tokenizer.decode(json::value_to<std::vector<exa::model::TokenId>>(*tokens), true)}};
    return to_json(tokenizer.encode(object.at("text").as_string(), {.add_bos = true, .parse_special = true}));
}

}  // namespace

int main(int argc, char* argv[]) {
    if (argc != 2) {
        std::fputs("usage: exa-token-dump MODEL.gguf < requests.jsonl\n", stderr);
        return 2;
    }
    const auto file = exa::model::MappedFile::open(argv[1]);
    if (!file) {
        std::fprintf(stderr, "%s\n", file.error().message().c_str());
        return 2;
    }
    const auto gguf = exa::model::Gguf::parse(file.value().bytes());
    if (!gguf) {
        std::fprintf(stderr, "%s: %s\n", argv[1], gguf.error().message().c_str());
        return 2;
    }
    const auto tokenizer = exa::model::Tokenizer::make(gguf.value());
    if (!tokenizer) {
        std::fprintf(stderr, "%s: %s\n", argv[1], tokenizer.error().message().c_str());
        return 2;
    }
    for (std::string line; std::getline(std::cin, line);)
        std::cout << answer(gguf.value(), *tokenizer.value(), json::parse(line)) << '\n';
    return 0;
}
