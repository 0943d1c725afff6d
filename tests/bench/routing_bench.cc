// What it takes to decide where a request goes, and how evenly that spreads: one entry that knows 256 peers of 12
// replicas and has 100,000 requests in flight. Prints one JSON object; the exit code is 1 when a bar is not met.
//
//   p50, p99     of one decision, of requests with a session token, a client's id, and none (a third each, the last
//                with one of 1,000 prompts' beginnings), while as many end as begin
//   max_to_mean  of 100,000 sessions, each with one request in flight
//   arcs         positions that moved when one replica left, and those of them that had not been its own
//   hot          replicas that 1,000 requests of one session spread over, and the most that one of them got
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "io/crypto/openssl_crypto.h"
#include "router/dispatcher.h"

namespace {

using namespace exa;
using namespace exa::router;

constexpr std::uint32_t peers = 256;
constexpr std::uint16_t slots = 12;
constexpr std::uint32_t replicas = peers * slots;
constexpr std::uint32_t in_flight = 100'000;
constexpr std::uint32_t decisions = 400'000;
constexpr TimePoint start{std::chrono::seconds(1'000)};
constexpr WallTime wall{1'700'000'000'000'000};

// `gone`: left out.
std::shared_ptr<const RoutingView> make_view(std::optional<ReplicaId> gone = std::nullopt) {
    membership::View view;
    view.number = 1;
    view.self = PeerId{1};
    std::vector<std::shared_ptr<const membership::Member>> members;
    for (std::uint32_t p = 1; p <= peers; ++p) {
        wire::PeerRecord record;
        record.id = PeerId{p};
        record.name = fmt::format("peer-{}", p);
        record.region = "local";
        record.rack = fmt::format("rack-{}", p / 16);
        record.state = wire::PeerState::serving;
        for (std::uint16_t s = 0; s < slots; ++s) {
            wire::ReplicaRecord replica;
            replica.id = {record.id, deployment_id("default"), s};
            if (replica.id == gone) continue;
            replica.state = wire::ReplicaState::ready;
            replica.deployment = "default";
            replica.model = "smollm2-135m-instruct";
            replica.version = "1";
            replica.role = "chat";
            replica.numerics = "avx2";
            replica.in_flight_limit = 256;
            replica.context_tokens = 8'192;
            record.replicas.push_back(std::move(replica));
        }
        membership::Member member;
        member.record = std::make_shared<const wire::PeerRecord>(std::move(record));
        members.push_back(std::make_shared<const membership::Member>(std::move(member)));
    }
    view.members = membership::MemberList(members);
    return RoutingView::build(std::make_shared<const membership::View>(std::move(view)), nullptr);
}

double max_to_mean(const std::map<ReplicaId, std::uint32_t>& counts) {
    std::uint64_t sum = 0;
    std::uint32_t most = 0;
    for (const auto& [replica, count] : counts) {
        sum += count;
        most = std::max(most, count);
    }
    return most * double{replicas} / static_cast<double>(sum);
}

class Bench {
  public:
    Bench() : dispatcher_({}, tokens_, Rng(7)) {
        dispatcher_.handle_view(view_);
        for (std::uint32_t i = 0; i < in_flight; ++i) ids_.push_back(fmt::format("session-{:08}", i));
    }

    double fill() {
        std::map<ReplicaId, std::uint32_t> counts;
        for (std::uint32_t i = 0; i < in_flight; ++i) {
            const Attempt attempt = begin(meta(ids_[i]));
            ++counts[attempt.replica];
            running_.push_back(attempt.id);
        }
        return max_to_mean(counts);
    }

    void decide() {
        for (std::uint32_t i = 0; i < 10'000; ++i) minted_.push_back(begin_and_end(meta({})).session_token);
        for (std::uint32_t i = 0; i < decisions; ++i) {
            now_ += Duration(10);
            RequestMeta request = meta({});
            if (i % 3 == 0)
                request.session = minted_[rng_.below(minted_.size())];
            else if (i % 3 == 1)
                request.session = ids_[rng_.below(ids_.size())];
            else
                request.prefix_hash = rng_.below(1'000) * 0x9e3779b97f4a7c15;
            const std::size_t ending = rng_.below(running_.size());
            EXA_CHECK(dispatcher_.handle_finished(now_, running_[ending]));
            const auto begin = std::chrono::steady_clock::now();
            const Decision decision = dispatcher_.begin(now_, request);
            const auto end = std::chrono::steady_clock::now();
            running_[ending] = std::get<Attempt>(decision).id;
            times_[i % 3].push_back(std::chrono::duration<double, std::micro>(end - begin).count());
        }
    }

    double percentile(double part, std::optional<std::size_t> kind = std::nullopt) const {
        std::vector<double> times;
        for (std::size_t k = 0; k < times_.size(); ++k)
            if (!kind || *kind == k) times.insert(times.end(), times_[k].begin(), times_[k].end());
        std::ranges::sort(times);
        return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
    }

  private:
    static RequestMeta meta(std::string_view session) {
        RequestMeta meta;
        meta.wall = wall;
        meta.model = "smollm2-135m-instruct";
        meta.session = session;
        meta.prompt_tokens = 200;
        return meta;
    }

    Attempt begin(const RequestMeta& request) {
        const Decision decision = dispatcher_.begin(now_, request);
        EXA_CHECK(std::holds_alternative<Attempt>(decision));
        return std::get<Attempt>(decision);
    }

    Attempt begin_and_end(const RequestMeta& request) {
        const Attempt attempt = begin(request);
        EXA_CHECK(dispatcher_.handle_finished(now_, attempt.id));
        return attempt;
    }

    const io::crypto::OpenSslCrypto crypto_;
    const SessionTokens tokens_{crypto_, as_bytes("a root secret of the benchmark's own")};
    const std::shared_ptr<const RoutingView> view_ = make_view();
    Rng rng_{11};
    Dispatcher dispatcher_;
    TimePoint now_ = start;
    std::vector<std::string> ids_;
    std::vector<std::string> minted_;
    std::vector<AttemptId> running_;
    std::array<std::vector<double>, 3> times_;
};

struct Moved {
    std::uint32_t all = 0;
    std::uint32_t others = 0;
};

Moved moved_by_one_leaving() {
    const auto before = make_view();
    const ReplicaId leaving = before->replicas()[1'234].record->id;
    const auto after = make_view(leaving);
    const ring::Ring& old_ring = *before->pools()[0].ring;
    const ring::Ring& new_ring = *after->pools()[0].ring;
    Moved moved;
    Rng rng(3);
    for (int i = 0; i < 1'000'000; ++i) {
        const std::uint64_t position = rng.next();
        const ReplicaId owner = old_ring.members()[old_ring.owner(position)].id;
        if (new_ring.members()[new_ring.owner(position)].id == owner) continue;
        ++moved.all;
        if (owner != leaving) ++moved.others;
    }
    return moved;
}

std::map<ReplicaId, std::uint32_t> spread_of_hot_session() {
    const io::crypto::OpenSslCrypto crypto;
    const SessionTokens tokens(crypto, as_bytes("a root secret of the benchmark's own"));
    Dispatcher dispatcher({}, tokens, Rng(7));
    dispatcher.handle_view(make_view());
    std::map<ReplicaId, std::uint32_t> counts;
    RequestMeta meta;
    meta.wall = wall;
    meta.model = "smollm2-135m-instruct";
    meta.session = "everybody's";
    for (int i = 0; i < 1'000; ++i) ++counts[std::get<Attempt>(dispatcher.begin(start, meta)).replica];
    return counts;
}

}  // namespace

int main() {
    Bench bench;
    const double even = bench.fill();
    bench.decide();
    const double p50 = bench.percentile(0.5);
    const double p99 = bench.percentile(0.99);
    const Moved moved = moved_by_one_leaving();
    const auto hot = spread_of_hot_session();
    std::uint32_t hottest = 0;
    for (const auto& [replica, count] : hot) hottest = std::max(hottest, count);
    const bool met = p50 <= 1 && p99 <= 5 && even <= 1.3 && moved.all > 0 && moved.others == 0 && hot.size() >= 100;
    fmt::print(
        "{{\"name\": \"routing\", \"ours\": {:.3f}, \"theirs\": 1.0, \"ratio\": {:.3f}, \"spread\": {:.2f}, "
        "\"unit\": \"us a decision (p50) against the bar; spread of one run: p99 to p50\", \"p99\": {:.3f}, "
        "\"p50_token\": {:.3f}, \"p50_client_id\": {:.3f}, \"p50_no_session\": {:.3f}, \"max_to_mean\": {:.3f}, "
        "\"arcs_moved\": {}, \"arcs_moved_of_others\": {}, \"hot_replicas\": {}, \"hot_most\": {}, \"met\": {}}}\n",
        p50, p50, p99 / p50, p99, bench.percentile(0.5, 0), bench.percentile(0.5, 1), bench.percentile(0.5, 2), even,
        moved.all, moved.others, hot.size(), hottest, met);
    return met ? 0 : 1;
}
