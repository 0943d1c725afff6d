#include "app/resp/reader.h"

#include <mutex>
#include <utility>

#include "app/resp/fetch.h"
#include "app/resp/value.h"

namespace exa::app::resp {

namespace {

// Of a value, by how long its first part is; nothing when there may be others.
std::optional<std::int64_t> length_by_record(std::uint32_t bytes, std::string_view user_key) {
    const std::uint64_t before = exa::kv::segment_header_size + resp_head_size(user_key.size());
    if (bytes < before || bytes - before >= resp_part_bytes_max) return std::nullopt;
    return static_cast<std::int64_t>(bytes - before);
}

std::int64_t length_of(const std::optional<RespVersion>& version) {
    if (!version) return 0;
    const auto head = read_resp_head(exa::kv::payload_of(std::as_const(*version->parts[0]).view()));
    return head ? static_cast<std::int64_t>(head->bytes) : 0;
}

void answer(const RespReader::Done& done, std::int64_t bytes) {
    exa::resp::Outcome outcome;
    outcome.number = bytes;
    done(std::move(outcome));
}

}  // namespace

// A get whose values come from several places.
struct RespReader::Gathering {
    RespKeys keys;
    Done done;
    std::mutex mutex;
    exa::resp::Outcome outcome;
    std::size_t open = 0;  // values that are still to come

    // Of one value or none; the one that brings the last answers.
    void deliver(std::size_t place, std::optional<exa::resp::Value> value) {
        {
            const std::lock_guard lock(mutex);
            outcome.values[place] = std::move(value);
            if (--open > 0) return;
        }
        finish();
    }
    void finish() { done(std::move(outcome)); }
};

void RespReader::get(RespKeys keys, Done done) {
    const auto gathering = std::make_shared<Gathering>();
    gathering->keys = std::move(keys);
    gathering->done = std::move(done);
    gathering->outcome.values.resize(gathering->keys.segments.size());
    versions_.search(gathering->keys.segments,
                     [this, gathering](const Verdicts& verdicts) { gather(gathering, verdicts); });
}

void RespReader::gather(const std::shared_ptr<Gathering>& gathering, const Verdicts& verdicts) {
    std::vector<std::size_t> on_disk, with_peers;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        if (!verdicts[i].is_found()) {
            count(counters_.misses);
            continue;
        }
        if (!verdicts[i].is_local) {
            with_peers.push_back(i);
            continue;
        }
        auto hit = cache_.find_value(gathering->keys.segments[i], verdicts[i].stamp);
        if (hit.value) {
            count(counters_.hits_memory);
            count(counters_.got_bytes, hit.value->size());
            gathering->outcome.values[i] = std::move(hit.value);
        } else if (!hit.is_here && deps_.disk != nullptr) {
            on_disk.push_back(i);
        } else {
            // It was live a moment ago: it has expired, was written over by what is not, or memory was all there is.
            count(counters_.misses);
        }
    }
    gathering->open = on_disk.size() + with_peers.size();
    if (gathering->open == 0) return gathering->finish();
    for (const std::size_t i : with_peers) fetch(gathering, i, verdicts[i]);
    if (on_disk.empty()) return;
    workers_.post(
        [this, gathering, on_disk = std::move(on_disk)](const std::stop_token&) { read(gathering, on_disk); });
}

std::optional<exa::resp::Value> RespReader::accept(const exa::kv::SegmentKey& key, std::optional<RespVersion> version,
                                                   RespCounters::Counter& hits) {
    count(version ? hits : counters_.misses);
    if (!version) return std::nullopt;
    exa::resp::Value value = resp_view(*version);
    count(counters_.got_bytes, value.size());
    cache_.remember(key, std::move(*version));
    return value;
}

void RespReader::fetch(const std::shared_ptr<Gathering>& gathering, std::size_t place,
                       const exa::kv::ValueVerdict& verdict) {
    RespFetch fetch{gathering->keys.segments[place], gathering->keys.users[place], verdict, {}};
    fetch.reserve = guard_.wrap([this](std::uint64_t bytes) { return cache_.reserve(bytes); });
    fetch_resp_value(*deps_.peers, deps_.crypto, std::move(fetch),
                     guard_.wrap([this, gathering, place](std::optional<RespVersion> version) {
                         if (version && !version->is_live(deps_.now_ms())) version.reset();
                         const exa::kv::SegmentKey& key = gathering->keys.segments[place];
                         gathering->deliver(place, accept(key, std::move(version), counters_.hits_peers));
                     }));
}

void RespReader::read(const std::shared_ptr<Gathering>& gathering, const std::vector<std::size_t>& places) {
    for (const std::size_t i : places) {
        const exa::kv::SegmentKey& key = gathering->keys.segments[i];
        gathering->deliver(i, accept(key, read(key, gathering->keys.users[i]), counters_.hits_disk));
    }
}

std::optional<RespVersion> RespReader::read(const exa::kv::SegmentKey& key, std::string_view user_key) const {
    const WallTime now = deps_.wall();
    const exa::kv::SealedSegment first = deps_.disk->get(now, key);
    auto version = first ? resp_version_of(deps_.crypto, key, user_key, first) : std::nullopt;
    if (!version || !version->is_live(now.unix_us / 1000)) return std::nullopt;
    for (std::size_t i = 1; i < version->keys.size(); ++i) {
        const exa::kv::SealedSegment part = deps_.disk->get(now, version->keys[i]);
        if (!part || !add_resp_part(*version, part)) return std::nullopt;
    }
    return is_resp_whole(*version) ? std::move(version) : std::nullopt;
}

void RespReader::version(const RespKeys& keys, std::function<void(std::optional<RespVersion>)> done) {
    const exa::kv::SegmentKey key = keys.segments[0];
    versions_.search({key}, [this, key, user_key = keys.users[0], done = std::move(done)](const Verdicts& verdicts) {
        const exa::kv::ValueVerdict& verdict = verdicts[0];
        if (!verdict.is_found()) return done(std::nullopt);
        if (!verdict.is_local) {
            RespFetch fetch{key, user_key, verdict, {}};
            fetch.reserve = guard_.wrap([this](std::uint64_t bytes) { return cache_.reserve(bytes); });
            return fetch_resp_value(
                *deps_.peers, deps_.crypto, std::move(fetch),
                guard_.wrap([this, done](std::optional<RespVersion> fetched) { done(live(std::move(fetched))); }));
        }
        auto here = cache_.find_version(key, verdict.stamp);
        if (here || deps_.disk == nullptr) return done(live(std::move(here)));
        workers_.post([this, key, user_key, done](const std::stop_token&) { done(read(key, user_key)); });
    });
}

std::optional<RespVersion> RespReader::live(std::optional<RespVersion> version) const {
    return version && version->is_live(deps_.now_ms()) ? std::move(version) : std::nullopt;
}

void RespReader::expiry(const RespKeys& keys, Done done) {
    versions_.search({keys.segments[0]}, [this, key = keys.segments[0], user_key = keys.users[0],
                                          done = std::move(done)](const Verdicts& verdicts) {
        head(key, user_key, verdicts[0], [done](const std::optional<RespVersion>& version) {
            exa::resp::Outcome outcome;
            outcome.done = version.has_value();
            outcome.number = version ? version->expires_ms : 0;
            done(std::move(outcome));
        });
    });
}

void RespReader::length(const RespKeys& keys, Done done) {
    versions_.search({keys.segments[0]}, [this, key = keys.segments[0], user_key = keys.users[0],
                                          done = std::move(done)](const Verdicts& verdicts) {
        const exa::kv::ValueVerdict& verdict = verdicts[0];
        const auto by_record =
            verdict.is_found() && !verdict.is_local ? length_by_record(verdict.bytes, user_key) : std::nullopt;
        if (by_record) return answer(done, *by_record);
        head(key, user_key, verdict,
             [done](const std::optional<RespVersion>& version) { answer(done, length_of(version)); });
    });
}

void RespReader::head(const exa::kv::SegmentKey& key, const std::string& user_key, const exa::kv::ValueVerdict& verdict,
                      HeadDone done) {
    if (!verdict.is_found()) return done(std::nullopt);
    if (!verdict.is_local)
        return fetch_resp_value(*deps_.peers, deps_.crypto, {key, user_key, verdict, {}, true},
                                guard_.wrap([this, done = std::move(done)](std::optional<RespVersion> version) {
                                    done(live(std::move(version)));
                                }));
    auto here = cache_.find_version(key, verdict.stamp);
    if (here || deps_.disk == nullptr) return done(live(std::move(here)));
    workers_.post([this, key, user_key, done = std::move(done)](const std::stop_token&) {
        const exa::kv::SealedSegment first = deps_.disk->get(deps_.wall(), key);
        done(live(first ? resp_version_of(deps_.crypto, key, user_key, first) : std::nullopt));
    });
}

}  // namespace exa::app::resp
