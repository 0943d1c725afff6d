#include "loadgen/recorder.h"

#include <algorithm>

#include "base/check.h"

namespace exa::loadgen {

namespace {

std::uint64_t micros(Duration duration) {
    return static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
}

void add(Tally& tally, bool ok, bool met) {
    ++(ok ? tally.succeeded : tally.failed);
    tally.met += met ? 1 : 0;
}

void add(Tally& tally, const Tally& other) {
    tally.succeeded += other.succeeded;
    tally.failed += other.failed;
    tally.met += other.met;
}

template <class Array>
void add_each(Array& into, const Array& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

}  // namespace

void Phase::merge(const Phase& other) {
    start = std::min(start, other.start);
    add(requests, other.requests);
    tokens += other.tokens;
    add_each(failures, other.failures);
    stall_max = std::max(stall_max, other.stall_max);
    troubled_until = std::max(troubled_until, other.troubled_until);
    ttft_us.merge(other.ttft_us);
    tbt_us.merge(other.tbt_us);
}

std::string failure_key(const Outcome& outcome) {
    if (outcome.failure == Failure::status) return "status_" + std::to_string(outcome.status);
    return std::string(to_string(outcome.failure));
}

Recorder::Recorder(const Slo& slo, TimePoint start, TimePoint from, std::uint32_t targets)
    : slo_(slo), from_(from), timeline_(start), targets_(targets) {}

void Recorder::started(TimePoint intended) {
    ++timeline_.at(intended).started;
}

void Recorder::first_token(TimePoint now) {
    ++timeline_.at(now).tokens;
    if (is_measured(now) && now < end_) ++tokens_;
    if (!phases_.empty()) ++phases_.back().tokens;
}

void Recorder::token(TimePoint now, TimePoint intended, Duration gap) {
    const std::uint64_t gap_us = micros(gap);
    Window& window = timeline_.at(now);
    ++window.tokens;
    window.tbt_us.add(gap_us);
    if (is_measured(now) && now < end_) ++tokens_;
    if (is_measured(intended)) tbt_us_.add(gap_us);
    if (phases_.empty()) return;
    ++phases_.back().tokens;
    phases_.back().tbt_us.add(gap_us);
}

void Recorder::finished(const Outcome& outcome) {
    const bool met = slo_.is_met(outcome);
    const bool ok = outcome.ok();
    Window& window = timeline_.at(outcome.done);
    ++(ok ? window.succeeded : window.failed);
    window.met += met ? 1 : 0;
    if (outcome.ttft) window.ttft_us.add(micros(*outcome.ttft));
    if (ok) window.e2e_us.add(micros(outcome.e2e()));
    count_in_phase(outcome, met);
    if (is_measured(outcome.done) && outcome.done < end_) {
        add(ended_, ok, met);
        prompt_tokens_ += outcome.prompt_tokens;
        output_tokens_ += outcome.output_tokens;
    }
    if (!is_measured(outcome.intended)) return;
    add(due_, ok, met);
    if (outcome.target < targets_.size()) add(targets_[outcome.target], ok, met);
    stall_max_ = std::max(stall_max_, outcome.stall);
    if (outcome.ttft) ttft_us_.add(micros(*outcome.ttft));
    if (ok)
        e2e_us_.add(micros(outcome.e2e()));
    else
        count_failure(outcome);
}

void Recorder::count_failure(const Outcome& outcome) {
    ++failures_[static_cast<std::size_t>(outcome.failure)];
    int status = outcome.status;
    if (outcome.failure == Failure::status) {
        if (statuses_.size() >= statuses_max && !statuses_.contains(status)) status = 0;
        ++statuses_[status];
    }
    if (outcome.message.empty() || samples_.size() >= statuses_max + failure_kinds) return;
    samples_.try_emplace(failure_key(outcome), outcome.message);
}

void Recorder::count_in_phase(const Outcome& outcome, bool met) {
    if (phases_.empty()) return;
    Phase& phase = phases_.back();
    add(phase.requests, outcome.ok(), met);
    if (!outcome.ok()) ++phase.failures[static_cast<std::size_t>(outcome.failure)];
    if (outcome.ttft) phase.ttft_us.add(micros(*outcome.ttft));
    phase.stall_max = std::max(phase.stall_max, outcome.stall);
    if (!met) phase.troubled_until = std::max(phase.troubled_until, outcome.done);
}

void Recorder::begin_phase(TimePoint now) {
    if (phases_.size() >= phases_max) return;
    Phase phase;
    phase.start = now;
    phase.troubled_until = now;
    phases_.push_back(std::move(phase));
}

void Recorder::merge(const Recorder& other) {
    EXA_CHECK(targets_.size() == other.targets_.size());
    timeline_.merge(other.timeline_);
    add(due_, other.due_);
    add(ended_, other.ended_);
    tokens_ += other.tokens_;
    prompt_tokens_ += other.prompt_tokens_;
    output_tokens_ += other.output_tokens_;
    retries_ += other.retries_;
    cut_off_ += other.cut_off_;
    stall_max_ = std::max(stall_max_, other.stall_max_);
    ttft_us_.merge(other.ttft_us_);
    tbt_us_.merge(other.tbt_us_);
    e2e_us_.merge(other.e2e_us_);
    add_each(failures_, other.failures_);
    for (const auto& [status, count] : other.statuses_) statuses_[status] += count;
    for (const auto& [key, message] : other.samples_) samples_.try_emplace(key, message);
    for (std::size_t i = 0; i < targets_.size(); ++i) add(targets_[i], other.targets_[i]);
    for (std::size_t i = 0; i < other.phases_.size(); ++i) {
        if (i < phases_.size())
            phases_[i].merge(other.phases_[i]);
        else
            phases_.push_back(other.phases_[i]);
    }
}

}  // namespace exa::loadgen
