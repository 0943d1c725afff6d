#include "model/tokenizer.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../unit/model/sample_files.h"
#include "model/chat_template.h"
#include "model/pretokenizer.h"
#include "model/tiny_model.h"

namespace {

using exa::model::TextSegment;
using exa::model::TinyVocab;
using exa::model::TokenId;
using exa::model::Tokenizer;
using exa::model::TokenKind;

std::shared_ptr<const Tokenizer> tiny(TinyVocab vocab) {
    const exa::Bytes file = exa::model::make_tiny_model({.layers = 1, .vocab = vocab}).value();
    return Tokenizer::make(exa::model::Gguf::parse(file).value()).value();
}

// Pieces of text that meet each other's edges, malformed bytes among them.
rc::Gen<std::string> any_text() {
    const auto part = rc::gen::oneOf(
        rc::gen::element<std::string>(" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "the", "Hello", "12", "7", "\u00bd",
                                      "\u4f60\u597d", "e\u0301", "\u0928\u092e\u0938\u094d", "\u3000", "<|im_start|>",
                                      "<|im_end|>", "<|im_", "=", "!?", "\xf0\x9f\x98\x80"),
        rc::gen::map(rc::gen::arbitrary<char>(), [](char c) { return std::string(1, c); }));
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(part), [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& each : parts) text += each;
        return text;
    });
}

// What merges mean: join the best pair that stands leftmost, until there is none.
using Costs = std::map<std::pair<std::string, std::string>, float>;

std::vector<std::string> join_slowly(std::vector<std::string> symbols, const Costs& costs) {
    while (true) {
        std::size_t best = symbols.size();
        float best_cost = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto at = costs.find({symbols[i], symbols[i + 1]});
            if (at == costs.end() || (best < symbols.size() && at->second >= best_cost)) continue;
            best = i;
            best_cost = at->second;
        }
        if (best == symbols.size()) return symbols;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

std::vector<std::string> characters(const std::string& text) {
    std::vector<std::string> out;
    for (const char c : text) out.emplace_back(1, c);
    return out;
}

rc::Gen<std::string> word_of_abc() {
    return rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenizer)

BOOST_AUTO_TEST_CASE(any_bytes_encode_and_come_back) {
    const auto bpe = tiny(TinyVocab::bpe_smollm);
    const auto spm = tiny(TinyVocab::spm);
    BOOST_TEST(rc::check("decode undoes encode", [&] {
        const std::string text = *any_text();
        RC_ASSERT(bpe->decode(bpe->encode(text)) == text);
        // SentencePiece puts one space before a text, and reads U+2581 as a space.
        if (text.find("\u2581") == std::string::npos)
            RC_ASSERT(spm->decode(spm->encode(text)) == (text.empty() ? "" : " " + text));
    }));
}

BOOST_AUTO_TEST_CASE(words_joined_are_the_text) {
    BOOST_TEST(rc::check("no word is empty and none is lost", [] {
        using enum exa::model::Pretokenizer;
        const std::string text = *any_text();
        for (const auto kind : {gpt2, smollm, llama_bpe, qwen2}) {
            std::string joined;
            exa::model::split_words(kind, text, [&joined](std::string_view word) {
                RC_ASSERT(!word.empty());
                joined += word;
                return true;
            });
            RC_ASSERT(joined == text);
        }
    }));
}

BOOST_AUTO_TEST_CASE(a_bounded_encoding_is_the_whole_one_or_too_long) {
    const auto bpe = tiny(TinyVocab::bpe_smollm);
    const auto spm = tiny(TinyVocab::spm);
    BOOST_TEST(rc::check("encoding stops after the bound", [&] {
        const std::string text = *any_text();
        const auto bound = *rc::gen::inRange<std::size_t>(0, 40);
        for (const auto& tokenizer : {bpe, spm}) {
            const auto whole = tokenizer->encode(text);
            const auto bounded = tokenizer->encode(text, {.tokens_max = bound});
            RC_ASSERT(bounded.size() > bound || bounded == whole);
            RC_ASSERT(bounded.size() <= whole.size());
            RC_ASSERT(std::ranges::equal(bounded, std::span(whole).first(bounded.size())));
        }
    }));
}

BOOST_AUTO_TEST_CASE(a_clients_text_holds_no_control_token) {
    const auto bpe = tiny(TinyVocab::bpe_smollm);
    const auto spm = tiny(TinyVocab::spm);
    BOOST_TEST(rc::check("control tokens come from markup alone", [&] {
        const std::string text = *any_text();
        for (const auto& tokenizer : {bpe, spm}) {
            const std::vector<TextSegment> segments = {{"<|im_start|>", true}, {text, false}, {"<|im_end|>", true}};
            const auto tokens = tokenizer->encode(segments, false);
            std::size_t controls = 0;
            for (const TokenId token : tokens)
                if (token == tokenizer->find_special("<|im_start|>") || token == tokenizer->find_special("<|im_end|>"))
                    ++controls;
            RC_ASSERT(controls == 2U);
        }
    }));
}

BOOST_AUTO_TEST_CASE(bpe_joins_as_the_definition_says) {
    BOOST_TEST(rc::check("the queue and the slow way agree", [] {
        std::vector<std::pair<std::string, std::string>> merges;
        Costs costs;
        std::vector<std::string> known = {"a", "b", "c"};
        const auto count = *rc::gen::inRange(0, 12);
        for (int i = 0; i < count; ++i) {
            const std::pair<std::string, std::string> merge = {*rc::gen::elementOf(known), *rc::gen::elementOf(known)};
            if (!costs.emplace(merge, static_cast<float>(merges.size())).second) continue;
            merges.push_back(merge);
            known.push_back(merge.first + merge.second);
        }
        const auto tokenizer = exa::model::samples::tokenizer_of(exa::model::samples::bpe({}, merges));
        RC_ASSERT(tokenizer != nullptr);
        const std::string text = *word_of_abc();
        RC_ASSERT(exa::model::samples::spellings(*tokenizer, tokenizer->encode(text)) ==
                  join_slowly(characters(text), costs));
    }));
}

BOOST_AUTO_TEST_CASE(spm_joins_as_the_definition_says) {
    BOOST_TEST(rc::check("the queue and the slow way agree", [] {
        std::vector<exa::model::samples::Token> pieces;
        std::set<std::string> known = {"a", "b", "c"};
        for (const std::string& piece : known) pieces.push_back({piece, TokenKind::normal, -100});
        const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::suchThat(
            word_of_abc(), [](const std::string& word) { return word.size() >= 2 && word.size() < 6; }));
        std::map<std::string, float> scores;
        for (const std::string& word : words) {
            if (!known.insert(word).second) continue;
            scores[word] = static_cast<float>(*rc::gen::inRange(-4, 0));
            pieces.push_back({word, TokenKind::normal, scores[word]});
        }
        Costs costs;
        for (const auto& left : known)
            for (const auto& right : known)
                if (scores.contains(left + right)) costs[{left, right}] = -scores[left + right];

        auto writer = exa::model::samples::spm(pieces);
        writer.set_bool("tokenizer.ggml.add_space_prefix", false);
        const auto tokenizer = exa::model::samples::tokenizer_of(writer);
        RC_ASSERT(tokenizer != nullptr);
        const std::string text = *word_of_abc();
        RC_ASSERT(exa::model::samples::spellings(*tokenizer, tokenizer->encode(text)) ==
                  join_slowly(characters(text), costs));
    }));
}

BOOST_AUTO_TEST_SUITE_END()
