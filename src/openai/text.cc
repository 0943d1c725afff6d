#include "openai/text.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "openai/utf8.h"

namespace exa::openai {

AnswerText::AnswerText(std::vector<std::string> stops) : stops_(std::move(stops)) {
    EXA_CHECK(std::ranges::none_of(stops_, &std::string::empty));
}

std::string AnswerText::push(std::string_view bytes, bool may_stop) {
    if (stopped_) return {};
    append_utf8(partial_, bytes, pending_);
    if (!may_stop) return std::exchange(pending_, {});
    return cut_and_release();
}

std::string AnswerText::finish() {
    if (stopped_) return {};
    finish_utf8(partial_, pending_);
    // The replacement may itself complete a stop string that holds one.
    std::string text = cut_and_release();
    text += std::exchange(pending_, {});
    return text;
}

// The stop string whose last byte comes first wins, so that the cut does not depend on how much arrived at once; of
// two that end together the longer one.
std::string AnswerText::cut_and_release() {
    std::size_t cut = std::string::npos;
    std::size_t cut_end = std::string::npos;
    for (const std::string& stop : stops_) {
        const std::size_t at = pending_.find(stop);
        if (at == std::string::npos) continue;
        const std::size_t end = at + stop.size();
        if (end < cut_end || (end == cut_end && at < cut)) {
            cut = at;
            cut_end = end;
        }
    }
    if (cut != std::string::npos) {
        stopped_ = true;
        partial_.clear();
        std::string text = pending_.substr(0, cut);
        pending_.clear();
        return text;
    }
    const std::size_t ready = pending_.size() - held_bytes();
    std::string text = pending_.substr(0, ready);
    pending_.erase(0, ready);
    return text;
}

// The longest end of pending_ that some stop string begins with. Such an end starts a code point, as stop strings do.
std::size_t AnswerText::held_bytes() const {
    std::size_t held = 0;
    for (const std::string& stop : stops_) {
        for (std::size_t n = std::min(stop.size() - 1, pending_.size()); n > held; --n) {
            if (pending_.ends_with(std::string_view(stop).substr(0, n))) held = n;
        }
    }
    return held;
}

}  // namespace exa::openai
