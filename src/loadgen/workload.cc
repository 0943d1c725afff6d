#include "loadgen/workload.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "loadgen/prompts.h"

namespace exa::loadgen {

namespace {

// Past any context; keeps a body within a few MiB.
constexpr std::uint32_t prompt_tokens_max = 1'000'000;

std::string_view unquoted(std::string_view json_text) {
    return json_text.size() >= 2 ? json_text.substr(1, json_text.size() - 2) : std::string_view();
}

std::string hex(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = digits[value & 15];
    return text;
}

}  // namespace

Workload::Workload(const Config& config, std::span<const Prompt> prompts, std::uint32_t targets, std::uint64_t stream)
    : config_(config), prompts_(prompts), targets_(targets), rng_(config.seed ^ ((stream + 1) * 0x9e3779b97f4a7c15)) {
    EXA_CHECK(targets > 0);
    salt_ = rng_.next();
    target_turn_ = static_cast<std::uint32_t>(rng_.below(targets));
    if (!prompts.empty()) prompt_turn_ = rng_.below(prompts.size());
    Rng shared(config.seed);
    for (std::uint32_t i = 0; i < config.system_prompts; ++i) {
        const std::string words =
            make_words(shared, std::min(config.system_tokens.draw_count(shared, 1), prompt_tokens_max));
        system_.push_back(config.api == Api::chat ? R"({"role":"system","content":")" + words + "\"}," : words + "\\n");
    }
    head_ = R"({"model":)" + to_json_text(config.model);
    head_ += config.stream ? R"(,"stream":true)" : "";
    if (config.stream && config.asks_usage) head_ += R"(,"stream_options":{"include_usage":true})";
    if (config.ignores_eos) head_ += R"(,"ignore_eos":true)";
    if (!config.extra_fields.empty()) head_ += "," + config.extra_fields;
    head_ += config.api == Api::chat ? R"(,"messages":[)" : R"(,"prompt":")";
    tail_ = config.api == Api::chat ? R"(],"max_tokens":)" : R"(","max_tokens":)";
}

std::uint32_t Workload::next_target() {
    if (targets_ == 1) return 0;
    if (config_.spread == Spread::random) return static_cast<std::uint32_t>(rng_.below(targets_));
    return target_turn_++ % targets_;
}

Conversation Workload::begin() {
    Conversation made;
    ++conversations_;
    if (!prompts_.empty()) made.prompt = &prompts_[prompt_turn_++ % prompts_.size()];
    if (config_.turns)
        made.turns = config_.turns->draw_count(rng_, 1);
    else if (made.prompt != nullptr)
        made.turns = static_cast<std::uint32_t>(made.prompt->turns.size());
    if (!system_.empty()) made.history = system_[rng_.below(system_.size())];
    if (made.prompt != nullptr && config_.api == Api::chat) made.history += made.prompt->opening;
    if (config_.session_ids == SessionIds::client) made.session = "bench-" + hex(salt_) + "-" + hex(conversations_);
    made.target = next_target();
    return made;
}

std::string Workload::next_turn(Conversation& conversation, std::optional<Lengths> lengths) {
    if (conversation.prompt == nullptr) {
        const std::uint32_t tokens =
            lengths ? std::max(1U, lengths->prompt_tokens) : config_.prompt_tokens.draw_count(rng_, 1);
        return "\"" + make_words(rng_, std::min(tokens, prompt_tokens_max)) + "\"";
    }
    const auto& turns = conversation.prompt->turns;
    if (conversation.turn < turns.size()) return turns[conversation.turn];
    return prompts_[rng_.below(prompts_.size())].turns.front();
}

Request Workload::ask(Conversation& conversation, std::optional<Lengths> lengths) {
    EXA_CHECK(!conversation.is_over());
    if (conversation.turn > 0 && config_.moves) conversation.target = next_target();
    conversation.asked = next_turn(conversation, lengths);
    ++conversation.turn;
    std::uint32_t output_tokens = config_.output_tokens.draw_count(rng_, 1);
    if (lengths)
        output_tokens = std::max(1U, lengths->output_tokens);
    else if (conversation.prompt != nullptr && conversation.prompt->output_tokens > 0)
        output_tokens = conversation.prompt->output_tokens;
    return {conversation.target, body_of(conversation, output_tokens), conversation.session, !conversation.is_over()};
}

std::string Workload::body_of(const Conversation& conversation, std::uint32_t output_tokens) const {
    std::string body;
    body.reserve(head_.size() + conversation.history.size() + conversation.asked.size() + 96);
    body += head_;
    body += conversation.history;
    if (config_.api == Api::chat) {
        body += R"({"role":"user","content":)";
        body += conversation.asked;
        body += '}';
    } else {
        body += unquoted(conversation.asked);
    }
    body += tail_;
    body += std::to_string(output_tokens);
    body += '}';
    return body;
}

void Workload::answered(Conversation& conversation, std::string_view text, std::string_view session) const {
    if (config_.session_ids == SessionIds::server && !session.empty()) conversation.session = session;
    if (conversation.is_over()) return;
    const std::string answer = to_json_text(text);
    if (config_.api == Api::chat) {
        conversation.history += R"({"role":"user","content":)" + conversation.asked + "},";
        conversation.history += R"({"role":"assistant","content":)" + answer + "},";
    } else {
        conversation.history += std::string(unquoted(conversation.asked)) + "\\n";
        conversation.history += std::string(unquoted(answer)) + "\\n";
    }
    conversation.asked.clear();
}

Duration Workload::think() {
    return Duration(std::llround(config_.think_seconds.draw(rng_) * 1e6));
}

}  // namespace exa::loadgen
