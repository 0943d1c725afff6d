#include "kv/exchange.h"

#include <algorithm>

#include "base/check.h"

namespace exa::kv {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

Exchange::Exchange(PeerId self, const Holdings& holdings, const ExchangeConfig& config)
    : self_(self),
      holdings_(holdings),
      config_(config),
      spread_(config.spread),
      intake_(self, holdings, config.intake),
      repair_(self, config.repair),
      recovery_(self, config.recovery) {}

void Exchange::handle_placement(TimePoint now, std::shared_ptr<const Placement> placement) {
    for (const Holder& holder : placement_->holders())
        if (!placement->in_reach(holder.id)) spread_.forget(holder.id);
    placement_ = std::move(placement);
    repair_.handle_placement(now, placement_);
}

void Exchange::load(TimePoint now, LoadId id, std::vector<SegmentKey> chain, std::vector<bool> held,
                    const LoadTerms& terms) {
    LoadConfig config = config_.load;
    config.has_cold = config.has_cold && terms.may_be_cold;
    const auto [at, is_new] =
        loads_.try_emplace(id, Loading{Load(std::move(chain), std::move(held), self_, *placement_, config), terms});
    EXA_CHECK(is_new);
    Load& load = at->second.load;
    while (auto look = load.next_look()) {
        Question question{QuestionKind::look, {}};
        for (const std::uint32_t place : look->places) question.items.push_back({load.key(place)});
        const PeerId to = look->to;
        ask(now, to, std::move(question), LoadLook{id, std::move(*look)}, config_.look_patience);
    }
    pump_load(now, id);
}

void Exchange::fetch(TimePoint now, LoadId id, const Item& item, std::vector<PeerId> holders) {
    std::ranges::reverse(holders);
    fetch_next(now, {id, item, std::move(holders)});
}

void Exchange::cancel(TimePoint, LoadId id) {
    loads_.erase(id);
    for (auto at = asks_.begin(); at != asks_.end();) {
        const auto* look = std::get_if<LoadLook>(&at->second.purpose);
        const auto* fetch = std::get_if<LoadFetch>(&at->second.purpose);
        const auto* value = std::get_if<ValueFetch>(&at->second.purpose);
        const auto* cold = std::get_if<ColdLook>(&at->second.purpose);
        if ((look == nullptr || look->load != id) && (fetch == nullptr || fetch->load != id) &&
            (value == nullptr || value->load != id) && (cold == nullptr || cold->load != id)) {
            ++at;
            continue;
        }
        outputs_.push_back(Drop{at->first});
        at = end(at);
    }
}

void Exchange::find(TimePoint now, FindId id, std::vector<KnownValue> values) {
    if (finds_.size() >= config_.finds_max) {
        outputs_.push_back(Found{id, std::vector<ValueVerdict>(values.size())});
        return;
    }
    if (config_.mutant == Mutant::values_unasked &&
        std::ranges::all_of(values, [](const KnownValue& value) { return value.item.stamp != 0; })) {
        Found found{id, {}};
        for (const KnownValue& value : values)
            found.verdicts.push_back({value.item.stamp, value.item.bytes == 0, true, true, {}, 0});
        outputs_.push_back(std::move(found));
        return;
    }
    std::erase_if(avoided_, [now](const auto& one) { return one.second <= now; });
    const auto is_avoided = [this](PeerId peer) { return avoided_.contains(peer); };
    const auto [at, is_new] = finds_.try_emplace(id, std::move(values), self_, *placement_, is_avoided);
    EXA_CHECK(is_new);
    while (auto asks = at->second.next_ask()) {
        Question question{QuestionKind::look, {}};
        for (const std::uint32_t place : asks->places) question.items.push_back({at->second.key(place)});
        const PeerId to = asks->to;
        ask(now, to, std::move(question), Finding{id, std::move(*asks)}, config_.find_patience);
    }
    end_find(id);
}

void Exchange::add(TimePoint now, const Item& item) {
    for (const PeerId owner : placement_->owners(item.key))
        if (owner != self_ && placement_->in_reach(owner)) spread_.offer(owner, item);
    pump_spread(now);
}

bool Exchange::move(TimePoint now, PeerId to, const Item& item) {
    const bool is_queued = spread_.offer(to, item, true);
    pump_spread(now);
    return is_queued;
}

void Exchange::handle_offer(TimePoint now, OfferId id, PeerId from, const Question& question) {
    intake_.offered(id, from, question, *placement_);
    pump_intake(now);
}

void Exchange::handle_items(TimePoint now, AskId id, std::span<const Item> items) {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return;
    if (const auto* finding = std::get_if<Finding>(&at->second.purpose)) {
        if (items.size() != finding->asks.places.size()) return fail(now, at);
        const FindId find = finding->find;
        finds_.at(find).answered(finding->asks, items);
        end(at);
        return end_find(find);
    }
    if (const auto* cold = std::get_if<ColdLook>(&at->second.purpose)) {
        if (items.size() != cold->places.size()) return fail(now, at);
        const LoadId load = cold->load;
        if (Load* found = find_load(load)) found->looked_cold(cold->places, items);
        end(at);
        return pump_load(now, load);
    }
    if (const auto* recovering = std::get_if<Recovering>(&at->second.purpose)) {
        if (items.size() != recovering->keys.size()) return fail(now, at);
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].bytes > 0) intake_.found(at->second.to, {recovering->keys[i], items[i].stamp, items[i].bytes});
        end(at);
        return pump_intake(now);
    }
    const auto* look = std::get_if<LoadLook>(&at->second.purpose);
    if (look == nullptr || items.size() != look->asks.places.size()) return fail(now, at);
    const LoadId load = look->load;
    if (Load* found = find_load(load)) found->looked(look->asks, items);
    end(at);
    pump_load(now, load);
}

void Exchange::handle_segment(TimePoint now, AskId id, SealedSegment segment) {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return;
    Ask& ask = at->second;
    set_deadline(at, now + config_.fetch_patience);
    if (auto* fetch = std::get_if<LoadFetch>(&ask.purpose)) {
        const LoadId load = fetch->load;
        if (Load* found = find_load(load)) found->arrived(ask.to, fetch->asks.places[ask.arrived], std::move(segment));
        if (++ask.arrived == fetch->asks.places.size()) end(at);
        pump_load(now, load);
    } else if (std::holds_alternative<ValueFetch>(ask.purpose)) {
        if (segment == nullptr) return fail(now, at);
        const LoadId load = std::get<ValueFetch>(ask.purpose).load;
        end(at);
        outputs_.push_back(Give{load, 0, std::move(segment)});
        outputs_.push_back(LoadOver{load, 1});
    } else if (auto* taken = std::get_if<IntakeFetch>(&ask.purpose)) {
        handle_progress(now, ask.to);
        const Item item = taken->items[ask.arrived];
        const bool is_here = segment != nullptr;
        if (is_here) outputs_.push_back(Store{item, std::move(segment)});
        if (!is_here || config_.mutant == Mutant::early_publish)
            intake_.settle(item, is_here ? OfferOutcome::held : OfferOutcome::failed);
        if (++ask.arrived == taken->items.size()) {
            intake_.fetch_ended(ask.to);
            end(at);
        }
        pump_intake(now);
    } else {
        fail(now, at);
    }
}

// Fetches from one peer take turns on its line.
void Exchange::handle_progress(TimePoint now, PeerId from) {
    for (auto at = asks_.begin(); at != asks_.end(); ++at)
        if (at->second.to == from && std::holds_alternative<IntakeFetch>(at->second.purpose))
            set_deadline(at, now + config_.fetch_patience);
}

void Exchange::handle_outcomes(TimePoint now, AskId id, std::span<const OfferOutcome> outcomes) {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return;
    const auto* offering = std::get_if<Offering>(&at->second.purpose);
    if (offering == nullptr || outcomes.size() != offering->items) return fail(now, at);
    const PeerId from = at->second.to;
    end(at);
    take_outcomes(now, from, outcomes);
    pump_spread(now);
}

void Exchange::take_outcomes(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes) {
    for (const Item& item : spread_.answered(now, from, outcomes)) {
        outputs_.push_back(Kept{from, item});
        const bool is_value = item.stamp != 0 && placement_->owns(from, item.key);
        if (is_value && !placement_->owns(self_, item.key) && !spread_.waits(item)) outputs_.push_back(Spare{item});
    }
}

void Exchange::handle_failed(TimePoint now, AskId id) {
    const auto at = asks_.find(id);
    if (at != asks_.end()) fail(now, at);
}

void Exchange::handle_stored(TimePoint now, const Item& item, OfferOutcome outcome) {
    intake_.settle(item, outcome);
    // Whoever offered it may be gone before the other owners have it, and a pass of repair may have gone by already.
    if (outcome == OfferOutcome::held) {
        recovery_.handle_stored(item.key);
        add(now, item);
    }
    pump_intake(now);
}

void Exchange::handle_timeout(TimePoint now) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const auto at = asks_.find(deadlines_.begin()->second);
        if (std::holds_alternative<Finding>(at->second.purpose)) avoided_[at->second.to] = now + config_.avoidance;
        outputs_.push_back(Drop{at->first});
        fail(now, at);
    }
    repair_.handle_timeout(now, holdings_, spread_);
    pump_spread(now);
    pump_recovery(now);
}

TimePoint Exchange::next_timeout() const {
    TimePoint next = std::min({repair_.next_timeout(), spread_.next_timeout(), recovery_.next_timeout()});
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
    return next;
}

std::optional<Exchange::Output> Exchange::poll_output() {
    if (outputs_.empty()) return std::nullopt;
    Output output = std::move(outputs_.front());
    outputs_.pop_front();
    return output;
}

void Exchange::ask(TimePoint now, PeerId to, Question question, decltype(Ask::purpose) purpose, Duration patience) {
    outputs_.push_back(Send{begin(now, to, std::move(purpose), patience), to, std::move(question)});
}

AskId Exchange::begin(TimePoint now, PeerId to, decltype(Ask::purpose) purpose, Duration patience) {
    const AskId id{++last_ask_};
    const auto at = asks_.emplace(id, Ask{to, std::move(purpose), 0, now + patience}).first;
    deadlines_.emplace(at->second.deadline, id);
    return id;
}

void Exchange::set_deadline(Asks::iterator ask, TimePoint deadline) {
    deadlines_.erase({ask->second.deadline, ask->first});
    ask->second.deadline = deadline;
    deadlines_.emplace(deadline, ask->first);
}

Exchange::Asks::iterator Exchange::end(Asks::iterator ask) {
    deadlines_.erase({ask->second.deadline, ask->first});
    return asks_.erase(ask);
}

// Whatever was to come of it does not.
void Exchange::fail(TimePoint now, Asks::iterator at) {
    const Ask ask = std::move(at->second);
    deadlines_.erase({ask.deadline, at->first});
    asks_.erase(at);
    std::visit(Overloaded{[&](const LoadLook& look) {
                              if (Load* load = find_load(look.load)) load->look_failed();
                              pump_load(now, look.load);
                          },
                          [&](const LoadFetch& fetch) {
                              if (Load* load = find_load(fetch.load))
                                  for (std::size_t i = ask.arrived; i < fetch.asks.places.size(); ++i)
                                      load->arrived(ask.to, fetch.asks.places[i], nullptr);
                              pump_load(now, fetch.load);
                          },
                          [&](const ValueFetch& fetch) { fetch_next(now, fetch); },
                          [&](const Finding& finding) {
                              finds_.at(finding.find).failed(finding.asks);
                              end_find(finding.find);
                          },
                          [&](const ColdLook& look) {
                              if (Load* load = find_load(look.load)) load->cold_look_failed();
                              pump_load(now, look.load);
                          },
                          [](const Recovering&) {},
                          [&](const IntakeFetch& fetch) {
                              for (std::size_t i = ask.arrived; i < fetch.items.size(); ++i)
                                  intake_.settle(fetch.items[i], OfferOutcome::failed);
                              intake_.fetch_ended(ask.to);
                              pump_intake(now);
                          },
                          [&](const Offering&) {
                              spread_.failed(now, ask.to);
                              pump_spread(now);
                          }},
               ask.purpose);
}

Load* Exchange::find_load(LoadId id) {
    const auto at = loads_.find(id);
    return at != loads_.end() ? &at->second.load : nullptr;
}

void Exchange::begin_fetch(TimePoint now, LoadId id, Load& load, Load::Asks asks) {
    std::vector<SegmentKey> keys;
    for (const std::uint32_t place : asks.places) keys.push_back(load.key(place));
    const PeerId from = asks.to;
    const AskId ask = begin(now, from, LoadFetch{id, std::move(asks)}, config_.fetch_patience);
    if (from == self_) {
        outputs_.push_back(ReadCold{ask, std::move(keys)});
        return;
    }
    Question question{QuestionKind::fetch, {}};
    for (const SegmentKey& key : keys) question.items.push_back({key});
    outputs_.push_back(Send{ask, from, std::move(question)});
}

void Exchange::pump_load(TimePoint now, LoadId id) {
    Load* load = find_load(id);
    if (load == nullptr) return;
    while (auto given = load->next_given())
        outputs_.push_back(Give{id, given->place, std::move(given->segment), given->is_cold});
    while (auto asks = load->next_fetch()) begin_fetch(now, id, *load, std::move(*asks));
    if (auto places = load->next_cold_look()) {
        LookCold look;
        for (const std::uint32_t place : *places) look.keys.push_back(load->key(place));
        look.terms = loads_.at(id).terms;
        look.id = begin(now, self_, ColdLook{id, std::move(*places)}, config_.cold_look_patience);
        outputs_.push_back(std::move(look));
    }
    if (!load->is_over()) return;
    const std::uint32_t given = load->given();
    // What is still asked for lies behind the end of the prefix.
    cancel(now, id);
    outputs_.push_back(LoadOver{id, given});
}

void Exchange::fetch_next(TimePoint now, ValueFetch fetch) {
    if (fetch.holders.empty()) {
        outputs_.push_back(LoadOver{fetch.load, 0});
        return;
    }
    const PeerId to = fetch.holders.back();
    fetch.holders.pop_back();
    Question question{QuestionKind::fetch, {{fetch.item.key, fetch.item.stamp}}};
    ask(now, to, std::move(question), std::move(fetch), config_.fetch_patience);
}

void Exchange::end_find(FindId id) {
    const auto at = finds_.find(id);
    if (!at->second.is_over()) return;
    outputs_.push_back(Found{id, at->second.verdicts()});
    finds_.erase(at);
}

void Exchange::pump_intake(TimePoint now) {
    while (auto fetch = intake_.next_fetch()) {
        Question question{QuestionKind::fetch, fetch->items};
        for (Item& item : question.items) item.bytes = 0;
        ask(now, fetch->from, std::move(question), IntakeFetch{std::move(fetch->items)}, config_.fetch_patience);
    }
    while (auto answer = intake_.next_answer()) outputs_.push_back(Answer{answer->id, std::move(answer->outcomes)});
}

void Exchange::pump_spread(TimePoint now) {
    const SpreadCounters& counters = spread_.counters();
    if (std::exchange(given_up_, counters.dropped) != counters.dropped) repair_.remind(now + config_.reminder);
    if (std::exchange(refused_, counters.refused) != counters.refused) repair_.remind(now + config_.refused_reminder);
    while (auto offer = spread_.next(now, *placement_)) {
        const std::size_t items = offer->question.items.size();
        if (config_.mutant == Mutant::lost_repair && repair_.progress().is_running) {
            take_outcomes(now, offer->to, std::vector(items, OfferOutcome::held));
            continue;
        }
        ask(now, offer->to, std::move(offer->question), Offering{items}, config_.offer_patience);
    }
}

void Exchange::pump_recovery(TimePoint now) {
    for (Recovery::Asks& asks : recovery_.handle_timeout(now, holdings_, *placement_)) {
        Question question{QuestionKind::look, {}};
        for (const SegmentKey& key : asks.keys) question.items.push_back({key});
        ask(now, asks.to, std::move(question), Recovering{std::move(asks.keys)}, config_.fetch_patience);
    }
}

}  // namespace exa::kv
