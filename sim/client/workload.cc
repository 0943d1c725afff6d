#include "sim/client/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "sim/gateway/steps.h"

namespace exa::sim {

namespace {

constexpr std::chrono::seconds patience_period{5};
constexpr std::chrono::milliseconds client_way{1};
constexpr std::uint32_t list_length = 8;
constexpr std::size_t waits_kept = 1'000'000;
// B2: what is good enough, over how long it is looked at, and how much of the goodput of before must be back.
constexpr std::chrono::seconds first_token_good{2};
constexpr Duration goodput_window = std::chrono::seconds{10};
constexpr double goodput_back = 0.95;
constexpr std::uint32_t goodput_sample_min = 100;
constexpr std::string_view session_prefix = "client-";

std::size_t second_of(WorldTime time) {
    return static_cast<std::size_t>(time.time_since_epoch() / std::chrono::seconds{1});
}

bool is_retried(const openai::ApiError& error) {
    if (error.retry_is_useless) return false;
    return error.status == 408 || error.status == 409 || error.status == 429 || error.status >= 500;
}

}  // namespace

Workload::Workload(const Scenario& scenario, Cluster& cluster, Oracles& oracles)
    : scenario_(scenario),
      load_(scenario.load),
      cluster_(cluster),
      oracles_(oracles),
      receivers_(cluster, oracles, {scenario.load.chunk_tokens, scenario.load.slow_tokens},
                 cluster.config().engine.mutant),
      ingresses_(cluster, oracles, receivers_, *this, cluster.config().gateway),
      arrivals_(cluster.streams().stream("arrivals")),
      shapes_(cluster.streams().stream("requests")),
      clients_(cluster.streams().stream("clients")),
      disconnects_(cluster.streams().stream("disconnects")),
      errors_(cluster.streams().stream("client errors")),
      tokens_(scenario.load.sessions) {
    cluster.handle_with(EventKind::arrival, [this](const Event&) { arrive(); });
    cluster.handle_with(EventKind::client, [this](const Event& event) { step(event); });
}

void Workload::start() {
    if (load_.rate > 0) cluster_.push(WorldTime{load_.from}, EventKind::arrival);
}

void Workload::plan_arrival() {
    const double mean = 1 / (load_.rate * factor_);
    const double wait = load_.poisson ? -std::log(1 - arrivals_.unit()) * mean : mean;
    cluster_.push(cluster_.now() + duration_of(wait), EventKind::arrival);
}

void Workload::plan(WorldTime at, Step step, CallId id) {
    cluster_.push(at, EventKind::client, 0, StepArg{id, visits_[id].life, static_cast<std::uint8_t>(step)}.packed());
}

Call Workload::make_call() {
    Call call;
    call.prompt_tokens = 1 + static_cast<std::uint32_t>(shapes_.below(2 * load_.prompt_tokens));
    call.answer_tokens = 1 + static_cast<std::uint32_t>(shapes_.below(2 * load_.answer_tokens));
    call.slow = load_.slow_readers > 0 && shapes_.unit() < load_.slow_readers;
    const double kind = shapes_.unit();
    const auto number = static_cast<std::size_t>(shapes_.below(load_.sessions));
    if (kind < load_.hot_share)
        call.session = "hot";
    else if (kind < load_.hot_share + load_.session_share)
        call.session = tokens_[number].empty() ? fmt::format("{}{}", session_prefix, number) : tokens_[number];
    call.erroneous = load_.client_errors > 0 && errors_.unit() < load_.client_errors;
    const std::uint32_t models = cluster_.config().models;
    call.model = Cluster::model_name(models > 1 ? shapes_.below(models) : 0);
    return call;
}

void Workload::arrive() {
    const bool past = load_.until > Duration{0} && cluster_.now() >= WorldTime{load_.until};
    if (stopped_ || past) return;
    plan_arrival();
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(visits_.size()));
        visits_.emplace_back();
    }
    const CallId id = free_.back();
    free_.pop_back();
    const std::uint32_t life = visits_[id].life + 1;
    Visit& visit = visits_[id] = Visit{};
    visit.live = true;
    visit.life = life;
    visit.born = cluster_.now();
    visit.call = make_call();
    visit.call.id = id;
    visit.call.seed = hash64(life, id);
    seconds_.resize(second_of(cluster_.now()) + 1);
    ++seconds_.back().came;
    ++counters_.requests;
    plan(cluster_.now() + patience_period, Step::patience, id);
    come(id);
    // A client whose every ingress was down has ended by now.
    if (!visit.live || visit.life != life) return;
    if (disconnects_.unit() < load_.disconnects)
        plan(cluster_.now() + duration_of(disconnects_.unit()), Step::gone, id);
}

void Workload::step(const Event& event) {
    const StepArg arg = StepArg::unpack(event.arg);
    const Visit& visit = visits_[arg.index];
    if (!visit.live || !arg.is_of(visit.life)) return;
    switch (static_cast<Step>(arg.step)) {
        case Step::come:
            return come(arg.index);
        case Step::gone:
            return client_gone(arg.index);
        case Step::patience:
            return patience(arg.index);
    }
}

void Workload::come(CallId id) {
    Visit& visit = visits_[id];
    const auto is_open = [this](Host host) {
        return cluster_.peer(host).is_up() && !cluster_.peer(host).drain.gateway_closed();
    };
    auto ingress = static_cast<Host>(clients_.below(cluster_.size()));
    // A client that was turned away goes on through its list of peers.
    for (std::uint32_t more = 0; visit.tries > 0 && more < list_length && !is_open(ingress); ++more)
        ingress = static_cast<Host>(clients_.below(cluster_.size()));
    visit.error.reset();
    visit.status = 0;
    if (!is_open(ingress)) return retry_later(id, std::chrono::seconds{1}, Ending::rejected);
    visit.handle = ingresses_.submit(cluster_.now() + client_way, ingress, visit.call);
}

void Workload::on_head(CallId call, const gateway::SendHead& head) {
    Visit& visit = visits_[call];
    visit.status = head.status;
    if (!head.is_event_stream) return;
    if (visit.started) oracles_.violate("Q2", fmt::format("the client of request {} gets a second head", call));
    visit.started = true;
    if (cluster_.now() - visit.born <= first_token_good) ++seconds_[second_of(visit.born)].good;
    if (counters_.first_token_s.size() < waits_kept)
        counters_.first_token_s.push_back(seconds_of(cluster_.now() - visit.born));
    if (!head.session_token.empty() && visit.call.session.starts_with(session_prefix)) {
        const char* number = visit.call.session.c_str() + session_prefix.size();
        tokens_[static_cast<std::size_t>(std::strtoull(number, nullptr, 10))] = head.session_token;
    }
}

// What the client gets is what it lacks, and the right tokens.
void Workload::on_body(CallId call, std::string_view bytes) {
    if (!has_tokens(bytes)) return;
    Visit& visit = visits_[call];
    for (const std::uint32_t token : tokens_of(bytes)) {
        if (token != token_of(visit.call.seed, visit.got))
            oracles_.violate("Q2", fmt::format("the client of request {} has {} tokens and gets another one than the "
                                               "next",
                                               call, visit.got));
        ++visit.got;
        ++counters_.tokens;
    }
}

void Workload::on_error(CallId call, const openai::ApiError& error) {
    visits_[call].error = error;
}

void Workload::on_done(CallId call, const gateway::Done& done, bool complete) {
    Visit& visit = visits_[call];
    visit.handle.reset();
    if (visit.error) {
        const openai::ApiError error = *visit.error;
        if (!is_retried(error)) return end(call, Ending::rejected);
        return retry_later(call, std::chrono::milliseconds{error.retry_after_ms.value_or(500)}, Ending::rejected);
    }
    if (visit.status == 400) return end(call, Ending::client_error);
    if (done.failed || !complete) return end(call, Ending::broken);
    end(call, Ending::finished);
}

void Workload::patience(CallId id) {
    Visit& visit = visits_[id];
    const bool is_served = visit.handle && ingresses_.is_served(*visit.handle);
    if (cluster_.now() - visit.born > load_.deadline) {
        // A client gives up by itself; an ingress that runs must have ended the request before that.
        if (is_served && ingresses_.is_punctual(*visit.handle) && visit.got == 0)
            oracles_.violate("Q1",
                             fmt::format("request {} of {:.3f} s has no outcome at its deadline: {}", id,
                                         seconds_of(visit.born), ingresses_.waiting_for(*visit.handle)),
                             ingresses_.ingress(*visit.handle));
        return client_gone(id);
    }
    if (visit.handle && !is_served) {
        ingresses_.drop(*std::exchange(visit.handle, std::nullopt));
        if (visit.started) return end(id, Ending::ingress_lost);
        plan(cluster_.now() + patience_period, Step::patience, id);
        return retry_later(id, Duration{0}, Ending::rejected);
    }
    plan(cluster_.now() + patience_period, Step::patience, id);
}

void Workload::client_gone(CallId id) {
    // Its Done is nothing to the client any more.
    if (const auto handle = std::exchange(visits_[id].handle, std::nullopt)) ingresses_.client_gone(*handle);
    end(id, Ending::abandoned);
}

// As OpenAI's clients do: half a second, doubling to 8 s, less up to a quarter, unless the server names a time.
void Workload::retry_later(CallId id, Duration wait, Ending otherwise) {
    Visit& visit = visits_[id];
    if (visit.tries >= load_.sdk_retries || cluster_.now() - visit.born > load_.deadline) return end(id, otherwise);
    const Duration step =
        std::min<Duration>(std::chrono::milliseconds{500} * (1 << visit.tries), std::chrono::seconds{8});
    const Duration pause = std::max(wait, step);
    ++visit.tries;
    ++counters_.sdk_retries;
    plan(cluster_.now() + duration_of(seconds_of(pause) * (1 - 0.25 * clients_.unit())), Step::come, id);
}

void Workload::end(CallId id, Ending ending) {
    Visit& visit = visits_[id];
    EXA_CHECK(visit.live);
    switch (ending) {
        case Ending::finished:
            ++counters_.finished;
            if (visit.got != visit.call.answer_tokens)
                oracles_.violate("Q1", fmt::format("request {} ended with {} of {} tokens", id, visit.got,
                                                   visit.call.answer_tokens));
            break;
        case Ending::rejected:
            ++counters_.rejected;
            break;
        case Ending::broken:
            ++counters_.broken;
            break;
        case Ending::ingress_lost:
            ++counters_.ingress_lost;
            break;
        case Ending::abandoned:
            ++counters_.abandoned;
            break;
        case Ending::client_error:
            ++counters_.client_errors;
            break;
    }
    visit.live = false;
    free_.push_back(id);
}

std::uint64_t Workload::disconnect(double share) {
    std::uint64_t cut = 0;
    for (CallId id = 0; id < visits_.size(); ++id) {
        if (!visits_[id].live || disconnects_.unit() >= share) continue;
        client_gone(id);
        ++cut;
    }
    return cut;
}

void Workload::set_factor(double factor) {
    factor_ = factor;
    const bool is_over = !overloads_.empty() && overloads_.back().until == world_never;
    if (is_over) overloads_.back().until = cluster_.now();
    if (factor > 1) overloads_.push_back({.from = cluster_.now()});
}

TrafficCounters Workload::counters() const {
    TrafficCounters counters = counters_;
    const IngressCounters& served = ingresses_.counters();
    counters.attempts = served.attempts;
    counters.resumed = served.resumed;
    counters.refused = served.of(gateway::Outcome::refused);
    counters.busy = served.of(gateway::Outcome::busy);
    counters.unfit = served.of(gateway::Outcome::unfit);
    counters.moved = served.of(gateway::Outcome::suspect);
    counters.lost_to_silence_s = served.lost_to_silence_s;
    counters.waited = receivers_.waited();
    counters.progress_credits = ingresses_.dispatched().progress_credits;
    return counters;
}

std::optional<double> Workload::goodput(WorldTime from, WorldTime until) const {
    std::uint32_t came = 0;
    std::uint32_t good = 0;
    for (std::size_t second = second_of(from); second < std::min(second_of(until), seconds_.size()); ++second) {
        came += seconds_[second].came;
        good += seconds_[second].good;
    }
    if (came < goodput_sample_min) return std::nullopt;
    return static_cast<double>(good) / static_cast<double>(came);
}

void Workload::check_recovery() {
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

void Workload::check_first_bytes() {
    const double bound = seconds_of(scenario_.bounds.first_byte);
    const auto& lost = ingresses_.counters().lost_to_silence_s;
    const auto late = std::ranges::count_if(lost, [bound](double time) { return time > bound; });
    if (late > 0 && static_cast<std::size_t>(late) * 100 > lost.size())
        oracles_.violate("Q7", fmt::format("{} of {} requests that met a silent host lost more than {:.1f} s to it, "
                                           "one of them {:.3f} s",
                                           late, lost.size(), bound, std::ranges::max(lost)));
}

void Workload::check_end() {
    for (CallId id = 0; id < visits_.size(); ++id) {
        const Visit& visit = visits_[id];
        if (visit.live && cluster_.now() - visit.born > load_.deadline)
            oracles_.violate("Q1",
                             fmt::format("request {} of {:.3f} s has no outcome yet", id, seconds_of(visit.born)));
    }
    check_recovery();
    check_first_bytes();
    const double failures = static_cast<double>(counters_.failed());
    if (failures > scenario_.bounds.request_failures * static_cast<double>(counters_.requests))
        oracles_.violate("Q1", fmt::format("{} of {} requests failed", counters_.failed(), counters_.requests));
    check_dispatchers();
}

void Workload::check_dispatchers() {
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
