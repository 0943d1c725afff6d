// Call: one request from when it is due to its outcome, told what happens on the wire and when.
//
// Order: head(), piece() for the body, then end() or fail(); from head() again when it is sent once more. The recorder
// hears of tokens at once and of the outcome at the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "loadgen/answer_reader.h"
#include "loadgen/outcome.h"
#include "loadgen/recorder.h"

namespace exa::loadgen {

class Call {
  public:
    // Counts as started. The recorder outlives the call.
    Call(Recorder& recorder, TimePoint intended, std::uint32_t target, bool stream, bool keeps_text);

    void head(int status);
    // False when the rest does not matter: the answer is known to be bad, and the connection is to be closed.
    bool piece(TimePoint now, std::string_view bytes);
    // The whole body is there.
    void end(TimePoint now);
    void fail(TimePoint now, Failure failure, std::string_view message);
    // The run is over and the answer is not: neither a success nor a failure.
    void cut_off() { recorder_.cut_off(); }

    TimePoint intended() const { return outcome_.intended; }
    bool has_token() const { return outcome_.ttft.has_value(); }
    bool ok() const { return outcome_.ok(); }
    Failure failure() const { return outcome_.failure; }
    // Once ended without failure and `keeps_text`.
    const std::string& text() const { return reader_.text(); }

  private:
    void take_tokens(TimePoint now, std::uint32_t events);
    void close(TimePoint now);

    Recorder& recorder_;
    AnswerReader reader_;
    bool stream_;
    TimePoint last_;  // when text came last, or when the request was due
    std::string refusal_;
    Outcome outcome_;
};

}  // namespace exa::loadgen
