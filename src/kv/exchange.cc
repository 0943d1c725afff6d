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
      offers_(config.offers),
      intake_(self, holdings, config.intake),
      repair_(self, config.repair),
      recovery_(self, config.recovery) {}

void Exchange::handle_placement(TimePoint now, std::shared_ptr<const Placement> placement) {
    for (const Holder& holder : placement_->holders())
        if (!placement->reachable(holder.id)) offers_.forget(holder.id);
    placement_ = std::move(placement);
    repair_.handle_placement(now, placement_);
}

void Exchange::fetch_chain(TimePoint now, FetchId id, std::vector<SegmentKey> keys, std::vector<bool> held,
                           const FetchTerms& terms) {
    ChainFetchConfig config = config_.chain;
    config.has_cold = config.has_cold && terms.may_be_cold;
    const auto [at, is_new] =
        chains_.try_emplace(id, Chain{ChainFetch(std::move(keys), std::move(held), self_, *placement_, config), terms});
    EXA_CHECK(is_new);
    ChainFetch& chain = at->second.fetch;
    while (auto lookup = chain.next_lookup()) {
        Question question{QuestionKind::lookup, {}};
        for (const std::uint32_t place : lookup->places) question.items.push_back({chain.key(place)});
        const PeerId to = lookup->to;
        ask(now, to, std::move(question), ChainLookup{id, std::move(*lookup)}, config_.lookup_timeout);
    }
    pump_chain(now, id);
}

void Exchange::fetch_value(TimePoint now, FetchId id, const Item& item, std::vector<PeerId> holders) {
    std::ranges::reverse(holders);
    fetch_next(now, {id, item, std::move(holders)});
}

void Exchange::cancel(TimePoint, FetchId id) {
    end_fetch(id);
    std::erase_if(outputs_, [id](const Output& output) {
        const auto* deliver = std::get_if<Deliver>(&output);
        const auto* over = std::get_if<FetchOver>(&output);
        return (deliver != nullptr && deliver->id == id) || (over != nullptr && over->id == id);
    });
}

// Nothing more is asked for it.
void Exchange::end_fetch(FetchId id) {
    chains_.erase(id);
    for (auto at = asks_.begin(); at != asks_.end();) {
        const auto* lookup = std::get_if<ChainLookup>(&at->second.purpose);
        const auto* fetch = std::get_if<ChainPart>(&at->second.purpose);
        const auto* value = std::get_if<ValueFetch>(&at->second.purpose);
        const auto* cold = std::get_if<ColdLookup>(&at->second.purpose);
        if ((lookup == nullptr || lookup->id != id) && (fetch == nullptr || fetch->id != id) &&
            (value == nullptr || value->id != id) && (cold == nullptr || cold->id != id)) {
            ++at;
            continue;
        }
        outputs_.push_back(Drop{at->first});
        at = end(at);
    }
}

void Exchange::find(TimePoint now, FindId id, const std::vector<KnownValue>& values) {
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
    const auto [at, is_new] = finds_.try_emplace(id, values, self_, *placement_, is_avoided);
    EXA_CHECK(is_new);
    while (auto asks = at->second.next_ask()) {
        Question question{QuestionKind::lookup, {}};
        for (const std::uint32_t place : asks->places) question.items.push_back({at->second.key(place)});
        const PeerId to = asks->to;
        ask(now, to, std::move(question), Finding{id, std::move(*asks)}, config_.find_timeout);
    }
    end_find(id);
}

void Exchange::add(TimePoint now, const Item& item) {
    for (const PeerId owner : placement_->owners(item.key))
        if (owner != self_ && placement_->reachable(owner)) offers_.offer(owner, item);
    send_offers(now);
}

bool Exchange::move(TimePoint now, PeerId to, const Item& item) {
    const bool is_queued = offers_.offer(to, item, true);
    send_offers(now);
    return is_queued;
}

void Exchange::handle_offer(TimePoint now, OfferId id, PeerId from, const Question& question) {
    intake_.handle_offer(id, from, question, *placement_);
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
    if (const auto* cold = std::get_if<ColdLookup>(&at->second.purpose)) {
        if (items.size() != cold->places.size()) return fail(now, at);
        const FetchId fetch_id = cold->id;
        if (ChainFetch* found = find_chain(fetch_id)) found->handle_cold_lookup(cold->places, items);
        end(at);
        return pump_chain(now, fetch_id);
    }
    if (const auto* recovering = std::get_if<Recovering>(&at->second.purpose)) {
        if (items.size() != recovering->keys.size()) return fail(now, at);
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].bytes > 0)
                intake_.handle_found(at->second.to, {recovering->keys[i], items[i].stamp, items[i].bytes});
        end(at);
        return pump_intake(now);
    }
    const auto* lookup = std::get_if<ChainLookup>(&at->second.purpose);
    if (lookup == nullptr || items.size() != lookup->asks.places.size()) return fail(now, at);
    const FetchId fetch_id = lookup->id;
    if (ChainFetch* found = find_chain(fetch_id)) found->handle_lookup(lookup->asks, items);
    end(at);
    pump_chain(now, fetch_id);
}

void Exchange::handle_segment(TimePoint now, AskId id, SealedSegment segment) {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return;
    Ask& ask = at->second;
    set_deadline(at, now + config_.fetch_timeout);
    if (auto* fetch = std::get_if<ChainPart>(&ask.purpose)) {
        const FetchId fetch_id = fetch->id;
        if (ChainFetch* found = find_chain(fetch_id))
            found->arrived(ask.to, fetch->asks.places[ask.arrived], std::move(segment));
        if (++ask.arrived == fetch->asks.places.size()) end(at);
        pump_chain(now, fetch_id);
    } else if (std::holds_alternative<ValueFetch>(ask.purpose)) {
        if (segment == nullptr) return fail(now, at);
        const FetchId fetch_id = std::get<ValueFetch>(ask.purpose).id;
        end(at);
        outputs_.push_back(Deliver{fetch_id, 0, std::move(segment)});
        outputs_.push_back(FetchOver{fetch_id, 1});
    } else if (auto* taken = std::get_if<IntakeFetch>(&ask.purpose)) {
        handle_progress(now, ask.to);
        const Item item = taken->items[ask.arrived];
        const bool is_here = segment != nullptr;
        if (is_here) outputs_.push_back(Store{item, std::move(segment)});
        if (!is_here || config_.mutant == Mutant::early_publish)
            intake_.finish(item, is_here ? OfferOutcome::held : OfferOutcome::failed);
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
            set_deadline(at, now + config_.fetch_timeout);
}

void Exchange::handle_outcomes(TimePoint now, AskId id, std::span<const OfferOutcome> outcomes) {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return;
    const auto* offering = std::get_if<Offering>(&at->second.purpose);
    if (offering == nullptr || outcomes.size() != offering->items) return fail(now, at);
    const PeerId from = at->second.to;
    end(at);
    take_outcomes(now, from, outcomes);
    send_offers(now);
}

void Exchange::take_outcomes(TimePoint now, PeerId from, std::span<const OfferOutcome> outcomes) {
    for (const Item& item : offers_.answered(now, from, outcomes)) {
        outputs_.push_back(Acked{from, item});
        const bool is_value = item.stamp != 0 && placement_->owns(from, item.key);
        if (is_value && !placement_->owns(self_, item.key) && !offers_.waits(item)) outputs_.push_back(Surplus{item});
    }
}

void Exchange::handle_failed(TimePoint now, AskId id) {
    const auto at = asks_.find(id);
    if (at != asks_.end()) fail(now, at);
}

void Exchange::handle_stored(TimePoint now, const Item& item, OfferOutcome outcome) {
    intake_.finish(item, outcome);
    // The peer that offered it may crash before the other owners have it, and a repair pass may be over already.
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
    repair_.handle_timeout(now, holdings_, offers_);
    send_offers(now);
    pump_recovery(now);
}

TimePoint Exchange::next_timeout() const {
    TimePoint next = std::min({repair_.next_timeout(), offers_.next_timeout(), recovery_.next_timeout()});
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
    return next;
}

std::optional<Exchange::Output> Exchange::poll_output() {
    if (outputs_.empty()) return std::nullopt;
    Output output = std::move(outputs_.front());
    outputs_.pop_front();
    return output;
}

void Exchange::ask(TimePoint now, PeerId to, Question question, decltype(Ask::purpose) purpose, Duration timeout) {
    outputs_.push_back(Send{begin(now, to, std::move(purpose), timeout), to, std::move(question)});
}

AskId Exchange::begin(TimePoint now, PeerId to, decltype(Ask::purpose) purpose, Duration timeout) {
    const AskId id{++last_ask_};
    const auto at = asks_.emplace(id, Ask{to, std::move(purpose), 0, now + timeout}).first;
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

// Ends a question without an answer.
void Exchange::fail(TimePoint now, Asks::iterator at) {
    const Ask ask = std::move(at->second);
    deadlines_.erase({ask.deadline, at->first});
    asks_.erase(at);
    std::visit(Overloaded{[&](const ChainLookup& lookup) {
                              if (ChainFetch* chain = find_chain(lookup.id)) chain->handle_lookup_failed();
                              pump_chain(now, lookup.id);
                          },
                          [&](const ChainPart& fetch) {
                              if (ChainFetch* chain = find_chain(fetch.id))
                                  for (std::size_t i = ask.arrived; i < fetch.asks.places.size(); ++i)
                                      chain->arrived(ask.to, fetch.asks.places[i], nullptr);
                              pump_chain(now, fetch.id);
                          },
                          [&](const ValueFetch& fetch) { fetch_next(now, fetch); },
                          [&](const Finding& finding) {
                              finds_.at(finding.find).failed(finding.asks);
                              end_find(finding.find);
                          },
                          [&](const ColdLookup& lookup) {
                              if (ChainFetch* chain = find_chain(lookup.id)) chain->handle_cold_lookup_failed();
                              pump_chain(now, lookup.id);
                          },
                          [](const Recovering&) {},
                          [&](const IntakeFetch& fetch) {
                              for (std::size_t i = ask.arrived; i < fetch.items.size(); ++i)
                                  intake_.finish(fetch.items[i], OfferOutcome::failed);
                              intake_.fetch_ended(ask.to);
                              pump_intake(now);
                          },
                          [&](const Offering&) {
                              offers_.failed(now, ask.to);
                              send_offers(now);
                          }},
               ask.purpose);
}

ChainFetch* Exchange::find_chain(FetchId id) {
    const auto at = chains_.find(id);
    return at != chains_.end() ? &at->second.fetch : nullptr;
}

void Exchange::begin_part(TimePoint now, FetchId id, ChainFetch& chain, ChainFetch::Asks asks) {
    std::vector<SegmentKey> keys;
    keys.reserve(asks.places.size());
    for (const std::uint32_t place : asks.places) keys.push_back(chain.key(place));
    const PeerId from = asks.to;
    const AskId ask = begin(now, from, ChainPart{id, std::move(asks)}, config_.fetch_timeout);
    if (from == self_) {
        outputs_.push_back(ReadCold{ask, std::move(keys)});
        return;
    }
    Question question{QuestionKind::fetch, {}};
    for (const SegmentKey& key : keys) question.items.push_back({key});
    outputs_.push_back(Send{ask, from, std::move(question)});
}

void Exchange::pump_chain(TimePoint now, FetchId id) {
    ChainFetch* chain = find_chain(id);
    if (chain == nullptr) return;
    while (auto delivery = chain->next_delivery())
        outputs_.push_back(Deliver{id, delivery->place, std::move(delivery->segment), delivery->is_cold});
    while (auto asks = chain->next_fetch()) begin_part(now, id, *chain, std::move(*asks));
    if (auto places = chain->next_cold_lookup()) {
        LookupCold lookup;
        for (const std::uint32_t place : *places) lookup.keys.push_back(chain->key(place));
        lookup.terms = chains_.at(id).terms;
        lookup.id = begin(now, self_, ColdLookup{id, std::move(*places)}, config_.cold_lookup_timeout);
        outputs_.push_back(std::move(lookup));
    }
    if (!chain->is_over()) return;
    const std::uint32_t prefix = chain->delivered();
    // What is still asked for lies beyond the prefix.
    end_fetch(id);
    outputs_.push_back(FetchOver{id, prefix});
}

void Exchange::fetch_next(TimePoint now, ValueFetch fetch) {
    if (fetch.holders.empty()) {
        outputs_.push_back(FetchOver{fetch.id, 0});
        return;
    }
    const PeerId to = fetch.holders.back();
    fetch.holders.pop_back();
    Question question{QuestionKind::fetch, {{fetch.item.key, fetch.item.stamp}}};
    ask(now, to, std::move(question), std::move(fetch), config_.fetch_timeout);
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
        ask(now, fetch->from, std::move(question), IntakeFetch{std::move(fetch->items)}, config_.fetch_timeout);
    }
    while (auto answer = intake_.next_answer()) outputs_.push_back(Answer{answer->id, std::move(answer->outcomes)});
}

void Exchange::send_offers(TimePoint now) {
    const OfferCounters& counters = offers_.counters();
    if (std::exchange(given_up_, counters.dropped) != counters.dropped)
        repair_.schedule_pass(now + config_.repass_after);
    if (std::exchange(refused_, counters.refused) != counters.refused)
        repair_.schedule_pass(now + config_.repass_after_refusal);
    while (auto offer = offers_.next(now, *placement_)) {
        const std::size_t items = offer->question.items.size();
        if (config_.mutant == Mutant::lost_repair && repair_.progress().is_running) {
            take_outcomes(now, offer->to, std::vector(items, OfferOutcome::held));
            continue;
        }
        ask(now, offer->to, std::move(offer->question), Offering{items}, config_.offer_timeout);
    }
}

void Exchange::pump_recovery(TimePoint now) {
    for (Recovery::Asks& asks : recovery_.handle_timeout(now, holdings_, *placement_)) {
        Question question{QuestionKind::lookup, {}};
        for (const SegmentKey& key : asks.keys) question.items.push_back({key});
        ask(now, asks.to, std::move(question), Recovering{std::move(asks.keys)}, config_.fetch_timeout);
    }
}

}  // namespace exa::kv
