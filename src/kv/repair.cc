#include "kv/repair.h"

#include <algorithm>
#include <utility>

namespace exa::kv {

void Repair::handle_placement(TimePoint now, std::shared_ptr<const Placement> placement) {
    bool begins = placement->digest() != placement_->digest();
    std::set<PeerId> reachable;
    for (const Holder& holder : placement->holders()) {
        if (!holder.reachable || holder.id == self_) continue;
        reachable.insert(holder.id);
        if (!reachable_.contains(holder.id)) begins = reachable_again_.insert(holder.id).second || begins;
    }
    reachable_ = std::move(reachable);
    placement_ = std::move(placement);
    if (begins) begin(now);
}

void Repair::schedule_pass(TimePoint at) {
    reachable_again_ = reachable_;
    if (progress_.is_running)
        after_.reset();
    else
        next_step_ = std::min(next_step_, at);
}

void Repair::begin(TimePoint now) {
    after_.reset();
    const std::uint64_t passes = progress_.passes;
    progress_ = {.is_running = true, .passes = passes};
    next_step_ = now;
}

void Repair::handle_timeout(TimePoint now, const Holdings& holdings, OfferQueue& offers) {
    if (now < next_step_) return;
    if (!progress_.is_running) {
        if (now >= next_round_) reachable_again_ = reachable_;
        begin(now);
    }
    next_step_ = now + config_.step;
    if (!step(holdings, offers)) return;
    repaired_ = placement_;
    reachable_again_.clear();
    progress_.is_running = false;
    ++progress_.passes;
    if (config_.period > Duration{0}) next_round_ = now + config_.period;
    next_step_ = next_round_;
}

// True at the end of the pass.
bool Repair::step(const Holdings& holdings, OfferQueue& offers) {
    std::uint64_t bytes = 0;
    const std::vector<Item> items = holdings.list(after_, config_.step_items);
    for (const Item& item : items) {
        const std::vector<PeerId> before = repaired_->owners(item.key);
        std::vector<PeerId> lacking = placement_->owners(item.key);
        std::erase_if(lacking, [&](PeerId owner) {
            const bool is_new = std::ranges::find(before, owner) == before.end() || reachable_again_.contains(owner);
            return owner == self_ || !is_new || !placement_->reachable(owner);
        });
        const bool has_room = std::ranges::all_of(lacking, [&](PeerId owner) { return offers.room(owner) > 0; });
        if (!has_room || (bytes > 0 && bytes + item.bytes * lacking.size() > config_.step_bytes)) return false;
        for (const PeerId owner : lacking) {
            offers.offer(owner, item);
            ++progress_.offered;
            progress_.bytes += item.bytes;
            bytes += item.bytes;
        }
        ++progress_.looked_at;
        after_ = item.key;
    }
    return items.size() < config_.step_items;
}

}  // namespace exa::kv
