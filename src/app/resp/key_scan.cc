#include "app/resp/key_scan.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "app/resp/value.h"
#include "resp/session.h"

namespace exa::app::resp {

namespace {

constexpr std::size_t scan_pages_max = 16;
constexpr std::uint32_t list_page = 1000;
constexpr std::uint64_t counted_max = 50'000;
constexpr std::size_t count_page = 4096;

std::uint64_t cursor_of(const exa::kv::SegmentKey& key) {
    std::uint64_t cursor = 0;
    for (std::size_t i = 0; i < 8; ++i) cursor = cursor << 8 | key.bytes[i];
    return cursor;
}

exa::kv::SegmentKey key_with(std::uint64_t cursor, std::uint8_t rest) {
    exa::kv::SegmentKey key;
    key.bytes.fill(rest);
    for (std::size_t i = 0; i < 8; ++i) key.bytes[i] = static_cast<std::uint8_t>(cursor >> (8 * (7 - i)));
    return key;
}

}  // namespace

exa::resp::Outcome RespKeyScan::scan(const exa::resp::Operation& operation, std::uint64_t tag) {
    exa::resp::Outcome outcome;
    std::set<exa::kv::SegmentKey> found;
    exa::kv::SegmentKey from = key_with(operation.cursor, 0);
    // The cursor's own keys are listed, too: "after" the key before them.
    std::optional<exa::kv::SegmentKey> after;
    if (operation.cursor != 0) after = key_with(operation.cursor - 1, 0xff);
    for (std::size_t page = 0;; ++page) {
        const auto infos =
            deps_.disk == nullptr ? std::vector<io::store::StoredInfo>() : deps_.disk->list(after, operation.count);
        const bool is_last = infos.size() < operation.count;
        const exa::kv::SegmentKey to = is_last ? key_with(~0ull, 0xff) : infos.back().key;
        for (const io::store::StoredInfo& info : infos)
            if (info.tenant == tag && info.kind == exa::kv::SegmentKind::value) found.insert(info.key);
        const auto own = cache_.list_own(tag, from, to);
        found.insert(own.begin(), own.end());
        if (is_last) break;
        after = from = to;
        // What begins as the last key may go on in the next page: it is left to the next call, which begins there.
        const bool is_enough = found.size() > operation.count || page + 1 >= scan_pages_max;
        if (is_enough && cursor_of(to) != operation.cursor) {
            outcome.cursor = cursor_of(to);
            found.erase(found.lower_bound(key_with(outcome.cursor, 0)), found.end());
            break;
        }
    }
    for (const exa::kv::SegmentKey& key : found) {
        auto text = user_key(key, tag);
        if (text && (operation.pattern.empty() || exa::resp::matches(operation.pattern, *text)))
            outcome.keys.push_back(std::move(*text));
    }
    return outcome;
}

exa::resp::Outcome RespKeyScan::list(exa::resp::Operation operation, std::uint64_t tag) {
    exa::resp::Outcome outcome;
    operation.cursor = 0;
    operation.count = list_page;
    do {
        exa::resp::Outcome page = scan(operation, tag);
        outcome.keys.insert(outcome.keys.end(), std::make_move_iterator(page.keys.begin()),
                            std::make_move_iterator(page.keys.end()));
        operation.cursor = page.cursor;
        if (outcome.keys.size() > keys_max) {
            outcome.keys.clear();
            outcome.error = "ERR more than " + std::to_string(keys_max) + " keys: use SCAN";
            break;
        }
    } while (operation.cursor != 0);
    return outcome;
}

exa::resp::Outcome RespKeyScan::count(std::uint64_t tag) {
    exa::resp::Outcome outcome;
    std::optional<exa::kv::SegmentKey> after;
    std::uint64_t seen = 0;
    for (;;) {
        const auto infos =
            deps_.disk == nullptr ? std::vector<io::store::StoredInfo>() : deps_.disk->list(after, count_page);
        const bool is_last = infos.size() < count_page;
        const exa::kv::SegmentKey to = is_last ? key_with(~0ull, 0xff) : infos.back().key;
        std::set<exa::kv::SegmentKey> found;
        for (const io::store::StoredInfo& info : infos)
            if (info.tenant == tag && info.kind == exa::kv::SegmentKind::value) found.insert(info.key);
        const auto own = cache_.list_own(tag, after.value_or(key_with(0, 0)), to);
        found.insert(own.begin(), own.end());
        if (after) found.erase(*after);
        outcome.number += std::ranges::count_if(
            found, [this](const exa::kv::SegmentKey& key) { return versions_.known(key).item.bytes != 0; });
        seen += infos.size();
        if (is_last) return outcome;
        after = to;
        if (seen < counted_max) continue;
        const double part = (static_cast<double>(cursor_of(to)) + 1) / 0x1p64;
        outcome.number = static_cast<std::int64_t>(static_cast<double>(outcome.number) / part);
        return outcome;
    }
}

std::optional<std::string> RespKeyScan::user_key(const exa::kv::SegmentKey& key, std::uint64_t tag) {
    const exa::kv::Item here = versions_.known(key).item;
    if (here.bytes == 0) return std::nullopt;
    const exa::kv::SealedSegment first = first_part(here, tag);
    if (!first) return std::nullopt;
    const auto head = read_resp_head(exa::kv::payload_of(first->view()));
    if (!head || (head->expires_ms != 0 && head->expires_ms <= deps_.now_ms())) return std::nullopt;
    return std::string(head->key);
}

exa::kv::SealedSegment RespKeyScan::first_part(const exa::kv::Item& item, std::uint64_t tag) {
    if (const auto version = cache_.find_version(item.key, item.stamp)) return version->parts[0];
    exa::kv::SealedSegment first = deps_.disk == nullptr ? nullptr : deps_.disk->get(deps_.wall(), item.key);
    const auto head =
        first ? exa::kv::parse_segment(first->view()) : Result<exa::kv::SegmentHead>(exa::kv::SegmentHead{});
    return first && head && head.value().tenant == tag ? first : nullptr;
}

}  // namespace exa::app::resp
