#include "kv/messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "kv/errc.h"
#include "kv/segment.h"

namespace exa::kv {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::size_t question_head = 8;
constexpr std::size_t item_bytes = sizeof(SegmentKey::bytes) + 8 + 4;
static_assert(answer_bytes_max(1) == item_bytes);

template <class T>
void put_le(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class T>
T take_le(std::string_view& bytes) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | static_cast<std::uint8_t>(bytes[i]));
    bytes.remove_prefix(sizeof(T));
    return value;
}

void put(std::string& out, const Item& item) {
    out.append(reinterpret_cast<const char*>(item.key.bytes.data()), item.key.bytes.size());
    put_le(out, item.stamp);
    put_le(out, item.bytes);
}

Item take_item(std::string_view& bytes) {
    Item item;
    std::memcpy(item.key.bytes.data(), bytes.data(), item.key.bytes.size());
    bytes.remove_prefix(item.key.bytes.size());
    item.stamp = take_le<std::uint64_t>(bytes);
    item.bytes = take_le<std::uint32_t>(bytes);
    return item;
}

}  // namespace

std::string encode(const Question& question) {
    EXA_CHECK(!question.items.empty() && question.items.size() <= question_items_max);
    std::string out;
    out.reserve(question_head + question.items.size() * item_bytes);
    out.push_back(static_cast<char>(version));
    out.push_back(static_cast<char>(question.kind));
    put_le(out, std::uint16_t{0});
    put_le(out, static_cast<std::uint32_t>(question.items.size()));
    for (const Item& item : question.items) put(out, item);
    return out;
}

Result<Question> decode_question(std::string_view bytes) {
    if (bytes.size() < question_head) return error(errc::malformed, "a question's head");
    if (take_le<std::uint8_t>(bytes) != version) return error(errc::malformed, "a question of another version");
    const auto kind = take_le<std::uint8_t>(bytes);
    if (kind < static_cast<std::uint8_t>(QuestionKind::lookup) || kind > static_cast<std::uint8_t>(QuestionKind::move))
        return error(errc::malformed, "a question of an unknown kind");
    bytes.remove_prefix(2);
    const auto count = take_le<std::uint32_t>(bytes);
    if (count == 0 || count > question_items_max) return error(errc::malformed, "the number of items");
    auto items = decode_items(bytes, count);
    if (!items) return std::move(items).error();
    Question question{static_cast<QuestionKind>(kind), std::move(items).value()};
    const bool offers = question.kind == QuestionKind::offer || question.kind == QuestionKind::move;
    if (offers && !std::ranges::all_of(question.items, is_valid_sealed_size, &Item::bytes))
        return error(errc::malformed, "the size of an offered segment");
    return question;
}

std::string encode(std::span<const Item> items) {
    std::string out;
    out.reserve(items.size() * item_bytes);
    for (const Item& item : items) put(out, item);
    return out;
}

Result<std::vector<Item>> decode_items(std::string_view bytes, std::size_t count) {
    if (bytes.size() != count * item_bytes) return error(errc::malformed, "the length of the items");
    std::vector<Item> items;
    items.reserve(count);
    while (!bytes.empty()) items.push_back(take_item(bytes));
    return items;
}

std::string encode(std::span<const OfferOutcome> outcomes) {
    std::string out;
    for (const OfferOutcome outcome : outcomes) out.push_back(static_cast<char>(outcome));
    return out;
}

Result<std::vector<OfferOutcome>> decode_outcomes(std::string_view bytes, std::size_t count) {
    if (bytes.size() != count) return error(errc::malformed, "the number of outcomes");
    std::vector<OfferOutcome> outcomes;
    outcomes.reserve(count);
    for (const char byte : bytes) {
        if (static_cast<std::uint8_t>(byte) > static_cast<std::uint8_t>(OfferOutcome::failed))
            return error(errc::malformed, "an unknown outcome");
        outcomes.push_back(static_cast<OfferOutcome>(byte));
    }
    return outcomes;
}

std::string segment_prefix(std::size_t sealed_bytes) {
    std::string out;
    put_le(out, static_cast<std::uint32_t>(sealed_bytes));
    return out;
}

std::span<std::uint8_t> SegmentReader::room() {
    return current_ ? current_->bytes().subspan(filled_) : std::span<std::uint8_t>(prefix_).subspan(filled_);
}

Result<void> SegmentReader::filled(std::size_t count) {
    EXA_CHECK(count <= room().size());
    if (failed_ || (!current_ && seen_ == count_)) {
        failed_ = true;
        return error(errc::malformed, "bytes after the last segment");
    }
    filled_ += count;
    if (!room().empty()) return success();
    filled_ = 0;
    if (current_) {
        ready_.push_back(std::move(current_));
        return success();
    }
    std::string_view prefix = as_text(prefix_);
    const auto size = take_le<std::uint32_t>(prefix);
    ++seen_;
    if (size == 0) {
        ready_.push_back(nullptr);
    } else if (is_valid_sealed_size(size)) {
        current_ = std::make_shared<SegmentBuffer>(size);
    } else {
        failed_ = true;
        return error(errc::malformed, "the size of a segment");
    }
    return success();
}

Result<void> SegmentReader::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::span<std::uint8_t> into = room();
        const std::size_t count = std::min(bytes.size(), into.size());
        std::memcpy(into.data(), bytes.data(), count);
        bytes.remove_prefix(count);
        EXA_TRY(filled(count));
    }
    return success();
}

std::optional<SealedSegment> SegmentReader::next() {
    if (taken_ == ready_.size()) {
        ready_.clear();
        taken_ = 0;
        return std::nullopt;
    }
    return std::move(ready_[taken_++]);
}

}  // namespace exa::kv
