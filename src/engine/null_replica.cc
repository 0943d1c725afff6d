#include "engine/null_replica.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/hash.h"
#include "engine/errc.h"

namespace exa::engine {

Result<void> NullReplica::submit(TimePoint now, RequestId id, GenerateRequest request) {
    if (request.embeds || request.top_logprobs || !request.sampling.biases.empty() ||
        request.sampling.presence_penalty != 0 || request.sampling.frequency_penalty != 0 ||
        request.sampling.repetition_penalty != 1)
        return error(errc::invalid_request, "logprobs, penalties, biases or an embedding");
    if (request.prompt.empty() || request.max_tokens == 0 || request.resumed_tokens >= request.max_tokens ||
        request.resumed_tokens > request.prompt.size() || running_.contains(id))
        return error(errc::invalid_request, "prompt, max_tokens, resumed_tokens or the id");
    if (request.prompt.size() + (request.max_tokens - request.resumed_tokens) > config_.context_tokens)
        return error(errc::prompt_too_long, std::to_string(request.prompt.size()) + " tokens of prompt");
    if (running_.size() >= config_.in_flight_limit) return error(errc::busy);
    Running running;
    running.due = now + config_.prefill_per_token * static_cast<Duration::rep>(request.prompt.size());
    running.answered = request.resumed_tokens;
    running.request = std::move(request);
    running_.emplace(id, std::move(running));
    return success();
}

void NullReplica::cancel(RequestId id) {
    if (running_.erase(id) == 0) return;
    TokenEvent event;
    event.request = id;
    event.finish = FinishReason::cancelled;
    event.has_token = false;
    events_.push_back(event);
}

bool NullReplica::step(TimePoint now) {
    bool worked = false;
    for (auto at = running_.begin(); at != running_.end();) {
        Running& running = at->second;
        if (running.due > now) {
            ++at;
            continue;
        }
        worked = true;
        running.prefilled = true;
        TokenEvent event;
        event.request = at->first;
        event.offset = running.answered;
        event.token = token_at(running);
        running.due += pause_behind(running);
        ++running.answered;
        const std::uint32_t tokens = std::max(config_.answer_tokens, running.request.min_tokens);
        const bool stops = config_.answer_tokens != 0 && running.answered >= tokens;
        if (stops && !running.request.stop_tokens.empty()) {
            event.token = running.request.stop_tokens.front();
            event.finish = FinishReason::stop;
        } else if (stops || running.answered >= running.request.max_tokens) {
            event.finish = FinishReason::length;
        }
        events_.push_back(event);
        at = event.finish ? running_.erase(at) : std::next(at);
    }
    return worked;
}

TimePoint NullReplica::next_step() const {
    TimePoint next = time_never;
    for (const auto& [id, running] : running_) next = std::min(next, running.due);
    return next;
}

std::optional<TokenEvent> NullReplica::poll_event() {
    if (events_.empty()) return std::nullopt;
    TokenEvent event = events_.front();
    events_.pop_front();
    return event;
}

ReplicaLoad NullReplica::load() const {
    ReplicaLoad load;
    load.in_flight = static_cast<std::uint32_t>(running_.size());
    std::size_t held = 0;
    for (const auto& [id, running] : running_) {
        if (!running.prefilled) load.queued_tokens += static_cast<std::uint32_t>(running.request.prompt.size());
        held += running.request.prompt.size() + running.answered - running.request.resumed_tokens;
    }
    const std::size_t room = std::size_t{config_.context_tokens} * config_.in_flight_limit;
    load.kv_used_permille = static_cast<std::uint16_t>(std::min<std::size_t>(1000, held * 1000 / room));
    return load;
}

TokenId NullReplica::token_at(const Running& running) const {
    const std::uint64_t draw = hash64(running.request.sampling.seed, running.answered);
    auto token = static_cast<TokenId>(draw % config_.vocab_size);
    // Fewer stop tokens than the vocabulary has tokens: this ends.
    while (std::ranges::find(running.request.stop_tokens, token) != running.request.stop_tokens.end())
        token = (token + 1) % config_.vocab_size;
    return token;
}

Duration NullReplica::pause_behind(const Running& running) const {
    const auto draw =
        static_cast<Duration::rep>(hash64(running.request.sampling.seed, running.answered, 1) % 2001) - 1000;
    const Duration::rep jitter = config_.decode_per_token.count() * config_.jitter_permille / 1000 * draw / 1000;
    return config_.decode_per_token + Duration(jitter);
}

}  // namespace exa::engine
