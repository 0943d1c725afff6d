#include "app/resp/updater.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "app/resp/value.h"

namespace exa::app::resp {

namespace {

// Against others at this peer that change the same value all the time.
constexpr int tries_max = 16;

bool allows(const exa::resp::ExpiryRule& rule, std::int64_t before_ms, std::int64_t after_ms) {
    const bool had_one = before_ms != 0;
    if (rule.only_if_none && had_one) return false;
    if (rule.only_if_any && !had_one) return false;
    if (rule.only_if_later && (!had_one || after_ms <= before_ms)) return false;
    return !rule.only_if_sooner || !had_one || after_ms < before_ms;
}

}  // namespace

struct RespUpdater::Update {
    RespKeys keys;
    std::uint64_t tag = 0;
    std::optional<Expiry> expiry;  // nothing: it is taken away
    Done done;
    int tries = 0;
    exa::resp::Outcome outcome{};
};

void RespUpdater::take(RespKeys keys, std::uint64_t tag, Done done) {
    read(std::make_shared<Update>(std::move(keys), tag, std::nullopt, std::move(done)));
}

void RespUpdater::expire(RespKeys keys, std::uint64_t tag, const Expiry& expiry, Done done) {
    read(std::make_shared<Update>(std::move(keys), tag, expiry, std::move(done)));
}

void RespUpdater::read(const std::shared_ptr<Update>& update) {
    reader_.version(update->keys, [this, update](const std::optional<RespVersion>& now) {
        update->outcome = {};
        update->outcome.done = false;
        if (!now) {
            count(counters_.misses);
            return update->done(std::move(update->outcome));
        }
        const auto next = make_next(*update, *now);
        if (!next) return update->done(std::move(update->outcome));
        const auto entered = cache_.replace(update->keys.segments[0], *next, now->stamp);
        if (!entered && ++update->tries < tries_max) return read(update);
        if (!entered) {
            update->outcome = {};
            update->outcome.error = "TRYAGAIN the value is being changed by others";
            return update->done(std::move(update->outcome));
        }
        if (next->is_removal) count(counters_.removed);
        if (entered->is_removal && deps_.disk == nullptr && deps_.peers == nullptr)
            return update->done(std::move(update->outcome));
        writer_.add(*entered, [update](const exa::resp::Outcome&) { update->done(std::move(update->outcome)); });
    });
}

std::optional<RespVersion> RespUpdater::make_next(Update& update, const RespVersion& now) {
    exa::resp::Outcome& outcome = update.outcome;
    const auto& expiry = update.expiry;
    if (!expiry || expiry->wants_value) outcome.values.emplace_back(resp_view(now));
    const std::int64_t at_ms = expiry ? expiry->at_ms.value_or(0) : 0;
    if (expiry && (!allows(expiry->rule, now.expires_ms, at_ms) || (!expiry->at_ms && now.expires_ms == 0)))
        return std::nullopt;
    outcome.done = true;
    if (!expiry || (expiry->at_ms && at_ms <= deps_.now_ms()))
        return resp_removal(update.keys.segments[0], 0, update.tag);
    auto changed = copy(now, at_ms);
    if (changed) return changed;
    outcome = {};
    outcome.error = "OOM no memory for the value";
    return std::nullopt;
}

std::optional<RespVersion> RespUpdater::copy(const RespVersion& version, std::int64_t expires_ms) {
    RespVersion copied;
    copied.tag = version.tag;
    copied.expires_ms = expires_ms;
    copied.sealing = std::make_shared<std::once_flag>();
    for (const auto& part : version.parts) {
        const auto buffer = cache_.try_make_buffer(part->size());
        if (!buffer) return std::nullopt;
        const ByteView payload = exa::kv::payload_of(std::as_const(*part).view());
        std::ranges::copy(payload, buffer->bytes().subspan(exa::kv::segment_header_size).begin());
        copied.parts.push_back(buffer);
        copied.bytes += buffer->size();
    }
    const std::span<std::uint8_t> payload = copied.parts[0]->bytes().subspan(exa::kv::segment_header_size);
    auto head = *read_resp_head(payload);
    head.expires_ms = expires_ms;
    const std::string user_key(head.key);
    head.key = user_key;
    write_resp_head(head, payload);
    return copied;
}

}  // namespace exa::app::resp
