#include "model/gguf.h"

#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "model/chat_template.h"
#include "model/tiny_model.h"
#include "model/tokenizer.h"

namespace {

using exa::Bytes;
using exa::model::Gguf;

const Bytes& sample(exa::model::TinyVocab vocab) {
    const auto make = [](exa::model::TinyVocab kind) {
        return exa::model::make_tiny_model(
                   {.layers = 1, .d = 8, .heads = 2, .kv_heads = 1, .ff = 4, .vocab = kind, .tied = true})
            .value();
    };
    static const Bytes spm = make(exa::model::TinyVocab::spm);
    static const Bytes bpe = make(exa::model::TinyVocab::bpe_smollm);
    return vocab == exa::model::TinyVocab::spm ? spm : bpe;
}

// Uses all that a file offers, as loading a model does. What it returns depends on every byte it touched.
std::size_t exercise(const Bytes& file) {
    const auto gguf = Gguf::parse(file);
    if (!gguf) {
        RC_ASSERT(gguf.error().detail.starts_with("offset 0x"));
        return gguf.error().message().size();
    }
    std::size_t sum = 0;
    for (const auto& tensor : gguf.value().tensors()) {
        RC_ASSERT(tensor.data.data() >= file.data());
        RC_ASSERT(tensor.data.data() + tensor.data.size() <= file.data() + file.size());
        for (const std::uint8_t byte : tensor.data) sum += byte;
    }
    const auto tokenizer = exa::model::Tokenizer::make(gguf.value());
    if (!tokenizer) return sum + tokenizer.error().message().size();
    sum += tokenizer.value()
               ->decode(tokenizer.value()->encode("Hello <|im_end|> w\xf0\x9f world 12", {true, true}))
               .size();
    const auto chat = exa::model::ChatTemplate::make(gguf.value());
    if (!chat) return sum + chat.error().message().size();
    const std::vector<exa::model::ChatMessage> messages = {{"user", "Hi"}};
    const auto prompt = chat.value().render(*tokenizer.value(), messages);
    return sum + (prompt ? prompt.value().size() : 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(changed_bytes_never_crash_a_reader) {
    BOOST_TEST(rc::check("a file with changed bytes is read or refused", [] {
        const bool spm = *rc::gen::arbitrary<bool>();
        Bytes file = sample(spm ? exa::model::TinyVocab::spm : exa::model::TinyVocab::bpe_smollm);
        const auto changes = *rc::gen::inRange(1, 5);
        for (int i = 0; i < changes; ++i) {
            // Half of the changes hit the front, where counts and lengths are.
            const std::size_t end = *rc::gen::arbitrary<bool>() ? std::size_t{256} : file.size();
            file[*rc::gen::inRange<std::size_t>(0, end)] = *rc::gen::arbitrary<std::uint8_t>();
        }
        RC_ASSERT(exercise(file) > 0U);
    }));
}

BOOST_AUTO_TEST_CASE(random_bytes_behind_a_good_preamble_never_crash_a_reader) {
    BOOST_TEST(rc::check("a file of random bytes is refused or empty", [] {
        Bytes file = {'G', 'G', 'U', 'F', 3, 0, 0, 0};
        const auto counts = *rc::gen::container<Bytes>(16, rc::gen::element<std::uint8_t>(0, 0, 0, 0, 1, 2, 0xff));
        const auto tail = *rc::gen::container<Bytes>(rc::gen::element<std::uint8_t>(0, 0, 0, 1, 4, 8, 9, 0x7f, 0xff));
        file.insert(file.end(), counts.begin(), counts.end());
        file.insert(file.end(), tail.begin(), tail.end());
        exercise(file);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
