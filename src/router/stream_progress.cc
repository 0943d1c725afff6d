#include "router/stream_progress.h"

#include <algorithm>

namespace exa::router {

bool StreamProgress::begin(std::uint64_t numerics) {
    if (!committed_ && (numerics == 0 || numerics != numerics_)) {
        choices_.assign(1, {});
        tokens_ = 0;
    }
    numerics_ = numerics;
    tokens_before_ = tokens_;
    return committed_ || tokens_ > 0;
}

bool StreamProgress::take(std::size_t choice, std::uint32_t offset, std::span<const std::uint32_t> tokens) {
    if (choice >= choices_max_) return false;
    const std::size_t there = choice < choices_.size() ? choices_[choice].size() : 0;
    const bool restarts = offset == 0 && !committed_;
    if (offset != there && !restarts) return false;
    if (choice >= choices_.size()) choices_.resize(choice + 1);
    Tokens& into = choices_[choice];
    if (restarts) {
        tokens_ -= into.size();
        tokens_before_ = std::min(tokens_before_, tokens_);
        into.clear();
    }
    into.insert(into.end(), tokens.begin(), tokens.end());
    tokens_ += tokens.size();
    return true;
}

}  // namespace exa::router
