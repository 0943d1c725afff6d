// What must hold of every dispatcher whatever happens: Q1 (one terminal outcome), Q4 (limits), Q5 and Q6 (bounded
// attempts), counters that return to zero, and load that spreads.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;
using namespace std::chrono_literals;

namespace {

// A dispatcher under random events, beside the simplest account of what must come out of it.
class Storm {
  public:
    Storm(std::uint64_t peers, std::uint64_t seed)
        : cluster_(peers, 2, 8), rng_(seed), dispatcher_({}, test_tokens(), rng_) {
        adopt_view();
    }

    void step() {
        now_ += Duration(static_cast<Duration::rep>(rng_.below(100'000)));
        const std::uint64_t what = rng_.below(20);
        if (what < 7 || live_.empty()) {
            begin();
        } else if (what < 17) {
            report();
        } else if (what == 17) {
            change_a_peer();
        } else if (what == 18) {
            dispatcher_.handle_peer_broken(now_, PeerId{rng_.below(cluster_.members.size()) + 1});
        } else {
            dispatcher_.handle_peer_ok(PeerId{rng_.below(cluster_.members.size()) + 1});
        }
        RC_ASSERT(dispatcher_.in_flight() == live_.size());
        check_counters();
    }

    void finish_all() {
        while (!live_.empty()) end(live_.begin(), dispatcher_.handle_finished(now_, live_.begin()->second.attempt));
        for (std::uint32_t slot = 0; slot < slots(); ++slot) RC_ASSERT(dispatcher_.tracker().own(slot) == 0u);
        RC_ASSERT(dispatcher_.in_flight() == 0u);
        check_counters();
    }

  private:
    struct Live {
        AttemptId attempt;
        ReplicaId replica;
        bool waits = false;
        std::uint32_t attempts = 0;
        std::set<ReplicaId> tried;
        std::set<ReplicaId> answered_busy;
        std::set<ReplicaId> waited;
        bool first_byte = false;
    };
    using At = std::map<int, Live>::iterator;

    std::uint32_t slots() const { return static_cast<std::uint32_t>(view_slots_); }

    void adopt_view() {
        const auto view = cluster_.routing_view();
        view_slots_ = view->replicas().size();
        dispatcher_.handle_view(view);
    }

    void begin() {
        const std::string session = "s" + std::to_string(rng_.below(20));
        auto request = request_for(rng_.below(3) == 0 ? std::string_view() : std::string_view(session));
        request.resumable = rng_.below(2) == 0;
        if (rng_.below(2) == 0) request.prefix_hash = rng_.below(4);
        if (rng_.below(30) == 0) request.model = "nobody's";
        ++begun_;
        take(live_.emplace(begun_, Live{}).first, dispatcher_.begin(now_, request));
    }

    void take(At at, const Decision& decision) {
        if (const auto* attempt = std::get_if<Attempt>(&decision)) {
            // Twice only to wait where it was turned away.
            Live& live = at->second;
            const bool waits = attempt->queue_wait > Duration::zero();
            RC_ASSERT(live.tried.insert(attempt->replica).second ||
                      (waits && live.answered_busy.contains(attempt->replica)));
            const bool fresh = !waits || live.waited.insert(attempt->replica).second;
            RC_ASSERT(fresh);
            RC_ASSERT(++live.attempts <= Config().attempts_max);
            RC_ASSERT(attempt->number == live.attempts);
            RC_ASSERT(attempt->queue_wait <= Config().queue_wait_alone);
            live.replica = attempt->replica;
            live.waits = waits;
            at->second.attempt = attempt->id;
            return;
        }
        RC_ASSERT(!std::holds_alternative<Ignored>(decision));
        RC_ASSERT(std::holds_alternative<Broken>(decision) == at->second.first_byte);
        end(at, true);
    }

    void end(At at, bool counted) {
        RC_ASSERT(counted);
        ++ended_;
        over_.push_back(at->second.attempt);
        live_.erase(at);
    }

    void report() {
        const auto at = std::next(live_.begin(), static_cast<std::ptrdiff_t>(rng_.below(live_.size())));
        const AttemptId id = at->second.attempt;
        switch (rng_.below(8)) {
            case 0:
            case 1:
                return end(at, dispatcher_.handle_finished(now_, id));
            case 2:
                return end(at, dispatcher_.handle_client_gone(now_, id));
            case 3:
                over_.push_back(id);
                if (!at->second.waits) at->second.answered_busy.insert(at->second.replica);
                return take(at, dispatcher_.handle_busy(now_, id));
            case 4:
            case 5:
                over_.push_back(id);
                return take(at, dispatcher_.handle_failed(now_, id, static_cast<Failure>(rng_.below(8))));
            case 6:
                at->second.first_byte = true;
                return dispatcher_.handle_first_byte(id);
            default:
                return report_about_the_past();
        }
    }

    void report_about_the_past() {
        if (over_.empty()) return;
        const AttemptId id = over_[rng_.below(over_.size())];
        RC_ASSERT(!dispatcher_.handle_finished(now_, id));
        RC_ASSERT(!dispatcher_.handle_client_gone(now_, id));
        RC_ASSERT(std::holds_alternative<Ignored>(dispatcher_.handle_busy(now_, id)));
        RC_ASSERT(std::holds_alternative<Ignored>(dispatcher_.handle_failed(now_, id, Failure::timeout)));
    }

    void change_a_peer() {
        auto& member = cluster_.peer(rng_.below(cluster_.members.size()) + 1);
        member.liveness = static_cast<membership::Liveness>(rng_.below(4));
        member.record.state = rng_.below(4) == 0 ? wire::PeerState::draining : wire::PeerState::serving;
        auto& replica = member.record.replicas[rng_.below(2)];
        replica.state = rng_.below(3) == 0 ? wire::ReplicaState::loading : wire::ReplicaState::ready;
        cluster_.set_load(replica.id, static_cast<std::uint32_t>(rng_.below(10)), now_);
        adopt_view();
        for (std::uint32_t slot = 0; slot < slots(); ++slot) RC_ASSERT(dispatcher_.tracker().own(slot) <= live_.size());
    }

    void check_counters() const {
        const Counters& counters = dispatcher_.counters();
        const auto ends = counters.finished + counters.rejected + counters.broken + counters.abandoned;
        RC_ASSERT(ends == ended_);
        RC_ASSERT(counters.begun == ends + live_.size());
    }

    Cluster cluster_;
    Rng rng_;
    Dispatcher dispatcher_;
    TimePoint now_ = start;
    int begun_ = 0;
    std::uint64_t ended_ = 0;
    std::size_t view_slots_ = 0;
    std::map<int, Live> live_;
    std::vector<AttemptId> over_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(dispatcher_property)

BOOST_AUTO_TEST_CASE(every_request_ends_exactly_once_and_in_flight_counts_return_to_zero) {
    BOOST_TEST(rc::check([] {
        Storm storm(*rc::gen::inRange<std::uint64_t>(1, 8), *rc::gen::arbitrary<std::uint64_t>());
        const int steps = *rc::gen::inRange(1, 400);
        for (int i = 0; i < steps; ++i) storm.step();
        storm.finish_all();
    }));
}

BOOST_AUTO_TEST_CASE(the_owner_of_a_client_id_is_the_same_on_every_peer) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(1, 12);
        Cluster cluster(peers);
        const std::string session = *rc::gen::nonEmpty<std::string>();
        std::set<ReplicaId> owners;
        for (std::uint64_t self = 1; self <= peers; ++self) {
            Dispatcher dispatcher({}, test_tokens(), Rng(*rc::gen::arbitrary<std::uint64_t>()));
            dispatcher.handle_view(cluster.routing_view(self));
            owners.insert(*dispatcher.explain(start, request_for(session)).value().owner);
        }
        RC_ASSERT(owners.size() == 1u);
    }));
}

BOOST_AUTO_TEST_CASE(no_replica_gets_more_sessions_than_the_bound) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(2, 16);
        Cluster cluster(peers);
        auto dispatcher = make_dispatcher(cluster, *rc::gen::arbitrary<std::uint64_t>());
        const auto requests = *rc::gen::inRange<std::uint64_t>(1, 600);
        const auto sessions = *rc::gen::inRange<std::uint64_t>(1, 600);
        std::map<ReplicaId, std::uint64_t> loads;
        for (std::uint64_t i = 0; i < requests; ++i) {
            const auto decision = dispatcher.begin(start, request_for("s" + std::to_string(i % sessions)));
            RC_ASSERT(std::holds_alternative<Attempt>(decision));
            ++loads[std::get<Attempt>(decision).replica];
        }
        const std::uint64_t bound = std::max<std::uint64_t>(4, (requests * 125 + peers * 200 - 1) / (peers * 200));
        for (const auto& [replica, load] : loads) RC_ASSERT(load <= bound);
    }));
}

BOOST_AUTO_TEST_CASE(requests_without_a_session_spread_evenly) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(2, 16);
        Cluster cluster(peers);
        auto dispatcher = make_dispatcher(cluster, *rc::gen::arbitrary<std::uint64_t>());
        std::map<ReplicaId, std::uint64_t> loads;
        const std::uint64_t requests = peers * 2 * 20;
        for (std::uint64_t i = 0; i < requests; ++i)
            ++loads[std::get<Attempt>(dispatcher.begin(start, request_for())).replica];
        RC_ASSERT(loads.size() == peers * 2);
        for (const auto& [replica, load] : loads) RC_ASSERT(load <= 25u);  // mean 20
    }));
}

BOOST_AUTO_TEST_CASE(no_replica_is_sent_more_than_its_limit_and_the_rest_waits) {
    BOOST_TEST(rc::check([] {
        const auto peers = *rc::gen::inRange<std::uint64_t>(1, 6);
        const auto limit = *rc::gen::inRange<std::uint32_t>(1, 12);
        Cluster cluster(peers, 2, limit);
        auto dispatcher = make_dispatcher(cluster, *rc::gen::arbitrary<std::uint64_t>());
        std::map<ReplicaId, std::uint32_t> loads;
        const std::uint64_t room = peers * 2 * limit;
        for (std::uint64_t i = 0; i < room + 10; ++i) {
            const std::string session = "s" + std::to_string(i % 5);
            const auto decision =
                dispatcher.begin(start, request_for(i % 2 == 0 ? std::string_view() : std::string_view(session)));
            const auto& attempt = std::get<Attempt>(decision);
            RC_ASSERT((attempt.queue_wait == Duration::zero()) == (i < room));
            if (i < room) RC_ASSERT(++loads[attempt.replica] <= limit);
        }
    }));
}

BOOST_AUTO_TEST_SUITE_END()
