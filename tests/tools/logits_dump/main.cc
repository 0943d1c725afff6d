// exa-logits-dump: what the built-in engine computes, as text, for comparison with another engine.
//
//   exa-logits-dump MODEL.gguf TOP GREEDY [portable] < TOKENS
//
// Every line of the input is a prompt, token ids with spaces between. Every line of the output is a JSON object with
// "top": the TOP likeliest next tokens as [id, log-probability], and "greedy": GREEDY tokens of the greedy
// continuation.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>

#include "engine/batch_replica.h"
#include "model/llama.h"
#include "model/mapped_file.h"

namespace {

using exa::engine::TokenId;

int fail(const exa::Error& error) {
    std::fprintf(stderr, "exa-logits-dump: %s\n", error.message().c_str());
    return 2;
}

std::vector<TokenId> read_tokens(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<TokenId>(words), {}};
}

void print_top(const std::vector<float>& logits, std::size_t count) {
    const float largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
    const double normalizer = largest + std::log(sum);
    std::vector<TokenId> order(logits.size());
    std::iota(order.begin(), order.end(), TokenId{0});
    count = std::min(count, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                              [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
    std::printf("{\"top\": [");
    for (std::size_t i = 0; i < count; ++i)
        std::printf("%s[%u, %.7f]", i == 0 ? "" : ", ", order[i], logits[order[i]] - normalizer);
    std::printf("]");
}

void print_greedy(exa::engine::Replica& replica, const std::vector<TokenId>& prompt, std::uint32_t count) {
    std::printf(", \"greedy\": [");
    exa::engine::GenerateRequest request;
    request.prompt = prompt;
    request.max_tokens = count;
    request.sampling.temperature = 0;
    if (count > 0 && replica.submit({}, {1}, std::move(request))) {
        while (replica.step({})) {
            while (const auto event = replica.poll_event())
                std::printf("%s%u", event->offset == 0 ? "" : ", ", event->token);
        }
    }
    std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: exa-logits-dump MODEL.gguf TOP GREEDY [portable] < TOKENS\n");
        return 2;
    }
    auto file = exa::model::MappedFile::open(argv[1]);
    if (!file) return fail(file.error());
    const auto mapped = std::make_shared<const exa::model::MappedFile>(std::move(file.value()));
    const auto gguf = exa::model::Gguf::parse(mapped->bytes());
    if (!gguf) return fail(gguf.error());
    const auto weights = exa::model::Weights::load(gguf.value(), mapped->bytes(), mapped);
    if (!weights) return fail(weights.error());
    const bool portable = argc > 4 && std::string_view(argv[4]) == "portable";
    const exa::kernels::Kernels& kernels = portable ? exa::kernels::portable_kernels() : exa::kernels::best_kernels();
    const std::uint32_t pages = std::min(weights.value()->shape().context, 2048U) / exa::engine::page_tokens;

    exa::model::LlamaModel model(weights.value(), pages, kernels);
    exa::engine::BatchReplica replica(std::make_unique<exa::model::LlamaModel>(weights.value(), pages, kernels), {});
    std::vector<exa::engine::PageId> all_pages(pages);
    std::iota(all_pages.begin(), all_pages.end(), 0U);
    std::vector<float> logits(model.vocab_size());
    for (std::string line; std::getline(std::cin, line);) {
        const std::vector<TokenId> prompt = read_tokens(line);
        const auto outside = [&](TokenId token) { return token >= model.vocab_size(); };
        if (prompt.empty() || prompt.size() > pages * exa::engine::page_tokens ||
            std::ranges::any_of(prompt, outside)) {
            std::fprintf(stderr, "exa-logits-dump: a prompt is empty, too long or has an unknown token\n");
            return 2;
        }
        const exa::engine::Slice slice{prompt, 0, all_pages, true};
        if (const auto done = model.forward({&slice, 1}, logits); !done) return fail(done.error());
        print_top(logits, static_cast<std::size_t>(std::atoi(argv[2])));
        print_greedy(replica, prompt, static_cast<std::uint32_t>(std::atoi(argv[3])));
    }
    return 0;
}
