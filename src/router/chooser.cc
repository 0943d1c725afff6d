#include "router/chooser.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace exa::router {

namespace {

// Distinct replicas a session looks at along the ring before the whole pool is compared. With a bound of 1.25 x mean at
// least a fifth of a pool is below it, so a longer walk means that something else is wrong with most of them.
constexpr int walk_max = 32;

// Pairs drawn before the whole pool is compared.
constexpr int draws_max = 4;

constexpr std::uint32_t high_priority = 0;
constexpr std::uint32_t low_priority = 2;

// Queues that are looked at for the shortest, as long as one of these takes the request.
constexpr int queues_drawn = 8;

class Chooser {
  public:
    Chooser(TimePoint now, const Pool& pool, const ReplicaTracker& tracker, const Need& need, const Config& config,
            Rng& rng)
        : now_(now), pool_(pool), tracker_(tracker), need_(need), config_(config), rng_(rng) {}

    std::optional<Choice> for_session(std::uint64_t position) {
        if (const auto kept = kept_spill()) return kept;
        // The good ones that the session may spill to.
        std::array<std::uint32_t, fan_out_max> next;
        std::uint32_t count = 0;
        std::optional<Choice> owner;
        Reason reason = Reason::session_owner;
        int left = walk_max;
        pool_.ring->walk(position, [&](std::uint32_t member) {
            const std::uint32_t replica = pool_.first + member;
            if (reason == Reason::session_owner && may_stay(replica)) {
                owner = Choice{replica, reason};
                return false;
            }
            if (is_good(replica)) next[count++] = replica;
            if (reason == Reason::session_owner) reason = reason_to_pass_over(eligibility(replica));
            return --left > 0 && count < fan_out(reason);
        });
        if (owner) return owner;
        if (count == 0) return least_bad();
        return Choice{less_loaded_of_two(std::span(next).first(count)), reason};
    }

    std::optional<Choice> without_session() {
        if (const auto warm = warm_for_prefix()) return warm;
        std::optional<std::uint32_t> best;
        for (int draw = 0; draw < draws_max; ++draw) {
            const auto first = static_cast<std::uint32_t>(rng_.below(pool_.count));
            std::uint32_t second = first;
            if (pool_.count > 1)
                second = static_cast<std::uint32_t>((first + 1 + rng_.below(pool_.count - 1)) % pool_.count);
            const std::uint32_t replica = better_of(pool_.first + first, pool_.first + second);
            if (!is_good(replica)) continue;
            best = best ? better_of(*best, replica) : replica;
            if (tracker_.distance(*best) == Distance::rack) break;
        }
        if (best) return Choice{*best, Reason::least_loaded};
        return least_bad();
    }

    // Nothing comes between this peer and its own replicas.
    std::optional<Choice> own_replica() const {
        std::optional<std::uint32_t> best;
        for (std::uint32_t replica = pool_.first; replica < pool_.first + pool_.count; ++replica)
            if (tracker_.is_local(replica) && is_good(replica)) best = best ? better_of(*best, replica) : replica;
        if (!best) return std::nullopt;
        return Choice{*best, Reason::own_replica};
    }

    // Ingresses know little of one another's waiting requests. Of a few drawn at random, so that they do not all choose
    // the same.
    std::optional<Choice> shortest_queue() {
        std::optional<std::uint32_t> best;
        const auto consider = [&](std::uint32_t member) {
            const std::uint32_t replica = pool_.first + member;
            if (can_wait_at(replica) && (!best || queue_order(replica) < queue_order(*best))) best = replica;
        };
        for (int draw = 0; draw < queues_drawn; ++draw) consider(static_cast<std::uint32_t>(rng_.below(pool_.count)));
        for (std::uint32_t member = 0; !best && member < pool_.count; ++member) consider(member);
        if (!best) return std::nullopt;
        return Choice{*best, Reason::shortest_queue};
    }

  private:
    Eligibility eligibility(std::uint32_t replica) const {
        const Eligibility eligibility = tracker_.eligibility(now_, replica);
        const std::uint32_t limit = tracker_.limit(replica);
        const bool is_reserved = need_.priority == low_priority && limit > 0 && tracker_.load(replica) * 4 >= limit * 3;
        return is_reserved ? std::max(eligibility, Eligibility::looks_full) : eligibility;
    }

    bool is_good(std::uint32_t replica) const {
        return eligibility(replica) == Eligibility::good && can_try(tracker_, replica, need_);
    }

    bool may_stay(std::uint32_t replica) const {
        if (is_good(replica)) return true;
        return need_.priority == high_priority && eligibility(replica) == Eligibility::above_bound &&
               can_try(tracker_, replica, need_);
    }

    static Reason reason_to_pass_over(Eligibility eligibility) {
        const bool busy = eligibility == Eligibility::above_bound || eligibility == Eligibility::looks_full ||
                          eligibility == Eligibility::full;
        return busy ? Reason::session_spilled : Reason::session_moved;
    }

    std::optional<Choice> kept_spill() const {
        if (!need_.spill || !need_.spill->replica) return std::nullopt;
        const auto member = pool_.ring->find(*need_.spill->replica);
        if (!member || !is_good(pool_.first + *member)) return std::nullopt;
        return Choice{pool_.first + *member, Reason::spill_kept};
    }

    // All ingresses move a session whose owner cannot be used to the same one.
    std::uint32_t fan_out(Reason reason) const {
        return reason == Reason::session_spilled && need_.spill ? std::min(need_.spill->fan_out, fan_out_max) : 1;
    }

    std::uint32_t less_loaded_of_two(std::span<const std::uint32_t> slots) {
        if (slots.size() == 1) return slots[0];
        const std::size_t first = rng_.below(slots.size());
        const std::size_t second = (first + 1 + rng_.below(slots.size() - 1)) % slots.size();
        return better_of(slots[first], slots[second]);
    }

    std::optional<Choice> warm_for_prefix() const {
        if (!need_.prefix_hash) return std::nullopt;
        std::optional<Choice> choice;
        std::uint32_t left = config_.prefix_choices;
        pool_.ring->walk(*need_.prefix_hash, [&](std::uint32_t member) {
            const std::uint32_t replica = pool_.first + member;
            if (is_good(replica) &&
                tracker_.load_score(replica) <= std::uint64_t{tracker_.mean(replica)} * load_score_of_request) {
                choice = Choice{replica, Reason::warm_prefix};
                return false;
            }
            return --left > 0;
        });
        return choice;
    }

    std::uint32_t better_of(std::uint32_t a, std::uint32_t b) const {
        if (!is_good(a)) return b;
        if (!is_good(b)) return a;
        const std::uint64_t of_a = tracker_.projected_load(now_, a);
        const std::uint64_t of_b = tracker_.projected_load(now_, b);
        // Within a fifth they take it about equally well.
        const bool near_a = tracker_.distance(a) < tracker_.distance(b) && of_a <= of_b + of_b / 5;
        const bool near_b = tracker_.distance(b) < tracker_.distance(a) && of_b <= of_a + of_a / 5;
        return near_b || (of_b < of_a && !near_a) ? b : a;
    }

    // Begins anywhere, so that ingresses which see the same loads do not all pile on the first of equals.
    std::optional<Choice> least_bad() {
        std::optional<std::uint32_t> best;
        Eligibility best_eligibility{};
        std::uint32_t at = static_cast<std::uint32_t>(rng_.below(pool_.count));
        for (std::uint32_t step = 0; step < pool_.count; ++step) {
            const std::uint32_t replica = pool_.first + at;
            if (++at == pool_.count) at = 0;
            const Eligibility its = eligibility(replica);
            if (!is_usable(its) || (best && its > best_eligibility) || !can_try(tracker_, replica, need_)) continue;
            if (best && its == best_eligibility &&
                tracker_.projected_load(now_, replica) >= tracker_.projected_load(now_, *best))
                continue;
            best = replica;
            best_eligibility = its;
        }
        const bool is_doubted = best && need_.was_lost && best_eligibility == Eligibility::suspect;
        if (need_.may_wait && (!best || is_doubted || best_eligibility == Eligibility::looks_full)) {
            const auto queue = shortest_queue();
            if (queue && !(is_doubted && tracker_.is_suspect(queue->replica))) return queue;
        }
        if (!best) return std::nullopt;
        return Choice{*best, best_eligibility == Eligibility::good ? Reason::least_loaded : Reason::last_resort};
    }

    bool can_wait_at(std::uint32_t replica) const {
        return tracker_.eligibility(now_, replica) <= Eligibility::full && can_queue(tracker_, replica, need_);
    }

    std::tuple<bool, std::uint32_t, std::uint32_t> queue_order(std::uint32_t replica) const {
        return {tracker_.is_suspect(replica), tracker_.queued(replica), tracker_.load(replica)};
    }

    TimePoint now_;
    const Pool& pool_;
    const ReplicaTracker& tracker_;
    const Need& need_;
    const Config& config_;
    Rng& rng_;
};

}  // namespace

std::string_view to_string(Reason reason) {
    switch (reason) {
        case Reason::session_owner:
            return "session_owner";
        case Reason::session_spilled:
            return "session_spilled";
        case Reason::session_moved:
            return "session_moved";
        case Reason::spill_kept:
            return "spill_kept";
        case Reason::warm_prefix:
            return "warm_prefix";
        case Reason::least_loaded:
            return "least_loaded";
        case Reason::last_resort:
            return "last_resort";
        case Reason::shortest_queue:
            return "shortest_queue";
        case Reason::own_replica:
            return "own_replica";
    }
    return "unknown";
}

bool can_serve(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need) {
    const std::uint32_t context_tokens = tracker.context_tokens(replica);
    return (context_tokens == 0 || need.prompt_tokens <= context_tokens) &&
           (need.numerics == 0 || need.numerics == tracker.numerics(replica));
}

bool can_queue(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need) {
    if (!can_serve(tracker, replica, need)) return false;
    const auto tried = std::ranges::find(need.tried, tracker.id(replica));
    return tried == need.tried.end() || (need.answered_busy >> (tried - need.tried.begin()) & 1) != 0;
}

bool can_try(const ReplicaTracker& tracker, std::uint32_t replica, const Need& need) {
    return can_serve(tracker, replica, need) && std::ranges::find(need.tried, tracker.id(replica)) == need.tried.end();
}

std::optional<Choice> choose(TimePoint now, const Pool& pool, const ReplicaTracker& tracker, const Need& need,
                             const Config& config, Rng& rng) {
    if (pool.count == 0) return std::nullopt;
    Chooser chooser(now, pool, tracker, need, config, rng);
    if (need.was_lost) {
        if (const auto own = chooser.own_replica()) return own;
    }
    if (need.must_wait) return chooser.shortest_queue();
    return need.position ? chooser.for_session(*need.position) : chooser.without_session();
}

}  // namespace exa::router
