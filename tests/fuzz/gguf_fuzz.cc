// libFuzzer target: a stranger's model file, through the reader, the tokenizer and the chat template.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/chat_template.h"
#include "model/gguf.h"
#include "model/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto gguf = exa::model::Gguf::parse({data, size});
    if (!gguf) return 0;
    const auto tokenizer = exa::model::Tokenizer::make(gguf.value());
    if (!tokenizer) return 0;
    tokenizer.value()->decode(tokenizer.value()->encode("Hello <|im_end|> w\xf0\x9f 12", {true, true}), true);
    const auto chat = exa::model::ChatTemplate::make(gguf.value());
    if (!chat) return 0;
    const std::vector<exa::model::ChatMessage> messages = {{"system", "Be brief."}, {"user", "Hi"}};
    (void)chat.value().render(*tokenizer.value(), messages);
    return 0;
}
