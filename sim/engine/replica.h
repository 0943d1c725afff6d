// Replica: an engine with the manners of one and no model. Its permits are production's own (gateway/admission.h); it
// takes time for prefill and decode, and slows down as its batch grows.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/mutant.h"
#include "base/time.h"
#include "gateway/admission.h"
#include "wire/records.h"

namespace exa::sim {

struct EngineConfig {
    std::uint32_t in_flight_limit = 8;
    Duration prefill_token{50};     // of one prompt token, alone
    Duration decode_token{10'000};  // of one answer token
    // How much each further request of the batch slows a decode step, as a part of it.
    double batch_cost = 0.02;
    std::uint32_t context_tokens = 8'192;
    // Of one peer in so many, whose replicas take no longer prompts than small_context_tokens. 0: of none.
    std::uint32_t small_context_every = 0;
    std::uint32_t small_context_tokens = 64;
    engine::QueueConfig queue;
    Duration warm{20'000};  // from one replica of a peer being ready to the next
    Mutant mutant = Mutant::none;
};

class Replica {
  public:
    Replica(const EngineConfig& config, wire::ReplicaRecord record)
        : config_(config),
          record_(std::move(record)),
          admission_(config.in_flight_limit, config.queue, config.mutant) {}

    const wire::ReplicaRecord& record() const { return record_; }
    void set_state(wire::ReplicaState state) { record_.state = state; }

    // Its waits are in the world's time.
    gateway::Admission& admission() { return admission_; }
    // What each that waits is for its owner.
    std::map<engine::WaitTicket, std::uint32_t>& waiting() { return waiting_; }
    // A request that has a permit begins.
    void begin(std::uint32_t prompt_tokens) { queued_tokens_ += prompt_tokens; }
    void prefilled(std::uint32_t prompt_tokens) { queued_tokens_ -= prompt_tokens; }
    // `unread_tokens`: of the prompt, not prefilled.
    void release(std::uint32_t unread_tokens) {
        admission_.release();
        queued_tokens_ -= unread_tokens;
    }

    Duration prefill_time(std::uint32_t tokens) const { return config_.prefill_token * tokens; }
    Duration decode_time(std::uint32_t tokens) const {
        const double step = static_cast<double>(config_.decode_token.count()) *
                            (1 + config_.batch_cost * static_cast<double>(in_flight() > 0 ? in_flight() - 1 : 0));
        return Duration{static_cast<Duration::rep>(step * tokens)};
    }

    std::uint32_t in_flight() const { return admission_.taken(); }
    wire::LoadReport load() const {
        wire::LoadReport load;
        load.replica = record_.id;
        load.in_flight = in_flight();
        load.queued_tokens = queued_tokens_;
        load.kv_used_permille = static_cast<std::uint16_t>(1000 * in_flight() / config_.in_flight_limit);
        load.queued = static_cast<std::uint16_t>(admission_.waiting());
        return load;
    }

  private:
    EngineConfig config_;
    wire::ReplicaRecord record_;
    gateway::Admission admission_;
    std::map<engine::WaitTicket, std::uint32_t> waiting_;
    std::uint32_t queued_tokens_ = 0;
};

}  // namespace exa::sim
