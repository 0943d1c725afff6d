#include "router/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "ring/rendezvous.h"

namespace exa::router {

namespace {

constexpr std::size_t explained_max = 8;

// Of Request::losses: from here on a request rather goes to this very peer.
constexpr std::uint32_t losses_noted = 2;

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

std::uint32_t losses_of(Failure failure) {
    switch (failure) {
        case Failure::suspect:
            return 2;
        case Failure::connect_failed:
        case Failure::link_broken:
        case Failure::timeout:
            return 1;
        case Failure::server_error:
        case Failure::draining:
        case Failure::refused:
        case Failure::unfit:
        case Failure::no_permit:
            break;
    }
    return 0;
}

HealthSignal health_of(Failure failure) {
    switch (failure) {
        case Failure::link_broken:
        case Failure::timeout:
        case Failure::server_error:
            return HealthSignal::failure;
        case Failure::connect_failed:
        case Failure::draining:
        case Failure::refused:
        case Failure::unfit:
        case Failure::no_permit:
        case Failure::suspect:
            break;
    }
    return HealthSignal::none;
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
        if (request.live && request.replica != no_replica) request.replica = moved[request.replica];
}

Decision Dispatcher::begin(TimePoint now, const RequestMeta& meta) {
    EXA_CHECK(view_ != nullptr);
    ++counters_.begun;
    budget_.earn();
    tracker_.handle_time(now);
    auto destination = locate(meta, rng_.next());
    if (!destination) {
        ++counters_.rejected;
        return make_reject(std::move(destination).error());
    }
    const std::uint32_t index = open_request(now, meta, destination.value());
    return send(now, index, error(errc::all_replicas_busy));
}

Result<Dispatcher::Destination> Dispatcher::locate(const RequestMeta& meta, std::uint64_t entropy) const {
    const std::span<const Pool> pools = view_->pools_of(meta.model);
    const PoolFilter filter(pools, meta);

    Destination destination;
    if (!meta.session.empty()) {
        for (const Pool& pool : pools) {
            if (!filter(pool)) continue;
            const auto position = tokens_.verify(meta.session, meta.wall, meta.tenant, pool.key);
            if (!position) continue;
            destination = {&pool, PositionSource::token, *position};
            break;
        }
        if (destination.pool == nullptr) {
            destination.source = PositionSource::client_id;
            destination.position = tokens_.position_of_client_id(meta.tenant, meta.session);
        }
    }
    if (destination.pool == nullptr) {
        const bool has_session = destination.source != PositionSource::none;
        destination.pool = pick_version(pools, filter, has_session ? destination.position : entropy);
    }
    if (destination.pool == nullptr) return error(errc::model_not_found, describe(meta.model, meta.version));
    if (destination.pool->count == 0) {
        const errc why = destination.pool->all_drain ? errc::replicas_draining : errc::no_replica_ready;
        return error(why, describe(meta.model, meta.version));
    }
    return destination;
}

std::uint32_t Dispatcher::open_request(TimePoint now, const RequestMeta& meta, const Destination& destination) {
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
    request.mints_session = destination.source == PositionSource::none;
    request.attempts = 0;
    request.answered_busy = 0;
    request.losses = 0;
    request.waits = false;
    request.wait_until.reset();
    request.replica = no_replica;
    request.prompt_tokens = meta.prompt_tokens;
    request.prompt_tokens_min = 0;
    request.priority = meta.priority;
    request.pool = destination.pool->hash;
    request.position = destination.position;
    request.prefix_hash = meta.prefix_hash;
    request.numerics = 0;
    request.fingerprint = meta.fingerprint;
    request.asked = refusals_.asked(now, meta.fingerprint);
    request.age = now - request.asked;
    request.wall = meta.wall;
    request.tenant.assign(meta.tenant);
    return index;
}

// Half of the patience is left to who has used up the rest.
TimePoint Dispatcher::wait_deadline(TimePoint now, const Request& request, const Pool& pool) const {
    if (request.wait_until) return *request.wait_until;
    Duration wait = config_.queue_wait;
    if (pool.all_local && wait > Duration::zero()) wait = std::max(wait, config_.queue_wait_alone);
    return now + std::max(wait - request.age, wait / 2);
}

Need Dispatcher::need_of(TimePoint now, const Request& request, const Pool& pool) const {
    Need need{.prefix_hash = request.prefix_hash,
              .prompt_tokens = request.prompt_tokens_min,
              .priority = request.priority,
              .numerics = request.first_byte ? request.numerics : 0,
              .tried = std::span(request.tried).first(request.attempts),
              .answered_busy = request.answered_busy,
              .may_wait = wait_deadline(now, request, pool) > now,
              .was_lost = request.losses >= losses_noted};
    if (!request.mints_session) need.position = request.position;
    return need;
}

Decision Dispatcher::send(TimePoint now, std::uint32_t index, Error last, bool must_wait) {
    Request& request = requests_[index];
    const Pool* pool = view_->find_pool(request.pool);
    if (pool == nullptr) return give_up(now, index, std::move(last));

    const std::uint64_t spill = spill_key(request.position, request.pool);
    Need need = need_of(now, request, *pool);
    need.must_wait = must_wait && need.may_wait;
    if (need.position) need.spill = spills_.find(now, spill);
    const auto choice = choose(now, *pool, tracker_, need, config_, rng_);
    if (!choice) return give_up(now, index, why_none(now, *pool, need, std::move(last)));
    if (choice->reason == Reason::session_spilled)
        spills_.remember(now, spill, {tracker_.id(choice->replica), need.spill ? need.spill->fan_out : 1});
    else if (choice->reason == Reason::session_owner && need.spill)
        shrink_fan_out(now, spill, *need.spill);

    request.waits = choice->reason == Reason::shortest_queue;
    if (request.waits) {
        request.wait_until = wait_deadline(now, request, *pool);
        // It is not asked to wait there a second time.
        for (std::uint32_t i = 0; i < request.attempts; ++i)
            if (request.tried[i] == tracker_.id(choice->replica)) request.answered_busy &= ~(1U << i);
    }
    request.replica = choice->replica;
    request.trial = tracker_.start(now, choice->replica, request.waits, request.prompt_tokens);
    request.unanswered_tokens = request.prompt_tokens;
    if (!request.first_byte) request.numerics = tracker_.numerics(choice->replica);
    request.tried[request.attempts++] = tracker_.id(choice->replica);
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
    for (std::uint32_t replica = pool.first; replica < pool.first + pool.count; ++replica) {
        const Eligibility eligibility = tracker_.eligibility(now, replica);
        if (eligibility <= Eligibility::full && can_queue(tracker_, replica, need))
            return error(errc::all_replicas_busy);
        drains = drains || eligibility == Eligibility::draining;
    }
    return error(drains ? errc::replicas_draining : errc::out_of_reach);
}

void Dispatcher::shrink_fan_out(TimePoint now, std::uint64_t spill, const Spill& last) {
    if (last.fan_out > 1)
        spills_.remember(now, spill, {std::nullopt, last.fan_out - 1});
    else
        spills_.forget(spill);
}

void Dispatcher::grow_fan_out(TimePoint now, const Request& request) {
    if (request.mints_session) return;
    const std::uint64_t spill = spill_key(request.position, request.pool);
    const auto last = spills_.find(now, spill);
    spills_.remember(now, spill, {std::nullopt, std::min(fan_out_max, 4 * (last ? last->fan_out : 1))});
}

Attempt Dispatcher::make_attempt(std::uint32_t index, const Pool& pool, const Choice& choice) {
    Request& request = requests_[index];
    Attempt attempt{.id = AttemptId{std::uint64_t{request.generation} << 32 | index},
                    .replica = tracker_.id(choice.replica),
                    .peer = tracker_.id(choice.replica).peer,
                    .link = tracker_.link(choice.replica),
                    .local = tracker_.is_local(choice.replica),
                    .number = request.attempts,
                    .reason = choice.reason,
                    .numerics = tracker_.numerics(choice.replica)};
    if (request.mints_session) {
        request.position = pool.ring->position_in_arc_of(choice.replica - pool.first, rng_.next());
        attempt.session_token = tokens_.mint(request.position, request.wall, request.tenant, pool.key);
    }
    attempt.position = request.position;
    return attempt;
}

Decision Dispatcher::give_up(TimePoint now, std::uint32_t index, Error last) {
    if (last.code == errc::all_replicas_busy)
        refusals_.remember(now, requests_[index].fingerprint, requests_[index].asked);
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
    return std::as_const(*this).find(id) == nullptr ? nullptr : &requests_[index_of(id)];
}

const Dispatcher::Request* Dispatcher::find(AttemptId id) const {
    const std::uint32_t index = index_of(id);
    if (index >= requests_.size()) return nullptr;
    const Request& request = requests_[index];
    return request.live && request.generation == id.value >> 32 ? &request : nullptr;
}

void Dispatcher::end_attempt(TimePoint now, Request& request, HealthSignal health) {
    if (request.replica != no_replica)
        tracker_.end(now, request.replica, health, request.trial, std::exchange(request.unanswered_tokens, 0));
}

void Dispatcher::end_request(std::uint32_t index) {
    Request& request = requests_[index];
    request.live = false;
    request.replica = no_replica;
    free_.push_back(index);
}

void Dispatcher::handle_piggybacked(TimePoint now, std::uint32_t replica, const std::optional<wire::LoadReport>& load) {
    if (load && replica != no_replica && load->replica == tracker_.id(replica))
        tracker_.handle_load(now, replica, *load);
}

void Dispatcher::handle_accepted(AttemptId id) {
    const Request* request = find(id);
    if (request != nullptr && request->replica != no_replica) tracker_.handle_replica_ok(request->replica);
}

void Dispatcher::handle_first_byte(AttemptId id) {
    Request* request = find(id);
    if (request == nullptr) return;
    request->first_byte = true;
    request->mints_session = false;
    if (request->replica != no_replica)
        tracker_.answered(request->replica, std::exchange(request->unanswered_tokens, 0));
}

void Dispatcher::handle_progress(AttemptId id, std::uint64_t tokens) {
    Request* request = find(id);
    if (request == nullptr || tokens < config_.progress_tokens) return;
    ++counters_.progress_credits;
    request->tried[0] = request->tried[request->attempts - 1];
    request->answered_busy = 0;
    request->attempts = 1;
}

PeerDoubt Dispatcher::doubt(AttemptId id) const {
    const Request* request = find(id);
    if (request == nullptr) return PeerDoubt::none;
    if (request->replica != no_replica)
        return tracker_.is_suspect(request->replica) ? PeerDoubt::suspect : PeerDoubt::none;
    // The replica has left the view, with its peer or alone: one that drains still answers.
    const membership::Member* member = view_->find_member(request->tried[request->attempts - 1].peer);
    if (member == nullptr) return PeerDoubt::dead;
    switch (member->liveness) {
        case membership::Liveness::alive:
            return PeerDoubt::none;
        case membership::Liveness::suspect:
            return PeerDoubt::suspect;
        case membership::Liveness::dead:
        case membership::Liveness::lost:
        case membership::Liveness::left:
            break;
    }
    return PeerDoubt::dead;
}

bool Dispatcher::could_move(TimePoint now, AttemptId id) const {
    const Request* request = find(id);
    if (request == nullptr || !can_go_on(*request) || request->attempts >= config_.attempts_max) return false;
    const Pool* pool = view_->find_pool(request->pool);
    if (pool == nullptr || !budget_.covers_failure()) return false;
    Need need = need_of(now, *request, *pool);
    need.was_lost = true;
    Rng rng = rng_;
    const auto choice = choose(now, *pool, tracker_, need, config_, rng);
    return choice && !tracker_.is_suspect(choice->replica);
}

bool Dispatcher::handle_finished(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load) {
    Request* request = find(id);
    if (request == nullptr) return false;
    if (request->replica != no_replica) tracker_.handle_replica_ok(request->replica);
    end_attempt(now, *request, HealthSignal::success);
    handle_piggybacked(now, request->replica, load);
    end_request(index_of(id));
    ++counters_.finished;
    return true;
}

bool Dispatcher::handle_client_gone(TimePoint now, AttemptId id) {
    Request* request = find(id);
    if (request == nullptr) return false;
    end_attempt(now, *request, HealthSignal::none);
    end_request(index_of(id));
    ++counters_.abandoned;
    return true;
}

Decision Dispatcher::handle_busy(TimePoint now, AttemptId id, const std::optional<wire::LoadReport>& load) {
    Request* request = find(id);
    if (request == nullptr) return Ignored{};
    ++counters_.busy_answers;
    if (!request->waits) request->answered_busy |= 1U << (request->attempts - 1);
    end_attempt(now, *request, HealthSignal::none);
    if (request->replica != no_replica) {
        tracker_.handle_replica_ok(request->replica);
        tracker_.handle_busy(now, request->replica);
    }
    grow_fan_out(now, *request);
    handle_piggybacked(now, request->replica, load);
    return retry(now, index_of(id), error(errc::all_replicas_busy), true);
}

Decision Dispatcher::handle_failed(TimePoint now, AttemptId id, Failure failure) {
    Request* request = find(id);
    if (request == nullptr) return Ignored{};
    ++counters_.failures;
    request->losses += losses_of(failure);
    end_attempt(now, *request, health_of(failure));
    if (request->replica != no_replica) {
        if (failure == Failure::connect_failed) tracker_.handle_peer_broken(now, tracker_.id(request->replica).peer);
        const std::uint32_t context_tokens = tracker_.context_tokens(request->replica);
        if (failure == Failure::unfit && context_tokens > 0)
            request->prompt_tokens_min = std::max(request->prompt_tokens_min, context_tokens + 1);
        if (failure == Failure::draining || failure == Failure::refused) tracker_.handle_refused(now, request->replica);
    }
    if (failure == Failure::no_permit) return give_up(now, index_of(id), error(code_of(failure)));
    return retry(now, index_of(id), error(code_of(failure)), false);
}

Decision Dispatcher::retry(TimePoint now, std::uint32_t index, Error last, bool busy) {
    Request& request = requests_[index];
    request.replica = no_replica;
    if (!can_go_on(request) || request.attempts >= config_.attempts_max) return give_up(now, index, std::move(last));
    if (!(busy ? budget_.spend_on_busy() : budget_.spend_on_failure())) return give_up(now, index, std::move(last));
    // A request that met busy replicas waits for a permit at the last but one attempt; the last is for when the replica
    // that it waits at dies.
    const bool is_full = busy || request.answered_busy != 0 || request.wait_until.has_value();
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
    EXA_TRY(const Destination destination, locate(meta, rng.next()));
    const Pool& pool = *destination.pool;
    Explanation explanation{.pool = pool.key, .source = destination.source, .position = destination.position};
    Need need{
        .prefix_hash = meta.prefix_hash, .priority = meta.priority, .may_wait = config_.queue_wait > Duration::zero()};
    std::vector<std::uint32_t> order;
    if (destination.source == PositionSource::none) {
        for (std::uint32_t member = 0; member < pool.count; ++member) order.push_back(pool.first + member);
        std::ranges::sort(order, {}, [&](std::uint32_t replica) {
            return std::pair(tracker_.projected_load(now, replica), replica);
        });
    } else {
        need.position = destination.position;
        need.spill = spills_.peek(now, spill_key(destination.position, pool.hash));
        if (need.spill) explanation.spilled_to = need.spill->replica;
        explanation.owner = pool.ring->members()[pool.ring->owner(destination.position)].id;
        pool.ring->walk(destination.position, [&](std::uint32_t member) {
            order.push_back(pool.first + member);
            return order.size() < explained_max;
        });
    }
    const auto choice = choose(now, pool, tracker_, need, config_, rng);
    if (choice) {
        explanation.choice = tracker_.id(choice->replica);
        explanation.reason = choice->reason;
    }
    if (order.size() > explained_max) order.resize(explained_max);
    if (choice && std::ranges::find(order, choice->replica) == order.end()) order.push_back(choice->replica);
    for (const std::uint32_t replica : order) {
        explanation.candidates.push_back({.replica = tracker_.id(replica),
                                          .peer_name = view_->replicas()[replica].member->record->name,
                                          .load = tracker_.load(replica),
                                          .factors = tracker_.factors(replica),
                                          .load_score = tracker_.load_score(replica),
                                          .bound = tracker_.bound(replica),
                                          .limit = tracker_.limit(replica),
                                          .queued = tracker_.queued(replica),
                                          .share_permille = tracker_.share_permille(now, replica),
                                          .distance = tracker_.distance(replica),
                                          .eligibility = tracker_.eligibility(now, replica),
                                          .fits = can_try(tracker_, replica, need),
                                          .chosen = choice && choice->replica == replica});
    }
    return explanation;
}

}  // namespace exa::router
