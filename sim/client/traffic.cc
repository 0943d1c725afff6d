#include "sim/client/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace exa::sim {

namespace {

constexpr std::uint64_t index_bits = 28;
constexpr std::uint64_t serial_bits = 28;
constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
constexpr std::uint64_t serial_mask = (std::uint64_t{1} << serial_bits) - 1;

constexpr std::chrono::seconds look_period{5};  // io/link's ping interval
constexpr std::uint32_t silent_looks_max = 3;
constexpr std::chrono::seconds first_byte_timeout{120};
constexpr std::chrono::seconds idle_timeout{60};
constexpr std::chrono::milliseconds client_way{1};
constexpr std::chrono::seconds orphan_time{15};
constexpr std::size_t head_bytes = 200;
constexpr std::size_t token_bytes = 220;  // of an SSE event
constexpr std::uint32_t list_length = 8;
constexpr std::size_t waits_kept = 1'000'000;
// B2: what is good enough, over how long it is looked at, and how much of the goodput of before must be back.
constexpr std::chrono::seconds first_token_good{2};
constexpr Duration goodput_window = std::chrono::seconds{10};
constexpr double goodput_back = 0.95;
constexpr std::uint32_t goodput_sample_min = 100;
constexpr std::uint32_t leak_every = 8;  // Mutant::places_leak

// Any replica would go on with the same.
std::uint32_t token_of(std::uint64_t seed, std::uint32_t offset) {
    return static_cast<std::uint32_t>(hash64(seed, offset));
}

std::size_t second_of(WorldTime time) {
    return static_cast<std::size_t>(time.time_since_epoch() / std::chrono::seconds{1});
}

// As the node's own view has it; null when it has none.
const wire::ReplicaRecord* find_record(const node::Node& node, const ReplicaId& id) {
    const membership::Peer* peer = node.membership().roster().find(id.peer);
    if (peer == nullptr) return nullptr;
    const auto at = std::ranges::find(peer->record->replicas, id, &wire::ReplicaRecord::id);
    return at != peer->record->replicas.end() ? &*at : nullptr;
}

}  // namespace

Traffic::Traffic(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant)
    : scenario_(scenario),
      load_(scenario.load),
      cluster_(cluster),
      oracles_(oracles),
      mutant_(mutant),
      arrivals_(cluster.streams().stream("arrivals")),
      shapes_(cluster.streams().stream("requests")),
      clients_(cluster.streams().stream("clients")),
      disconnects_(cluster.streams().stream("disconnects")),
      errors_(cluster.streams().stream("client errors")),
      tokens_(scenario.load.sessions) {
    cluster.handle_with(EventKind::arrival, [this](const Event&) { arrive(); });
    cluster.handle_with(EventKind::step, [this](const Event& event) { step(event); });
}

void Traffic::start() {
    if (load_.rate > 0) cluster_.push(WorldTime{load_.from}, EventKind::arrival);
}

void Traffic::plan_arrival() {
    const double mean = 1 / (load_.rate * factor_);
    const double wait = load_.poisson ? -std::log(1 - arrivals_.unit()) * mean : mean;
    cluster_.push(cluster_.now() + duration_of(wait), EventKind::arrival);
}

void Traffic::plan(WorldTime at, Step step, std::uint32_t index, std::uint32_t serial, Host host, std::uint32_t boot) {
    const std::uint64_t arg =
        static_cast<std::uint64_t>(step) << (index_bits + serial_bits) | (serial & serial_mask) << index_bits | index;
    cluster_.push(at, EventKind::step, host, arg, boot);
}

void Traffic::arrive() {
    const bool past = load_.until > Duration{0} && cluster_.now() >= WorldTime{load_.until};
    if (stopped_ || past) return;
    plan_arrival();
    std::uint32_t index = 0;
    if (free_.empty()) {
        index = static_cast<std::uint32_t>(requests_.size());
        requests_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    Request fresh;
    fresh.live = true;
    fresh.serial = requests_[index].serial + 1;
    fresh.life = requests_[index].life + 1;
    fresh.born = cluster_.now();
    fresh.prompt = 1 + static_cast<std::uint32_t>(shapes_.below(2 * load_.prompt_tokens));
    fresh.seed = hash64(fresh.life, index);
    fresh.answer = 1 + static_cast<std::uint32_t>(shapes_.below(2 * load_.answer_tokens));
    fresh.slow = load_.slow_readers > 0 && shapes_.unit() < load_.slow_readers;
    const double kind = shapes_.unit();
    const auto number = static_cast<std::size_t>(shapes_.below(load_.sessions));
    if (kind < load_.hot_share)
        fresh.session = "hot";
    else if (kind < load_.hot_share + load_.session_share)
        fresh.session = tokens_[number].empty() ? fmt::format("client-{}", number) : tokens_[number];
    fresh.erroneous = load_.client_errors > 0 && errors_.unit() < load_.client_errors;
    const std::uint32_t models = cluster_.config().models;
    fresh.model = Cluster::model_name(models > 1 ? shapes_.below(models) : 0);
    seconds_.resize(second_of(cluster_.now()) + 1);
    ++seconds_.back().came;
    const std::uint32_t life = fresh.life;
    requests_[index] = std::move(fresh);
    ++counters_.requests;
    plan(cluster_.now() + look_period, Step::patience, index, life, 0, 0);
    come(index);
    // A client whose every entry was down has ended by now.
    if (!requests_[index].live) return;
    if (disconnects_.unit() < load_.disconnects) {
        const Duration after = duration_of(disconnects_.unit());
        plan(cluster_.now() + after, Step::gone, index, requests_[index].life, 0, 0);
    }
}

void Traffic::come(std::uint32_t index) {
    Request& request = requests_[index];
    const auto is_open = [this](Host host) { return cluster_.peer(host).is_up() && !cluster_.peer(host).door_closed; };
    request.entry = static_cast<Host>(clients_.below(cluster_.size()));
    // A client that was turned away goes on through its list of entries.
    for (std::uint32_t more = 0; request.sdk_retries > 0 && more < list_length && !is_open(request.entry); ++more)
        request.entry = static_cast<Host>(clients_.below(cluster_.size()));
    const Peer& entry = cluster_.peer(request.entry);
    request.entry_boot = entry.boot;
    if (!is_open(request.entry)) {
        retry_later(index, std::chrono::seconds{1}, Ending::rejected);
        return;
    }
    plan(cluster_.now() + client_way, Step::enter, index, request.serial, request.entry, request.entry_boot);
}

void Traffic::step(const Event& event) {
    const auto index = static_cast<std::uint32_t>(event.arg & index_mask);
    const std::uint64_t serial = event.arg >> index_bits & serial_mask;
    const auto what = static_cast<Step>(event.arg >> (index_bits + serial_bits));
    if (what == Step::produce || what == Step::expire || what == Step::cancel) {
        const Place& place = places_[index];
        if (!place.live || (place.serial & serial_mask) != serial) return;
        if (what == Step::produce)
            produce(index);
        else if (what == Step::cancel)
            release(index);
        else if (place.ticket)
            turn_away(index, Code::no_place);
        return;
    }
    const Request& request = requests_[index];
    if (!request.live) return;
    // The client's own doings are about the request, not about one attempt of it.
    const bool any_attempt = what == Step::gone || what == Step::patience;
    if (((any_attempt ? request.life : request.serial) & serial_mask) != serial) return;
    switch (what) {
        case Step::come:
            come(index);
            break;
        case Step::enter:
            enter(index);
            break;
        case Step::open:
            open(index);
            break;
        case Step::piece:
            piece(index);
            break;
        case Step::end:
            ended(index);
            break;
        case Step::failed:
            fail(index, router::Failure::connect_failed);
            break;
        case Step::look:
            look(index);
            break;
        case Step::gone:
            client_gone(index);
            break;
        case Step::patience:
            patience(index);
            break;
        case Step::produce:
        case Step::expire:
        case Step::cancel:
            break;
    }
}

Peer* Traffic::entry_of(const Request& request) {
    Peer& peer = cluster_.peer(request.entry);
    return peer.is_up() && peer.boot == request.entry_boot ? &peer : nullptr;
}

void Traffic::enter(std::uint32_t index) {
    Request& request = requests_[index];
    Peer& entry = *entry_of(request);
    ++entry.entered;
    request.entered = true;
    router::RequestMeta meta;
    meta.wall = entry.clock.wall(cluster_.now());
    meta.model = request.model;
    meta.session = request.session;
    meta.prompt_tokens_min = request.prompt;
    meta.resumable = true;
    entry.dispatcher->handle_view(entry.node->routing());
    follow(index, entry.dispatcher->begin(cluster_.local_now(entry), meta));
}

void Traffic::follow(std::uint32_t index, const router::Decision& decision) {
    if (const auto* next = std::get_if<router::Attempt>(&decision)) {
        attempt(index, *next);
    } else if (const auto* reject = std::get_if<router::Reject>(&decision)) {
        retry_later(index, reject->retry_after.value_or(std::chrono::milliseconds{500}), Ending::rejected);
    } else if (std::holds_alternative<router::Broken>(decision)) {
        end(index, Ending::broken);
    } else {
        oracles_.violate("Q1", fmt::format("a report about request {} was taken for a late one", index));
        end(index, Ending::broken);
    }
}

void Traffic::attempt(std::uint32_t index, const router::Attempt& next) {
    Request& request = requests_[index];
    ++counters_.attempts;
    ++request.serial;
    if (next.number > scenario_.cluster.router.attempts_max)
        oracles_.violate("Q6", fmt::format("request {} is tried for the {}th time", index, next.number));
    if (request.started) ++counters_.resumed;
    if (const auto* record = find_record(*cluster_.peer(request.entry).node, next.replica);
        record != nullptr && record->model != request.model)
        oracles_.violate("Q3", fmt::format("peer {} sends a request for {} to a replica of {}", request.entry,
                                           request.model, record->model));
    if (!next.session_token.empty() && request.session.starts_with("client-"))
        tokens_[static_cast<std::size_t>(std::strtoull(request.session.c_str() + 7, nullptr, 10))] = next.session_token;
    request.attempt = next;
    request.ledger.begin(next.numerics);
    request.coming.clear();
    request.target = next.local ? request.entry : host_of(next.link);
    request.target_boot = cluster_.peer(request.target).boot;
    request.target_generation = cluster_.peer(request.target).generation;
    request.place.reset();
    request.silent_looks = 0;
    request.heard = cluster_.now();
    request.reply_at = cluster_.now();
    request.reply_dead = false;
    request.sent_lost = false;
    plan(cluster_.now() + look_period, Step::look, index, request.serial, request.entry, request.entry_boot);
    if (next.local) {
        plan(cluster_.now(), Step::open, index, request.serial, request.target, request.target_boot);
        return;
    }
    const LinkResult sent =
        cluster_.send_data(request.entry, request.target, next.peer, head_bytes + std::size_t{4} * request.prompt);
    if (sent.kind == LinkResult::Kind::arrives)
        plan(sent.at, Step::open, index, request.serial, request.target, request.target_boot);
    else if (sent.kind == LinkResult::Kind::fails)
        plan(sent.at, Step::failed, index, request.serial, request.entry, request.entry_boot);
    else
        request.sent_lost = true;
}

void Traffic::open(std::uint32_t index) {
    Request& request = requests_[index];
    Peer& peer = cluster_.peer(request.target);
    const ReplicaId wanted = request.attempt->replica;
    Replica* replica = wanted.slot < peer.replicas.size() ? &peer.replicas[wanted.slot] : nullptr;
    const bool serves = replica != nullptr && replica->record().id == wanted &&
                        (replica->record().model == request.model || mutant_ == Mutant::receiver_trusts_entry);
    if (!serves) {
        request.code = Code::refused;
    } else if (replica->record().state != wire::ReplicaState::ready) {
        request.code = replica->record().state == wire::ReplicaState::draining ? Code::draining : Code::refused;
    } else if (request.erroneous) {
        request.code = Code::client_error;
    } else {
        if (replica->record().model != request.model)
            oracles_.violate("Q3", fmt::format("replica {} of peer {} serves {} to a request for {}", wanted.slot,
                                               peer.host, replica->record().model, request.model));
        if (replica->has_place()) {
            begin(make_place(index));
            return;
        }
        if (queue_up(index, peer, *replica)) return;
        request.code = Code::busy;
        request.load = replica->load();
    }
    reply(index, Step::end, head_bytes);
}

std::uint32_t Traffic::make_place(std::uint32_t index) {
    Request& request = requests_[index];
    const Peer& peer = cluster_.peer(request.target);
    std::uint32_t number = 0;
    if (free_places_.empty()) {
        number = static_cast<std::uint32_t>(places_.size());
        places_.emplace_back();
    } else {
        number = free_places_.back();
        free_places_.pop_back();
    }
    // What the entry sends along.
    auto resumed = static_cast<std::uint32_t>(request.ledger.tokens());
    if (mutant_ == Mutant::resume_repeats && resumed > 0) --resumed;
    Place& place = places_[number];
    place = {.live = true,
             .serial = place.serial + 1,
             .host = peer.host,
             .boot = peer.boot,
             .slot = request.attempt->replica.slot,
             .ticket = std::nullopt,
             .waiting = request.prompt,
             .next = resumed,
             .left = request.answer - resumed,
             .slow = request.slow,
             .request = index,
             .request_serial = request.serial};
    request.place = number;
    return number;
}

bool Traffic::queue_up(std::uint32_t index, const Peer& peer, Replica& replica) {
    const Request& request = requests_[index];
    const Duration wait = request.attempt->queue_wait;
    if (wait == Duration{0}) return false;
    engine::WaitTerms terms;
    terms.tokens = request.prompt + request.answer - request.got;
    terms.deadline = queue_time() + wait;
    const auto pushed = replica.queue().push(queue_time(), terms);
    if (!pushed) return false;
    ++counters_.waited;
    const std::uint32_t number = make_place(index);
    places_[number].ticket = pushed.value().ticket;
    replica.waiting().emplace(pushed.value().ticket, number);
    plan(cluster_.now() + wait, Step::expire, number, places_[number].serial, peer.host, peer.boot);
    if (pushed.value().displaced) turn_away(replica.waiting().at(*pushed.value().displaced), Code::busy);
    return true;
}

void Traffic::begin(std::uint32_t number) {
    Place& place = places_[number];
    Peer& peer = cluster_.peer(place.host);
    Replica& replica = peer.replicas[place.slot];
    EXA_CHECK(replica.admit(place.waiting));
    if (replica.in_flight() > scenario_.cluster.engine.in_flight_limit)
        oracles_.violate(
            "Q4", fmt::format("replica {} of peer {} holds {} requests", place.slot, peer.host, replica.in_flight()));
    Request& request = requests_[place.request];
    const bool wanted = request.live && request.serial == place.request_serial;
    if (wanted) request.code = Code::ok;
    const std::uint32_t got = wanted ? request.got : 0;
    const Duration first = replica.prefill_time(place.waiting + got) + piece_time(place, replica);
    plan(cluster_.now() + first, Step::produce, number, place.serial, peer.host, peer.boot);
}

void Traffic::turn_away(std::uint32_t number, Code code) {
    const Place place = places_[number];
    release(number);
    Request& request = requests_[place.request];
    if (!request.live || request.serial != place.request_serial) return;
    request.place.reset();
    request.code = code;
    request.load = cluster_.peer(place.host).replicas[place.slot].load();
    reply(place.request, Step::end, head_bytes);
}

// Whoever is next gets the places that are free.
void Traffic::fill(Replica& replica) {
    while (replica.has_place()) {
        const auto ticket = replica.queue().pop(queue_time());
        if (!ticket) return;
        const auto waiting = replica.waiting().find(*ticket);
        const std::uint32_t number = waiting->second;
        replica.waiting().erase(waiting);
        places_[number].ticket.reset();
        begin(number);
    }
}

TimePoint Traffic::queue_time() const {
    return TimePoint{cluster_.now().time_since_epoch()};
}

void Traffic::produce(std::uint32_t number) {
    Place& place = places_[number];
    Replica& replica = cluster_.peer(place.host).replicas[place.slot];
    replica.prefilled(std::exchange(place.waiting, 0));
    const std::uint32_t now = std::min(place.left, load_.chunk_tokens);
    place.left -= now;
    const std::uint32_t first = std::exchange(place.next, place.next + now);
    const bool last = place.left == 0;
    const Place copy = place;
    if (last)
        release(number);
    else
        plan(cluster_.now() + piece_time(place, replica), Step::produce, number, place.serial, place.host, place.boot);
    Request& request = requests_[copy.request];
    if (!request.live || request.serial != copy.request_serial) return;
    request.coming.push_back({first, now});
    reply(copy.request, Step::piece, now * token_bytes);
    if (!last) return;
    request.place.reset();
    request.load = replica.load();
    reply(copy.request, Step::end, head_bytes);
}

void Traffic::reply(std::uint32_t index, Step what, std::size_t bytes) {
    Request& request = requests_[index];
    if (request.reply_dead) return;
    if (request.target != request.entry) {
        const Fabric::LinkFate fate =
            cluster_.fabric().send_link(cluster_.now(), request.target, request.entry, bytes, Cargo::data);
        const Duration held = fate.until == world_never ? Duration{0} : fate.until - cluster_.now();
        if (!fate.passes && (fate.until == world_never || held > orphan_time)) {
            request.reply_dead = true;
            return;
        }
        request.reply_at = std::max(request.reply_at, cluster_.now() + fate.delay + (fate.passes ? Duration{0} : held));
    } else {
        request.reply_at = std::max(request.reply_at, cluster_.now());
    }
    plan(request.reply_at, what, index, request.serial, request.entry, request.entry_boot);
}

void Traffic::piece(std::uint32_t index) {
    Request& request = requests_[index];
    Peer& entry = *entry_of(request);
    request.heard = cluster_.now();
    if (!request.attempt->local) entry.dispatcher->handle_peer_ok(request.attempt->peer);
    entry.dispatcher->handle_accepted(request.attempt->id);
    if (!request.started) {
        entry.dispatcher->handle_first_byte(request.attempt->id);
        request.started = true;
        request.ledger.promise();
        if (cluster_.now() - request.born <= first_token_good) ++seconds_[second_of(request.born)].good;
        if (counters_.first_token_s.size() < waits_kept)
            counters_.first_token_s.push_back(seconds_of(cluster_.now() - request.born));
    }
    EXA_CHECK(!request.coming.empty());
    const Piece piece = request.coming.front();
    request.coming.pop_front();
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t i = 0; i < piece.count; ++i) tokens.push_back(token_of(request.seed, piece.offset + i));
    if (!request.ledger.take(0, piece.offset, tokens) && mutant_ != Mutant::resume_repeats) {
        fail(index, router::Failure::server_error);
        return;
    }
    check_piece(index, piece);
}

void Traffic::check_piece(std::uint32_t index, const Piece& piece) {
    Request& request = requests_[index];
    if (piece.offset != request.got)
        oracles_.violate("Q2", fmt::format("the client of request {} has {} tokens and gets those from {} on", index,
                                           request.got, piece.offset));
    request.got = piece.offset + piece.count;
    counters_.tokens += piece.count;
    const auto& told = request.ledger.choices().front();
    for (std::uint32_t at = piece.offset; at < std::min<std::size_t>(request.got, told.size()); ++at)
        if (told[at] != token_of(request.seed, at))
            oracles_.violate("Q2", fmt::format("the entry of request {} goes on from another token {}", index, at));
}

void Traffic::ended(std::uint32_t index) {
    Request& request = requests_[index];
    Peer& entry = *entry_of(request);
    const TimePoint local = cluster_.local_now(entry);
    const router::AttemptId id = request.attempt->id;
    entry.dispatcher->handle_view(entry.node->routing());
    switch (request.code) {
        case Code::ok:
            if (!entry.dispatcher->handle_finished(local, id, request.load))
                oracles_.violate("Q1", fmt::format("the end of request {} was taken for a late report", index));
            end(index, Ending::finished);
            break;
        case Code::busy: {
            ++counters_.busy;
            const Request told = request;
            const bool was_open = is_breaker_open(entry, told);
            const router::Decision next =
                mutant_ == Mutant::busy_is_failure
                    ? entry.dispatcher->handle_failed(local, id, router::Failure::server_error)
                    : entry.dispatcher->handle_busy(local, id, request.load);
            check_breaker(told, was_open, "a busy answer");
            follow(index, next);
            break;
        }
        case Code::client_error: {
            const Request told = request;
            const bool was_open = is_breaker_open(entry, told);
            if (mutant_ == Mutant::client_error_is_failure) {
                const router::Decision next = entry.dispatcher->handle_failed(local, id, router::Failure::server_error);
                check_breaker(told, was_open, "a client's error");
                follow(index, next);
                break;
            }
            if (!entry.dispatcher->handle_finished(local, id))
                oracles_.violate("Q1", fmt::format("the end of request {} was taken for a late report", index));
            check_breaker(told, was_open, "a client's error");
            end(index, Ending::client_error);
            break;
        }
        case Code::draining:
            follow(index, entry.dispatcher->handle_failed(local, id, router::Failure::draining));
            break;
        case Code::no_place:
            follow(index, entry.dispatcher->handle_failed(local, id, router::Failure::no_place));
            break;
        case Code::refused:
            ++counters_.refused;
            follow(index, entry.dispatcher->handle_failed(local, id, router::Failure::refused));
            break;
    }
}

void Traffic::fail(std::uint32_t index, router::Failure failure) {
    Request& request = requests_[index];
    Peer& entry = *entry_of(request);
    const router::AttemptId id = request.attempt->id;
    const bool link = failure == router::Failure::connect_failed || failure == router::Failure::link_broken;
    let_go(index);
    if (link && !request.attempt->local) {
        if (failure == router::Failure::link_broken)
            cluster_.data_link_broken(entry, request.target, request.target_generation);
        else
            entry.dispatcher->handle_peer_broken(cluster_.local_now(entry), request.attempt->peer);
    }
    // What the node did about it may have ended this very process.
    if (entry_of(request) == nullptr) return;
    entry.dispatcher->handle_view(entry.node->routing());
    follow(index, entry.dispatcher->handle_failed(cluster_.local_now(entry), id, failure));
}

void Traffic::look(std::uint32_t index) {
    Request& request = requests_[index];
    const Duration silent = cluster_.now() - request.heard;
    if (silent > (request.started ? idle_timeout : first_byte_timeout)) {
        fail(index, router::Failure::timeout);
        return;
    }
    if (!request.attempt->local) {
        const Peer& target = cluster_.peer(request.target);
        const bool there = cluster_.fabric().reaches(request.entry, request.target, false) &&
                           cluster_.fabric().reaches(request.target, request.entry, false);
        // Whoever runs there now knows nothing of this stream and resets it.
        if (there && target.is_up() && (target.boot != request.target_boot || request.sent_lost)) {
            fail(index, router::Failure::link_broken);
            return;
        }
        const bool answers = there && target.is_up() && !target.paused && !request.reply_dead;
        request.silent_looks = answers ? 0 : request.silent_looks + 1;
        if (request.silent_looks >= silent_looks_max) {
            fail(index, router::Failure::link_broken);
            return;
        }
    }
    plan(cluster_.now() + look_period, Step::look, index, request.serial, request.entry, request.entry_boot);
}

void Traffic::patience(std::uint32_t index) {
    Request& request = requests_[index];
    if (cluster_.now() - request.born > load_.deadline) {
        // A client gives up by itself; an entry that runs must have ended the request before that.
        const Peer* entry = request.entry_boot != 0 ? entry_of(request) : nullptr;
        if (entry != nullptr && entry->is_punctual() && request.got == 0)
            oracles_.violate("Q1", fmt::format("request {} of {:.3f} s has no outcome at its deadline", index,
                                               seconds_of(request.born)));
        client_gone(index);
        return;
    }
    if (request.entry_boot == 0 || entry_of(request) != nullptr) {
        plan(cluster_.now() + look_period, Step::patience, index, request.life, 0, 0);
    } else if (request.started) {
        end(index, Ending::entry_lost);
    } else {
        plan(cluster_.now() + look_period, Step::patience, index, request.life, 0, 0);
        retry_later(index, Duration{0}, Ending::rejected);
    }
}

void Traffic::client_gone(std::uint32_t index) {
    Request& request = requests_[index];
    Peer* entry = entry_of(request);
    if (entry != nullptr && request.attempt) {
        let_go(index);
        entry->dispatcher->handle_client_gone(cluster_.local_now(*entry), request.attempt->id);
    }
    end(index, Ending::abandoned);
}

// The entry wants no more of the current attempt; the replica hears of it when the cancel arrives, or finds out by
// itself.
void Traffic::let_go(std::uint32_t index) {
    Request& request = requests_[index];
    if (!request.place) return;
    const Place& place = places_[*request.place];
    WorldTime at = cluster_.now();
    if (place.host != request.entry) {
        const LinkResult sent = cluster_.send_data(request.entry, place.host, request.attempt->peer, head_bytes);
        at = sent.kind == LinkResult::Kind::arrives ? sent.at : cluster_.now() + orphan_time;
    }
    plan(at, Step::cancel, *request.place, place.serial, place.host, place.boot);
    request.place.reset();
}

Duration Traffic::piece_time(const Place& place, const Replica& replica) const {
    const std::uint32_t tokens = std::min(place.left, load_.chunk_tokens);
    const Duration ready = replica.decode_time(tokens);
    return place.slow ? std::max(ready, duration_of(tokens / load_.slow_tokens)) : ready;
}

void Traffic::release(std::uint32_t number) {
    Place& place = places_[number];
    place.live = false;
    free_places_.push_back(number);
    Replica& replica = cluster_.peer(place.host).replicas[place.slot];
    if (const auto ticket = std::exchange(place.ticket, std::nullopt)) {
        replica.queue().erase(*ticket);
        replica.waiting().erase(*ticket);
        return;
    }
    const bool full = replica.in_flight() == scenario_.cluster.engine.in_flight_limit;
    if (mutant_ == Mutant::places_leak && full && ++leaks_ % leak_every == 0) return;
    replica.release(place.waiting);
    fill(replica);
}

// As OpenAI's clients do: half a second, doubling to 8 s, less up to a quarter, unless the server names a time.
void Traffic::retry_later(std::uint32_t index, Duration wait, Ending otherwise) {
    Request& request = requests_[index];
    if (request.sdk_retries >= load_.sdk_retries || cluster_.now() - request.born > load_.deadline) {
        end(index, otherwise);
        return;
    }
    const Duration step =
        std::min<Duration>(std::chrono::milliseconds{500} * (1 << request.sdk_retries), std::chrono::seconds{8});
    const Duration pause = std::max(wait, step);
    leave_entry(request);
    ++request.sdk_retries;
    ++counters_.sdk_retries;
    ++request.serial;
    request.entry_boot = 0;
    request.attempt.reset();
    plan(cluster_.now() + duration_of(seconds_of(pause) * (1 - 0.25 * clients_.unit())), Step::come, index,
         request.serial, 0, 0);
}

void Traffic::leave_entry(Request& request) {
    if (!std::exchange(request.entered, false)) return;
    if (Peer* entry = entry_of(request)) --entry->entered;
}

void Traffic::end(std::uint32_t index, Ending ending) {
    Request& request = requests_[index];
    EXA_CHECK(request.live);
    leave_entry(request);
    switch (ending) {
        case Ending::finished:
            ++counters_.finished;
            if (request.got != request.answer)
                oracles_.violate(
                    "Q1", fmt::format("request {} ended with {} of {} tokens", index, request.got, request.answer));
            break;
        case Ending::rejected:
            ++counters_.rejected;
            break;
        case Ending::broken:
            ++counters_.broken;
            break;
        case Ending::entry_lost:
            ++counters_.entry_lost;
            break;
        case Ending::abandoned:
            ++counters_.abandoned;
            break;
        case Ending::client_error:
            ++counters_.client_errors;
            break;
    }
    request.live = false;
    request.attempt.reset();
    free_.push_back(index);
}

std::uint64_t Traffic::disconnect(double share) {
    std::uint64_t cut = 0;
    for (std::uint32_t index = 0; index < requests_.size(); ++index) {
        if (!requests_[index].live || disconnects_.unit() >= share) continue;
        client_gone(index);
        ++cut;
    }
    return cut;
}

void Traffic::set_factor(double factor) {
    factor_ = factor;
    const bool is_over = !overloads_.empty() && overloads_.back().until == world_never;
    if (is_over) overloads_.back().until = cluster_.now();
    if (factor > 1) overloads_.push_back({.from = cluster_.now()});
}

bool Traffic::is_breaker_open(const Peer& entry, const Request& request) const {
    const auto& book = entry.dispatcher->book();
    const auto view = entry.node->routing();
    for (const router::Pool& pool : view->pools())
        if (const auto member = pool.ring->find(request.attempt->replica))
            return book.is_breaker_open(cluster_.local_now(entry), pool.first + *member);
    return false;
}

void Traffic::check_breaker(const Request& request, bool was_open, std::string_view report) {
    if (!was_open && is_breaker_open(cluster_.peer(request.entry), request))
        oracles_.violate("Q5", fmt::format("{} opens peer {}'s breaker for replica {} of peer {}", report,
                                           request.entry, request.attempt->replica.slot, request.target));
}

std::optional<double> Traffic::goodput(WorldTime from, WorldTime until) const {
    std::uint32_t came = 0;
    std::uint32_t good = 0;
    for (std::size_t second = second_of(from); second < std::min(second_of(until), seconds_.size()); ++second) {
        came += seconds_[second].came;
        good += seconds_[second].good;
    }
    if (came < goodput_sample_min) return std::nullopt;
    return static_cast<double>(good) / static_cast<double>(came);
}

void Traffic::check_recovery() {
    for (std::size_t i = 0; i < overloads_.size(); ++i) {
        const Overload& overload = overloads_[i];
        if (overload.until == world_never) continue;
        const WorldTime next = i + 1 < overloads_.size() ? overloads_[i + 1].from : WorldTime{scenario_.duration};
        const WorldTime from = overload.until + scenario_.bounds.recover;
        const auto before =
            goodput(overload.from - std::min(goodput_window, overload.from.time_since_epoch()), overload.from);
        const auto after = goodput(from, std::min(from + goodput_window, next));
        if (!before || !after || *after >= goodput_back * *before) continue;
        oracles_.violate("B2",
                         fmt::format("{:.1f} s after an overload {:.1f} % of requests are served in time, {:.1f} % "
                                     "were before it",
                                     seconds_of(scenario_.bounds.recover), 100 * *after, 100 * *before));
    }
}

void Traffic::check_end() {
    for (std::uint32_t index = 0; index < requests_.size(); ++index) {
        const Request& request = requests_[index];
        if (request.live && cluster_.now() - request.born > load_.deadline)
            oracles_.violate("Q1",
                             fmt::format("request {} of {:.3f} s has no outcome yet", index, seconds_of(request.born)));
    }
    check_recovery();
    const double failures = static_cast<double>(counters_.failed());
    if (failures > scenario_.bounds.request_failures * static_cast<double>(counters_.requests))
        oracles_.violate("Q1", fmt::format("{} of {} requests failed", counters_.failed(), counters_.requests));
    for (Host host = 0; host < cluster_.size(); ++host) {
        const Peer& peer = cluster_.peer(host);
        if (!peer.is_up()) continue;
        const router::Counters& counters = peer.dispatcher->counters();
        const auto& config = scenario_.cluster.router;
        if (counters.retries > config.retry_burst + counters.begun * config.retry_ratio_percent / 100)
            oracles_.violate(
                "Q6", fmt::format("peer {} made {} retries for {} requests", host, counters.retries, counters.begun));
        const std::uint64_t ends = counters.finished + counters.rejected + counters.broken + counters.abandoned;
        if (ends + peer.dispatcher->in_flight() != counters.begun)
            oracles_.violate("Q1", fmt::format("peer {} began {} requests and ended {}", host, counters.begun, ends));
    }
}

}  // namespace exa::sim
