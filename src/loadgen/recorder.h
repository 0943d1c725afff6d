// Recorder: what a run adds up to, in bounded memory.
//
// Two clocks would be fair to nobody: latencies and counts are of the requests that were *due* within the measured
// time; rates count what *ended* within it. The warm-up before it is in neither, only in the timeline.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "loadgen/histogram.h"
#include "loadgen/outcome.h"
#include "loadgen/timeline.h"

namespace exa::loadgen {

// Requests of one kind of fate.
struct Tally {
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t met = 0;  // the objective

    std::uint64_t finished() const { return succeeded + failed; }
};

// A stretch of the run that somebody marked: a step of a ramp, or what follows a disturbance. Requests belong to the
// phase in which they ended.
struct Phase {
    TimePoint start;
    Tally requests;
    std::uint64_t tokens = 0;
    std::array<std::uint64_t, failure_kinds> failures{};
    Duration stall_max{};      // the longest wait of one request for a byte of text
    TimePoint troubled_until;  // when the last request ended that missed the objective; `start` when none did
    Histogram ttft_us{7};
    Histogram tbt_us{7};

    void merge(const Phase& other);
};

class Recorder {
  public:
    static constexpr std::size_t phases_max = 1024;
    static constexpr std::size_t statuses_max = 64;

    // Requests due before `from` are warm-up.
    Recorder(const Slo& slo, TimePoint start, TimePoint from, std::uint32_t targets);

    void started(TimePoint intended);
    // An event with text, `gap` after the one before it; the first of a request has none.
    void token(TimePoint now, TimePoint intended, Duration gap);
    void first_token(TimePoint now);
    void retried() { ++retries_; }
    void finished(const Outcome& outcome);
    // A request that the end of the run cut off, which is nobody's fault.
    void cut_off() { ++cut_off_; }

    // From here on, a new phase. Behind phases_max of them the last one goes on.
    void begin_phase(TimePoint now);
    // The measured time is over: rates stop here.
    void close(TimePoint end) { end_ = end; }

    // Of another thread of the same run.
    void merge(const Recorder& other);

    const Slo& slo() const { return slo_; }
    TimePoint from() const { return from_; }
    TimePoint end() const { return end_; }

    const Tally& due() const { return due_; }      // of the requests due in the measured time
    const Tally& ended() const { return ended_; }  // of those that ended in it
    std::uint64_t tokens() const { return tokens_; }
    // As the server counts them, of the requests that ended in the measured time.
    std::uint64_t prompt_tokens() const { return prompt_tokens_; }
    std::uint64_t output_tokens() const { return output_tokens_; }
    std::uint64_t retries() const { return retries_; }
    std::uint64_t cut_off_count() const { return cut_off_; }
    Duration stall_max() const { return stall_max_; }

    const Histogram& ttft_us() const { return ttft_us_; }
    const Histogram& tbt_us() const { return tbt_us_; }
    const Histogram& e2e_us() const { return e2e_us_; }  // of successes

    // Of requests due in the measured time.
    const std::array<std::uint64_t, failure_kinds>& failures() const { return failures_; }
    // Not 2xx; those behind statuses_max different ones count as 0.
    const std::map<int, std::uint64_t>& statuses() const { return statuses_; }
    // The first message of each kind of failure.
    const std::map<std::string, std::string>& samples() const { return samples_; }
    const std::vector<Tally>& targets() const { return targets_; }
    const Timeline& timeline() const { return timeline_; }
    const std::vector<Phase>& phases() const { return phases_; }

  private:
    void count_failure(const Outcome& outcome);
    void count_in_phase(const Outcome& outcome, bool met);
    bool is_measured(TimePoint time) const { return time >= from_; }

    Slo slo_;
    TimePoint from_;
    TimePoint end_ = time_never;
    Timeline timeline_;
    Tally due_;
    Tally ended_;
    std::uint64_t tokens_ = 0;
    std::uint64_t prompt_tokens_ = 0;
    std::uint64_t output_tokens_ = 0;
    std::uint64_t retries_ = 0;
    std::uint64_t cut_off_ = 0;
    Duration stall_max_{};
    Histogram ttft_us_;
    Histogram tbt_us_;
    Histogram e2e_us_;
    std::array<std::uint64_t, failure_kinds> failures_{};
    std::map<int, std::uint64_t> statuses_;
    std::map<std::string, std::string> samples_;
    std::vector<Tally> targets_;
    std::vector<Phase> phases_;
};

// "status 503" for a status, else the failure's name.
std::string failure_key(const Outcome& outcome);

}  // namespace exa::loadgen
