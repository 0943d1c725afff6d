// Replica: an engine with the manners of one and no model: it enforces its own limit, lets others wait for a place as a
// real one does, takes time for prefill and decode, and slows down as its batch grows.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/time.h"
#include "engine/admission_queue.h"
#include "wire/records.h"

namespace exa::sim {

struct EngineConfig {
    std::uint32_t in_flight_limit = 8;
    Duration prefill_token{50};     // of one prompt token, alone
    Duration decode_token{10'000};  // of one answer token
    // How much each further request of the batch slows a decode step, as a part of it.
    double batch_cost = 0.02;
    engine::QueueConfig queue;
    Duration warm{20'000};  // from one replica of a peer being ready to the next
};

class Replica {
  public:
    Replica(const EngineConfig& config, wire::ReplicaRecord record)
        : config_(config), record_(std::move(record)), queue_(config.queue) {}

    const wire::ReplicaRecord& record() const { return record_; }
    void set_state(wire::ReplicaState state) { record_.state = state; }

    // False: at its limit.
    bool admit(std::uint32_t prompt_tokens) {
        if (!has_place()) return false;
        ++in_flight_;
        queued_tokens_ += prompt_tokens;
        return true;
    }
    bool has_place() const { return in_flight_ < config_.in_flight_limit; }
    // Those that wait for one, in the world's time; and what each is for its owner.
    engine::AdmissionQueue& queue() { return queue_; }
    std::map<engine::WaitTicket, std::uint32_t>& waiting() { return waiting_; }
    void prefilled(std::uint32_t prompt_tokens) { queued_tokens_ -= prompt_tokens; }
    // `waiting`: prompt tokens that were not prefilled.
    void release(std::uint32_t waiting) {
        --in_flight_;
        queued_tokens_ -= waiting;
    }

    Duration prefill_time(std::uint32_t tokens) const { return config_.prefill_token * tokens; }
    Duration decode_time(std::uint32_t tokens) const {
        const double step = static_cast<double>(config_.decode_token.count()) *
                            (1 + config_.batch_cost * static_cast<double>(in_flight_ > 0 ? in_flight_ - 1 : 0));
        return Duration{static_cast<Duration::rep>(step * tokens)};
    }

    std::uint32_t in_flight() const { return in_flight_; }
    wire::LoadReport load() const {
        wire::LoadReport load;
        load.replica = record_.id;
        load.in_flight = in_flight_;
        load.queued_tokens = queued_tokens_;
        load.kv_used_permille = static_cast<std::uint16_t>(1000 * in_flight_ / config_.in_flight_limit);
        load.queued = static_cast<std::uint16_t>(queue_.size());
        return load;
    }

  private:
    EngineConfig config_;
    wire::ReplicaRecord record_;
    engine::AdmissionQueue queue_;
    std::map<engine::WaitTicket, std::uint32_t> waiting_;
    std::uint32_t in_flight_ = 0;
    std::uint32_t queued_tokens_ = 0;
};

}  // namespace exa::sim
