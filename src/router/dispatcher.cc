#include "router/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "ring/rendezvous.h"

namespace exa::router {

namespace {

constexpr std::size_t explained_max = 8;

std::uint32_t index_of(AttemptId id) {
    return static_cast<std::uint32_t>(id.value);
}

std::string describe(std::string_view model, std::string_view version) {
    std::string text = "model '" + std::string(model) + "'";
    if (!version.empty()) text += " version '" + std::string(version) + "'";
    return text;
}

// The pools of a model that may serve a request. A tenant with a pool of its own uses no other.
class PoolFilter {
  public:
    PoolFilter(std::span<const Pool> pools, const RequestMeta& meta) : meta_(meta) {
        own_ = !meta.tenant.empty() && std::ranges::any_of(pools, [&](const Pool& pool) {
            return serves(pool) && pool.key.tenant_pool == meta.tenant;
        });
    }

    bool operator()(const Pool& pool) const {
        return serves(pool) && pool.key.tenant_pool == (own_ ? meta_.tenant : std::string_view());
    }

  private:
    bool serves(const Pool& pool) const {
        return pool.key.role == meta_.role && (meta_.version.empty() || pool.key.version == meta_.version);
    }

    const RequestMeta& meta_;
    bool own_ = false;
};

// Which of several versions: by weighted rendezvous on the session, so that a rollout moves few sessions at a time.
const Pool* pick_version(std::span<const Pool> pools, const PoolFilter& filter, std::uint64_t key) {
    const Pool* first = nullptr;
    std::vector<const Pool*> several;
    for (const Pool& pool : pools) {
        if (!filter(pool)) continue;
        if (first == nullptr) {
            first = &pool;
            continue;
        }
        if (several.empty()) several.push_back(first);
        several.push_back(&pool);
    }
    if (several.empty()) return first;
    std::vector<ring::RendezvousCandidate> candidates;
    candidates.reserve(several.size());
    for (const Pool* pool : several)
        candidates.push_back({pool->hash, static_cast<std::uint32_t>(pool->weight_sum), pool->hash});
    const auto chosen = ring::choose_owners(key, candidates, 1);
    return chosen.empty() ? first : several[chosen.front()];
}

std::uint64_t spill_key(std::uint64_t position, std::uint64_t pool) {
    return hash64(position, pool);
}

errc code_of(Failure failure) {
    switch (failure) {
        case Failure::timeout:
            return errc::upstream_timeout;
        case Failure::draining:
            return errc::replicas_draining;
        case Failure::refused:
            return errc::out_of_reach;
        case Failure::no_permit:
            return errc::all_replicas_busy;
        case Failure::suspect:
            return errc::upstream_timeout;
        case Failure::unfit:
            return errc::context_too_long;
        case Failure::connect_failed:
        case Failure::link_broken:
        case Failure::server_error:
            break;
    }
    return errc::upstream_failed;
}

Verdict verdict_of(Failure failure) {
    switch (failure) {
        case Failure::link_broken:
        case Failure::timeout:
        case Failure::server_error:
            return Verdict::bad;
        case Failure::connect_failed:
        case Failure::draining:
        case Failure::refused:
        case Failure::unfit:
        case Failure::no_permit:
        case Failure::suspect:
            break;
    }
    return Verdict::none;
}

}  // namespace

Dispatcher::Dispatcher(const Config& config, const SessionTokens& tokens, Rng rng)
    : config_(config),
      tokens_(tokens),
      rng_(rng),
      tracker_(config),
      spills_(config.spill_entries, config.token_life),
      budget_(config) {
    EXA_CHECK(validate(config).has_value());
}

void Dispatcher::set_config(const Config& config) {
    EXA_CHECK(validate(config).has_value());
    config_ = config;
    tracker_.set_config(config);
}

void Dispatcher::handle_view(const std::shared_ptr<const RoutingView>& view) {
    EXA_CHECK(view != nullptr);
    if (view == view_) return;
    view_ = view;
    const auto moved = tracker_.handle_view(*view_);
    if (moved.empty()) return;
    for (Request& request : requests_)
        if (request.live && request.slot != no_slot) request.slot = moved[request.slot];
}

Decision Dispatcher::begin(TimePoint now, const RequestMeta& meta) {
    EXA_CHECK(view_ != nullptr);
    ++counters_.begun;
    budget_.earn();
    tracker_.handle_time(now);
    auto place = locate(meta, rng_.next());
    if (!place) {
        ++counters_.rejected;
        return make_reject(std::move(place).error());
    }
    const std::uint32_t index = open_request(meta, place.value());
    return send(now, index, error(errc::all_replicas_busy));
}

Result<Dispatcher::Place> Dispatcher::locate(const RequestMeta& meta, std::uint64_t entropy) const {
    const std::span<const Pool> pools = view_->pools_of(meta.model);
    const PoolFilter filter(pools, meta);

    Place place;
    if (!meta.session.empty()) {
        for (const Pool& pool : pools) {
            if (!filter(pool)) continue;
            const auto position = tokens_.verify(meta.session, meta.wall, meta.tenant, pool.key);
            if (!position) continue;
            place = {&pool, PositionSource::token, *position};
            break;
        }
        if (place.pool == nullptr) {
            place.source = PositionSource::client_id;
            place.position = tokens_.position_of_client_id(meta.tenant, meta.session);
        }
    }
    if (place.pool == nullptr) {
        const bool has_session = place.source != PositionSource::none;
        place.pool = pick_version(pools, filter, has_session ? place.position : entropy);
    }
    if (place.pool == nullptr) return error(errc::model_not_found, describe(meta.model, meta.version));
    if (place.pool->count == 0) {
        const errc why = place.pool->all_drain ? errc::replicas_draining : errc::no_replica_ready;
        return error(why, describe(meta.model, meta.version));
    }
    return place;
}

std::uint32_t Dispatcher::open_request(const RequestMeta& meta, const Place& place) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(requests_.size()));
        requests_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Request& request = requests_[index];
    request.live = true;
    request.first_byte = false;
    request.resumable = meta.resumable;
    request.unplaced = place.source == PositionSource::none;
    request.attempts = 0;
    request.turned_away = 0;
    request.waits = false;
    request.wait_until.reset();
    request.slot = no_slot;
    request.prompt_tokens = meta.prompt_tokens;
    request.prompt_tokens_min = 0;
    request.level = meta.level;
    request.pool = place.pool->hash;
    request.position = place.position;
    request.prefix_hash = meta.prefix_hash;
    request.numerics = 0;
    request.wall = meta.wall;
    request.tenant.assign(meta.tenant);
    return index;
}

Decision Dispatcher::send(TimePoint now, std::uint32_t index, Error last, bool must_wait) {
    Request& request = requests_[index];
    const Pool* pool = view_->find_pool(request.pool);
    if (pool == nullptr) return give_up(index, std::move(last));

    const std::uint64_t spill = spill_key(request.position, request.pool);
    const bool may_wait = request.wait_until.value_or(now + config_.queue_wait) > now;
    Need need{.prefix_hash = request.prefix_hash,
              .prompt_tokens = request.prompt_tokens_min,
              .level = request.level,
              .numerics = request.first_byte ? request.numerics : 0,
              .tried = std::span(request.tried).first(request.attempts),
              .turned_away = request.turned_away,
              .may_wait = may_wait,
              .must_wait = must_wait && may_wait};
    if (!request.unplaced) {
        need.position = request.position;
        need.spill = spills_.find(now, spill);
    }
    const auto choice = choose(now, *pool, tracker_, need, config_, rng_);
    if (!choice) return give_up(index, why_none(now, *pool, need, std::move(last)));
    if (choice->reason == Reason::session_spilled)
        spills_.remember(now, spill, {tracker_.id(choice->slot), need.spill ? need.spill->spread : 1});
    else if (choice->reason == Reason::session_owner && need.spill)
        narrow(now, spill, *need.spill);

    request.waits = choice->reason == Reason::shortest_queue;
    if (request.waits) {
        if (!request.wait_until) request.wait_until = now + config_.queue_wait;
        // No second time.
        for (std::uint32_t i = 0; i < request.attempts; ++i)
            if (request.tried[i] == tracker_.id(choice->slot)) request.turned_away &= ~(1U << i);
    }
    request.slot = choice->slot;
    request.probe = tracker_.start(now, choice->slot, request.waits, request.prompt_tokens);
    request.unanswered_tokens = request.prompt_tokens;
    if (!request.first_byte) request.numerics = tracker_.numerics(choice->slot);
    request.tried[request.attempts++] = tracker_.id(choice->slot);
    ++request.generation;
    ++counters_.attempts;
    if (request.attempts > 1) ++counters_.retries;
    Attempt attempt = make_attempt(index, *pool, *choice);
    if (request.waits) attempt.queue_wait = *request.wait_until - now;
    return attempt;
}

Error Dispatcher::why_none(TimePoint now, const Pool& pool, const Need& need, Error last) const {
    // Where one failed, or said that it is full, that is what its client has to know.
    const bool nobody_said = last.code == errc::all_replicas_busy && need.tried.empty();
    if (!nobody_said && last.code != errc::replicas_draining && last.code != errc::out_of_reach) return last;
    bool drains = pool.all_drain || last.code == errc::replicas_draining;
    for (std::uint32_t slot = pool.first; slot < pool.first + pool.count; ++slot) {
        const Eligibility eligibility = tracker_.eligibility(now, slot);
        if (eligibility <= Eligibility::full && could_be_asked(tracker_, slot, need))
            return error(errc::all_replicas_busy);
        drains = drains || eligibility == Eligibility::draining;
    }
    return error(drains ? errc::replicas_draining : errc::out_of_reach);
}

// The owner has room again.
void Dispatcher::narrow(TimePoint now, std::uint64_t spill, const Spill& last) {
    if (last.spread > 1)
        spills_.remember(now, spill, {std::nullopt, last.spread - 1});
    else
        spills_.forget(spill);
}

// Where the session went last had no room for it.
void Dispatcher::widen(TimePoint now, const Request& request) {
    if (request.unplaced) return;
    const std::uint64_t spill = spill_key(request.position, request.pool);
    const auto last = spills_.find(now, spill);
    spills_.remember(now, spill, {std::nullopt, std::min(spread_max, 4 * (last ? last->spread : 1))});
}

Attempt Dispatcher::make_attempt(std::uint32_t index, const Pool& pool, const Choice& choice) {
    Request& request = requests_[index];
    Attempt attempt{.id = AttemptId{std::uint64_t{request.generation} << 32 | index},
                    .replica = tracker_.id(choice.slot),
                    .peer = tracker_.id(choice.slot).peer,
                    .link = tracker_.link(choice.slot),
                    .local = tracker_.is_local(choice.slot),
                    .number = request.attempts,
                    .reason = choice.reason,
                    .numerics = tracker_.numerics(choice.slot)};
    if (request.unplaced) {
        request.position = pool.ring->position_in_arc_of(choice.slot - pool.first, rng_.next());
        attempt.session_token = tokens_.mint(request.position, request.wall, request.tenant, pool.key);
    }
    attempt.position = request.position;
    return attempt;
}

Decision Dispatcher::give_up(std::uint32_t index, Error last) {
    const bool seen = requests_[index].first_byte;
    end_request(index);
    if (seen) {
        ++counters_.broken;
        return Broken{error(errc::stream_broken, last.message())};
    }
    ++counters_.rejected;
    return make_reject(std::move(last));
}

Reject Dispatcher::make_reject(Error why) {
    Reject reject{.error = std::move(why)};
    reject.status = http_status(static_cast<errc>(reject.error.code.value()));
    if (reject.status == 502 || reject.status == 503 || reject.status == 504) {
        const auto base = static_cast<std::uint64_t>(config_.retry_after.count());
        reject.retry_after = Duration(static_cast<Duration::rep>(base * 3 / 4 + rng_.below(base / 2 + 1)));
    }
    return reject;
}

Dispatcher::Request* Dispatcher::find(AttemptId id) {
    const std::uint32_t index = index_of(id);
    if (index >= requests_.size()) return nullptr;
    Request& request = requests_[index];
    return request.live && request.generation == id.value >> 32 ? &request : nullptr;
}

void Dispatcher::end_attempt(TimePoint now, Request& request, Verdict verdict) {
    if (request.slot != no_slot)
        tracker_.end(now, request.slot, verdict, request.probe, std::exchange(request.unanswered_tokens, 0));
}

void Dispatcher::end_request(std::uint32_t index) {
    Request& request = requests_[index];
    request.live = false;
    request.slot = no_slot;
    free_.push_back(index);
}

void Dispatcher::handle_piggybacked(TimePoint now, std::uint32_t slot, const std::optional<wire::LoadReport>& load) {
    if (load && slot != no_slot && load->replica == tracker_.id(slot)) tracker_.handle_load(now, slot, *load);
}

void Dispatcher::handle_accepted(AttemptId id) {
    const Request* request = find(id);
    if (request != nullptr && request->slot != no_slot) tracker_.handle_slot_ok(request->slot);
}

void Dispatcher::handle_first_byte(AttemptId id) {
    Request* request = find(id);
    if (request == nullptr) return;
    request->first_byte = true;
    request->unplaced = false;
    if (request->slot != no_slot) tracker_.answered(request->slot, std::exchange(request->unanswered_tokens, 0));
}

void Dispatcher::handle_progress(AttemptId id, std::uint64_t tokens) {
    Request* request = find(id);
    if (request == nullptr || tokens < config_.progress_tokens) return;
    ++counters_.progress_credits;
    request->tried[0] = request->tried[request->attempts - 1];
    request->turned_away = 0;
    request->attempts = 1;
}

bool Dispatcher::should_move(AttemptId id) const {
    const std::uint32_t index = index_of(id);
    if (index >= requests_.size()) return false;
    const Request& request = requests_[index];
    return request.live && request.generation == id.value >> 32 && request.slot != no_slot &&
           view_->replicas()[request.slot].suspect && request.first_byte && request.resumable && request.numerics != 0;
}

bool Dispatcher::handle_finished(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load) {
    Request* request = find(id);
    if (request == nullptr) return false;
    if (request->slot != no_slot) tracker_.handle_slot_ok(request->slot);
    end_attempt(now, *request, Verdict::good);
    handle_piggybacked(now, request->slot, load);
    end_request(index_of(id));
    ++counters_.finished;
    return true;
}

bool Dispatcher::handle_client_gone(TimePoint now, AttemptId id) {
    Request* request = find(id);
    if (request == nullptr) return false;
    end_attempt(now, *request, Verdict::none);
    end_request(index_of(id));
    ++counters_.abandoned;
    return true;
}

Decision Dispatcher::handle_busy(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load) {
    Request* request = find(id);
    if (request == nullptr) return Ignored{};
    ++counters_.busy_answers;
    if (!request->waits) request->turned_away |= 1U << (request->attempts - 1);
    end_attempt(now, *request, Verdict::none);
    if (request->slot != no_slot) {
        tracker_.handle_slot_ok(request->slot);
        tracker_.handle_busy(now, request->slot);
    }
    widen(now, *request);
    handle_piggybacked(now, request->slot, load);
    return retry(now, index_of(id), error(errc::all_replicas_busy), true);
}

Decision Dispatcher::handle_failed(TimePoint now, AttemptId id, Failure failure) {
    Request* request = find(id);
    if (request == nullptr) return Ignored{};
    ++counters_.failures;
    end_attempt(now, *request, verdict_of(failure));
    if (request->slot != no_slot) {
        if (failure == Failure::connect_failed) tracker_.handle_peer_broken(now, tracker_.id(request->slot).peer);
        const std::uint32_t context_tokens = tracker_.context_tokens(request->slot);
        if (failure == Failure::unfit && context_tokens > 0)
            request->prompt_tokens_min = std::max(request->prompt_tokens_min, context_tokens + 1);
        if (failure == Failure::draining || failure == Failure::refused) tracker_.handle_refused(now, request->slot);
    }
    if (failure == Failure::no_permit) return give_up(index_of(id), error(code_of(failure)));
    return retry(now, index_of(id), error(code_of(failure)), false);
}

Decision Dispatcher::retry(TimePoint now, std::uint32_t index, Error last, bool busy) {
    Request& request = requests_[index];
    request.slot = no_slot;
    const bool can_go_on = !request.first_byte || (request.resumable && request.numerics != 0);
    if (!can_go_on || request.attempts >= config_.attempts_max) return give_up(index, std::move(last));
    if (!(busy ? budget_.spend_on_busy() : budget_.spend_on_failure())) return give_up(index, std::move(last));
    // Who was turned away waits for a place before the last attempt, which is for when the one that it waits at dies.
    const bool is_full = busy || request.turned_away != 0 || request.wait_until.has_value();
    const bool asked_enough = request.attempts + 1 >= std::max(2U, config_.attempts_max - 1);
    const bool must_wait = config_.queue_wait > Duration::zero() && is_full && asked_enough;
    return send(now, index, std::move(last), must_wait);
}

void Dispatcher::handle_load(TimePoint now, const wire::LoadReport& load) {
    if (view_ == nullptr) return;
    for (const Pool& pool : view_->pools())
        if (const auto member = pool.ring->find(load.replica)) tracker_.handle_load(now, pool.first + *member, load);
}

Result<Explanation> Dispatcher::explain(TimePoint now, const RequestMeta& meta) const {
    EXA_CHECK(view_ != nullptr);
    Rng rng = rng_;
    EXA_TRY(const Place place, locate(meta, rng.next()));
    const Pool& pool = *place.pool;
    Explanation explanation{.pool = pool.key, .source = place.source, .position = place.position};
    Need need{.prefix_hash = meta.prefix_hash, .level = meta.level, .may_wait = config_.queue_wait > Duration::zero()};
    std::vector<std::uint32_t> order;
    if (place.source == PositionSource::none) {
        for (std::uint32_t member = 0; member < pool.count; ++member) order.push_back(pool.first + member);
        std::ranges::sort(order, {},
                          [&](std::uint32_t slot) { return std::pair(tracker_.projected_load(now, slot), slot); });
    } else {
        need.position = place.position;
        need.spill = spills_.peek(now, spill_key(place.position, pool.hash));
        if (need.spill) explanation.spilled_to = need.spill->replica;
        explanation.owner = pool.ring->members()[pool.ring->owner(place.position)].id;
        pool.ring->walk(place.position, [&](std::uint32_t member) {
            order.push_back(pool.first + member);
            return order.size() < explained_max;
        });
    }
    const auto choice = choose(now, pool, tracker_, need, config_, rng);
    if (choice) {
        explanation.choice = tracker_.id(choice->slot);
        explanation.reason = choice->reason;
    }
    if (order.size() > explained_max) order.resize(explained_max);
    if (choice && std::ranges::find(order, choice->slot) == order.end()) order.push_back(choice->slot);
    for (const std::uint32_t slot : order) {
        explanation.candidates.push_back({.replica = tracker_.id(slot),
                                          .peer_name = view_->replicas()[slot].member->record->name,
                                          .load = tracker_.load(slot),
                                          .factors = tracker_.factors(slot),
                                          .load_score = tracker_.load_score(slot),
                                          .bound = tracker_.bound(slot),
                                          .limit = tracker_.limit(slot),
                                          .queued = tracker_.queued(slot),
                                          .share_permille = tracker_.share_permille(now, slot),
                                          .distance = tracker_.distance(slot),
                                          .eligibility = tracker_.eligibility(now, slot),
                                          .fits = is_fit(tracker_, slot, need),
                                          .chosen = choice && choice->slot == slot});
    }
    return explanation;
}

}  // namespace exa::router
