// exa-engine-bench: prefill and decode speed of the built-in engine, one replica on one thread.
//
//   exa-engine-bench MODEL.gguf PROMPT_TOKENS ANSWER_TOKENS
//
// Prints {"prefill": tokens/s, "decode": tokens/s}: the prompt until its first answer token, then the tokens after
// that.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/rng.h"
#include "engine/batch_replica.h"
#include "model/llama.h"
#include "model/mapped_file.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
}

int fail(const exa::Error& error) {
    std::fprintf(stderr, "exa-engine-bench: %s\n", error.message().c_str());
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 || std::atoi(argv[2]) < 1 || std::atoi(argv[3]) < 2) {
        std::fprintf(stderr, "usage: exa-engine-bench MODEL.gguf PROMPT_TOKENS ANSWER_TOKENS\n");
        return 2;
    }
    const auto prompt_tokens = static_cast<std::uint32_t>(std::atoi(argv[2]));
    const auto answer_tokens = static_cast<std::uint32_t>(std::atoi(argv[3]));

    auto file = exa::model::MappedFile::open(argv[1]);
    if (!file) return fail(file.error());
    const auto mapped = std::make_shared<const exa::model::MappedFile>(std::move(file.value()));
    const auto gguf = exa::model::Gguf::parse(mapped->bytes());
    if (!gguf) return fail(gguf.error());
    const auto weights = exa::model::Weights::load(gguf.value(), mapped->bytes(), mapped);
    if (!weights) return fail(weights.error());
    const std::uint32_t pages = (prompt_tokens + answer_tokens) / exa::engine::page_tokens + 1;
    exa::engine::BatchReplica replica(std::make_unique<exa::model::LlamaModel>(weights.value(), pages), {});

    exa::Rng rng(1);
    exa::engine::GenerateRequest request;
    for (std::uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back(static_cast<exa::engine::TokenId>(rng.below(weights.value()->shape().vocab)));
    request.max_tokens = answer_tokens;
    request.sampling.temperature = 0;
    if (const auto taken = replica.submit({}, {1}, std::move(request)); !taken) return fail(taken.error());

    const Clock::time_point start = Clock::now();
    Clock::time_point first = start;
    while (replica.step({})) {
        while (const auto event = replica.poll_event())
            if (event->offset == 0) first = Clock::now();
    }
    const Clock::time_point end = Clock::now();
    std::printf("{\"prefill\": %.2f, \"decode\": %.2f}\n", prompt_tokens / seconds_between(start, first),
                (answer_tokens - 1) / seconds_between(first, end));
    return 0;
}
