#include "loadgen/call.h"

#include <algorithm>

namespace exa::loadgen {

Call::Call(Recorder& recorder, TimePoint intended, std::uint32_t target, bool stream, bool keeps_text)
    : recorder_(recorder), reader_(stream, keeps_text), stream_(stream), last_(intended) {
    outcome_.intended = intended;
    outcome_.target = target;
    recorder_.started(intended);
}

void Call::head(int status) {
    outcome_.status = status;
    refusal_.clear();
}

bool Call::piece(TimePoint now, std::string_view bytes) {
    if (outcome_.status / 100 != 2) {
        refusal_ += bytes.substr(0, AnswerReader::line_bytes_max - refusal_.size());
        return true;
    }
    take_tokens(now, reader_.feed(bytes));
    return reader_.failure() == Failure::none;
}

// Events of one piece came at the same moment: the first of them after a wait, the others after none.
void Call::take_tokens(TimePoint now, std::uint32_t events) {
    for (std::uint32_t i = 0; i < events; ++i) {
        const Duration gap = now - last_;
        outcome_.stall = std::max(outcome_.stall, gap);
        if (!outcome_.ttft) {
            outcome_.ttft = now - outcome_.intended;
            recorder_.first_token(now);
        } else {
            ++outcome_.gaps;
            outcome_.late_gaps += gap > recorder_.slo().tbt ? 1 : 0;
            recorder_.token(now, outcome_.intended, gap);
        }
        last_ = now;
    }
}

void Call::end(TimePoint now) {
    if (outcome_.status / 100 != 2) {
        fail(now, Failure::status, error_text(refusal_));
        return;
    }
    reader_.finish();
    if (reader_.failure() != Failure::none) {
        fail(now, reader_.failure(), reader_.message());
        return;
    }
    // An answer in one piece is its own first token, and so is one without any text.
    if (!outcome_.ttft) take_tokens(now, 1);
    close(now);
}

void Call::fail(TimePoint now, Failure failure, std::string_view message) {
    // What the body said comes before what became of the connection that carried it.
    const bool told = failure != Failure::status && reader_.failure() != Failure::none;
    outcome_.failure = told ? reader_.failure() : failure;
    outcome_.message =
        (told ? std::string_view(reader_.message()) : message).substr(0, AnswerReader::message_bytes_max);
    close(now);
}

void Call::close(TimePoint now) {
    outcome_.done = now;
    outcome_.stall = std::max(outcome_.stall, now - last_);
    outcome_.events = reader_.events();
    outcome_.prompt_tokens = reader_.prompt_tokens();
    const std::uint64_t counted = stream_ ? reader_.events() : 0;
    outcome_.output_tokens = reader_.output_tokens() > 0 ? reader_.output_tokens() : counted;
    recorder_.finished(outcome_);
}

}  // namespace exa::loadgen
