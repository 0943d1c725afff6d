#include "node/kv_answer.h"

#include <algorithm>
#include <utility>

namespace exa::node {

KvAnswer::KvAnswer(std::string_view question) {
    auto decoded = kv::decode_question(question);
    if (decoded) {
        question_ = std::move(decoded).value();
        return;
    }
    state_ = State::refused;
    body_ = decoded.error().message();
}

void KvAnswer::handle_items(std::span<const kv::Item> items) {
    if (state_ != State::waiting || question_.kind != kv::QuestionKind::lookup) return;
    body_ = kv::encode(items);
    state_ = State::answered;
}

void KvAnswer::handle_read(kv::SealedSegment segment) {
    if (!std::exchange(is_reading_, false) || state_ == State::over) return;
    ready_.push_back(std::move(segment));
}

void KvAnswer::handle_outcomes(std::string body) {
    if (state_ != State::waiting || question_.kind == kv::QuestionKind::lookup) return;
    body_ = std::move(body);
    state_ = State::answered;
}

void KvAnswer::cancel() {
    const bool is_offer = question_.kind == kv::QuestionKind::offer || question_.kind == kv::QuestionKind::move;
    forgets_ = forgets_ || (is_offer && state_ == State::waiting);
    state_ = State::over;
}

std::optional<KvAnswer::Work> KvAnswer::poll_work() {
    if (std::exchange(forgets_, false)) return Forget{};
    if (state_ != State::begun) return std::nullopt;
    switch (question_.kind) {
        case kv::QuestionKind::lookup: {
            state_ = State::waiting;
            Lookup lookup;
            lookup.keys.reserve(question_.items.size());
            for (const kv::Item& item : question_.items) lookup.keys.push_back(item.key);
            return lookup;
        }
        case kv::QuestionKind::fetch:
            if (is_reading_ || asked_ == question_.items.size() || ready_.size() == read_ahead) return std::nullopt;
            is_reading_ = true;
            return Read{question_.items[asked_++].key};
        case kv::QuestionKind::offer:
        case kv::QuestionKind::move:
            state_ = State::waiting;
            return Offer{question_, std::ranges::max(question_.items, {}, &kv::Item::stamp).stamp};
    }
    return std::nullopt;
}

std::optional<KvAnswer::Part> KvAnswer::poll_part() {
    if (state_ == State::refused) {
        state_ = State::over;
        return End{std::move(body_)};
    }
    if (state_ == State::answered && sent_ == 0) {
        ++sent_;
        return Body{std::move(body_)};
    }
    const bool is_fetch = state_ == State::begun && question_.kind == kv::QuestionKind::fetch;
    if (is_fetch && !ready_.empty()) {
        Segment part{std::move(ready_.front())};
        ready_.pop_front();
        ++sent_;
        return part;
    }
    if (state_ == State::over || !is_sent()) return std::nullopt;
    state_ = State::over;
    return End{};
}

bool KvAnswer::is_sent() const {
    if (state_ == State::answered) return sent_ > 0;
    if (state_ == State::begun) return question_.kind == kv::QuestionKind::fetch && sent_ == question_.items.size();
    return state_ == State::over;
}

}  // namespace exa::node
