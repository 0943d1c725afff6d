#include "app/kv/mesh.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "app/kv/answers.h"
#include "io/link/link.h"
#include "kv/messages.h"
#include "node/kv_placement.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;
using Exchange = kv::Exchange;

// How often the published view is looked at. A new owner that is known so much later costs nothing.
constexpr std::chrono::milliseconds view_period{200};

// A quarter of a millisecond a megabyte each: more than a link of 25 Gb/s brings.
constexpr std::size_t verifier_threads = 2;

kv::OfferOutcome outcome_of(io::PutOutcome put) {
    switch (put) {
        case io::PutOutcome::stored:
        case io::PutOutcome::present:
            return kv::OfferOutcome::held;
        case io::PutOutcome::refused_full:
        case io::PutOutcome::refused_quota:
            return kv::OfferOutcome::refused;
        case io::PutOutcome::refused_broken:
            return kv::OfferOutcome::failed;
    }
    return kv::OfferOutcome::failed;
}

// While a segment comes in, the exchange is told so often: a fraction of its patience.
constexpr std::chrono::milliseconds progress_period{100};

// Segments of a fetch, each in its place as soon as it is whole.
class SegmentSink final : public io::DataSink {
  public:
    using Take = std::function<void(std::size_t place, kv::SealedSegment)>;

    // `hear` is called for all that comes.
    SegmentSink(std::size_t count, std::function<void()> hear, Take take)
        : reader_(count), hear_(std::move(hear)), take_(std::move(take)) {}

    std::span<std::uint8_t> room() override { return reader_.room(); }
    Result<void> filled(std::size_t count) override {
        hear_();
        auto fine = reader_.filled(count);
        while (auto segment = reader_.next()) take_(place_++, std::move(*segment));
        return fine;
    }
    bool whole() const { return reader_.whole(); }

  private:
    kv::SegmentReader reader_;
    const std::function<void()> hear_;
    const Take take_;
    std::size_t place_ = 0;
};

class StoredHoldings final : public kv::Holdings {
  public:
    explicit StoredHoldings(const KvService& service) : service_(service) {}
    std::optional<kv::Item> find(const kv::SegmentKey& key) const override { return service_.find_stored(key); }
    std::vector<kv::Item> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override {
        return service_.list_stored(after, limit);
    }

  private:
    const KvService& service_;
};

}  // namespace

// Everything but `stats`, `last_id` and `has_others` belongs to the thread. Kept alive by what other threads still have
// to post to it.
struct KvMesh::State : std::enable_shared_from_this<KvMesh::State> {
    State(KvMeshParts given, const kv::ExchangeConfig& config)
        : parts(std::move(given)),
          holdings(parts.service),
          exchange(parts.identity.peer, holdings, config_of(config, parts.service)),
          links(context, {}, parts.identity, parts.log, parts.sealing) {}

    static kv::ExchangeConfig config_of(kv::ExchangeConfig config, const KvService& service) {
        config.load.has_cold = service.cold() != nullptr;
        return config;
    }

    // Segments of a fetch, or of the cold tier, as they come to be verified: handed on in the order of the question.
    struct Reading {
        std::vector<std::optional<kv::SealedSegment>> arrived;
        std::size_t next = 0;
    };
    // An answer to a question of ours as it comes in.
    struct Answering {
        Exchange::Send send;
        std::string body;                   // of a look or an offer
        std::shared_ptr<SegmentSink> sink;  // of a fetch
    };

    TimePoint now() const { return parts.clock.now(); }

    // Thread-safe. An order that the thread does not come to goes away with this state, and does not keep it.
    template <class Order>
    void post(Order order) {
        asio::post(context, [weak = weak_from_this(), order = std::move(order)]() mutable {
            if (const auto self = weak.lock()) order(*self);
        });
    }

    // What the exchange has to say, then its timer.
    void pump() {
        while (auto output = exchange.poll_output())
            std::visit([this](auto&& one) { carry_out(std::forward<decltype(one)>(one)); }, std::move(*output));
        const TimePoint next = exchange.next_timeout();
        if (next != armed_for) {
            armed_for = next;
            timer.expires_at(io::SystemClock::to_steady(next));
            timer.async_wait([this](const boost::system::error_code& cancelled) {
                if (cancelled) return;
                armed_for = time_never;
                exchange.handle_timeout(now());
                pump();
            });
        }
        tell_stats();
    }

    void carry_out(Exchange::Send send) {
        streams.emplace(send.id, nullptr);
        asio::co_spawn(context, ask(std::move(send)), asio::detached);
    }

    void carry_out(const Exchange::Drop& drop) {
        readings.erase(drop.id);
        const auto stream = streams.find(drop.id);
        if (stream == streams.end()) return;
        if (stream->second) stream->second->cancel();
        streams.erase(stream);
    }

    void carry_out(Exchange::Give give) {
        const auto load = loads.find(give.id);
        if (load == loads.end() || load->second({give.place, std::move(give.segment), give.is_cold})) return;
        loads.erase(load);
        exchange.cancel(now(), give.id);
    }

    void carry_out(const Exchange::LoadOver& over) {
        const auto load = loads.extract(over.id);
        if (!load.empty()) load.mapped()({over.given, nullptr});
    }

    void carry_out(Exchange::Store store) {
        const auto tell = [self = shared_from_this(), item = store.item](kv::OfferOutcome outcome) {
            self->post([item, outcome](State& state) {
                state.exchange.handle_stored(state.now(), item, outcome);
                state.pump();
            });
        };
        const bool is_posted = parts.service.post(
            [this, tell, segment = std::move(store.segment)] { tell(outcome_of(parts.service.take(segment))); });
        if (!is_posted) tell(kv::OfferOutcome::later);
    }

    void carry_out(Exchange::Answer answer) {
        const auto offer = offers.extract(answer.id);
        if (!offer.empty()) offer.mapped()(std::move(answer.outcomes));
    }

    void carry_out(const Exchange::Kept&) {}

    void carry_out(const Exchange::Spare& spare) { parts.service.settle(spare.item); }

    void carry_out(Exchange::Found found) {
        const auto find = finds.extract(found.id);
        if (!find.empty()) find.mapped()(std::move(found.verdicts));
    }

    void carry_out(Exchange::LookCold look) {
        const auto tell = [self = shared_from_this(), id = look.id,
                           keys = look.keys](std::vector<std::uint32_t> sizes) {
            std::vector<kv::Item> items;
            for (std::size_t i = 0; i < sizes.size(); ++i) items.push_back({keys[i], 0, sizes[i]});
            self->post([id, items = std::move(items)](State& state) {
                state.exchange.handle_items(state.now(), id, items);
                state.pump();
            });
        };
        parts.service.cold()->look(std::move(look.keys), look.terms, tell);
    }

    void carry_out(const Exchange::ReadCold& read) {
        readings[read.id].arrived.resize(read.keys.size());
        for (std::size_t place = 0; place < read.keys.size(); ++place) {
            const auto tell = [self = shared_from_this(), id = read.id, place](kv::SealedSegment segment) {
                self->post([id, place, segment = std::move(segment)](State& state) mutable {
                    state.take_read(id, place, std::move(segment));
                });
            };
            parts.service.cold()->read(read.keys[place], tell);
        }
    }

    void take_read(kv::AskId id, std::size_t place, kv::SealedSegment segment) {
        auto reading = readings.find(id);
        if (reading == readings.end()) return;
        reading->second.arrived[place] = std::move(segment);
        // What is handed on may end the load, and the reading with it.
        while (reading != readings.end() && reading->second.arrived[reading->second.next]) {
            kv::SealedSegment next = std::move(*reading->second.arrived[reading->second.next]);
            if (++reading->second.next == reading->second.arrived.size()) readings.erase(reading);
            exchange.handle_segment(now(), id, std::move(next));
            pump();
            reading = readings.find(id);
        }
    }

    std::optional<Endpoint> link_of(PeerId peer) const {
        const membership::Member* member = parts.view.load()->members->find(peer);
        return member != nullptr ? std::optional(member->record->link) : std::nullopt;
    }

    asio::awaitable<void> ask(Exchange::Send send) {
        const kv::AskId id = send.id;
        const bool whole = co_await read_answer(std::move(send));
        streams.erase(id);
        if (!whole) {
            readings.erase(id);
            exchange.handle_failed(now(), id);
        }
        pump();
    }

    // False when the answer is not all there.
    asio::awaitable<bool> read_answer(Exchange::Send send) {
        const auto link = link_of(send.to);
        if (!link) co_return false;
        wire::Open open;
        open.kind = wire::RequestKind::kv;
        open.body = kv::encode(send.question);
        auto opened = co_await links.open(*link, send.to, std::move(open));
        if (!opened) co_return false;
        const std::shared_ptr<io::LinkStream> stream = std::move(opened).value();
        // Nobody may need it any more by the time that there is a link.
        const auto place = streams.find(send.id);
        if (place == streams.end()) co_return false;
        place->second = stream;
        stream->give_way();
        Answering answering{std::move(send), {}, nullptr};
        if (answering.send.question.kind == kv::QuestionKind::fetch) {
            answering.sink = make_sink(answering.send);
            stream->read_into(answering.sink);
        }
        for (;;) {
            auto frame = co_await stream->read();
            if (!frame) co_return false;
            if (const auto* end = std::get_if<wire::End>(&frame.value()))
                co_return end->code == wire::EndCode::ok&& take_end(answering);
            if (const auto* data = std::get_if<wire::Data>(&frame.value()))
                if (!take(answering, data->bytes)) co_return false;
        }
    }

    // False for what no honest peer sends.
    bool take(Answering& answering, std::string_view bytes) {
        answering.body += bytes;
        return answering.body.size() <= kv::answer_bytes_max(answering.send.question.items.size());
    }

    // What has come is verified by other threads while the next comes.
    std::shared_ptr<SegmentSink> make_sink(const Exchange::Send& send) {
        readings[send.id].arrived.resize(send.question.items.size());
        const auto take = [self = weak_from_this(), id = send.id, items = send.question.items](
                              std::size_t place, kv::SealedSegment segment) {
            const auto state = self.lock();
            if (!state) return;
            asio::post(state->verifiers,
                       [state, id, place, item = items[place], segment = std::move(segment)]() mutable {
                           auto good = state->verified(item, std::move(segment));
                           state->post([id, place, good = std::move(good)](State& there) mutable {
                               there.take_read(id, place, std::move(good));
                           });
                       });
        };
        const auto hear = [self = weak_from_this(), from = send.to, told = TimePoint{}]() mutable {
            const auto state = self.lock();
            if (!state || state->now() - told < progress_period) return;
            told = state->now();
            state->exchange.handle_progress(told, from);
        };
        return std::make_shared<SegmentSink>(send.question.items.size(), hear, take);
    }

    bool take_end(const Answering& answering) {
        const std::size_t count = answering.send.question.items.size();
        switch (answering.send.question.kind) {
            case kv::QuestionKind::fetch:
                return answering.sink->whole();
            case kv::QuestionKind::look: {
                const auto items = kv::decode_items(answering.body, count);
                if (items) exchange.handle_items(now(), answering.send.id, items.value());
                return items.has_value();
            }
            case kv::QuestionKind::offer:
            case kv::QuestionKind::move: {
                const auto outcomes = kv::decode_outcomes(answering.body, count);
                if (outcomes) exchange.handle_outcomes(now(), answering.send.id, outcomes.value());
                return outcomes.has_value();
            }
        }
        return false;
    }

    // By any thread.
    kv::SealedSegment verified(const kv::Item& asked, kv::SealedSegment segment) {
        if (!segment) return nullptr;
        const auto head = parts.sealer.verify(asked.key, segment->view());
        const std::lock_guard lock(stats_mutex);
        ++stats.fetched;
        stats.fetched_bytes += segment->size();
        if (head && head.value().stamp >= asked.stamp) return segment;
        ++stats.corrupt;
        return nullptr;
    }

    void look_at_view() {
        auto members = parts.view.load()->members;
        if (members != placed_by) {
            placed_by = members;
            const auto placement = std::make_shared<const kv::Placement>(node::kv_placement(*members));
            exchange.handle_placement(now(), placement);
            has_others = std::ranges::any_of(exchange.placement().holders(), [this](const kv::Holder& holder) {
                return holder.in_reach && holder.id != parts.identity.peer;
            });
            tell_cold();
            pump();
            // Not before `stats` says what has come of it.
            const std::lock_guard lock(stats_mutex);
            placed = placement;
        }
        view_timer.expires_after(view_period);
        view_timer.async_wait([this](const boost::system::error_code& cancelled) {
            if (!cancelled) look_at_view();
        });
    }

    // Who looks after the cold tier's directory: whoever keeps KV and is there.
    void tell_cold() {
        if (parts.service.cold() == nullptr) return;
        std::vector<PeerId> peers;
        for (const kv::Holder& holder : exchange.placement().holders())
            if (holder.in_reach) peers.push_back(holder.id);
        if (peers != caring) parts.service.cold()->set_peers(peers);
        caring = std::move(peers);
    }

    void end() {
        for (auto& [id, sink] : std::exchange(loads, {})) sink({0, nullptr});
        finds.clear();
        for (auto& [id, stream] : std::exchange(streams, {}))
            if (stream) stream->cancel();
        links.close();
        timer.cancel();
        view_timer.cancel();
        work.reset();
        context.stop();
    }

    void tell_stats() {
        const std::lock_guard lock(stats_mutex);
        stats.settled = exchange.is_settled();
        const auto& holders = exchange.placement().holders();
        stats.holders = holders.size();
        stats.given_away =
            stats.settled && std::ranges::find(holders, parts.identity.peer, &kv::Holder::id) == holders.end();
        stats.waiting = exchange.waiting();
        stats.spread = exchange.spread();
        stats.repair = exchange.repair();
        stats.recovered = exchange.recovery().recovered();
    }

    const KvMeshParts parts;
    const StoredHoldings holdings;
    asio::io_context context;
    asio::thread_pool verifiers{verifier_threads};
    Exchange exchange;
    io::LinkPool links;
    std::map<kv::AskId, std::shared_ptr<io::LinkStream>> streams;  // null while they are being opened
    std::map<kv::AskId, Reading> readings;
    std::map<kv::LoadId, Sink> loads;
    std::map<kv::FindId, Found> finds;
    std::map<kv::OfferId, OutcomesSink> offers;
    std::atomic<std::uint64_t> last_id = 0;  // of loads, searches and offers
    std::atomic<bool> has_others = false;
    std::shared_ptr<const membership::View> placed_by;
    std::vector<PeerId> caring;  // for the cold tier
    TimePoint armed_for = time_never;
    asio::steady_timer timer{context};
    asio::steady_timer view_timer{context};
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);

    std::atomic<std::uint64_t> handed = 0;  // segments stored that `stats` knows nothing of yet
    mutable std::mutex stats_mutex;
    KvPeersStats stats;
    std::shared_ptr<const kv::Placement> placed = std::make_shared<const kv::Placement>();
    std::jthread thread;
};

KvMesh::KvMesh(KvMeshParts parts, const kv::ExchangeConfig& config)
    : state_(std::make_shared<State>(std::move(parts), config)) {}

KvMesh::~KvMesh() {
    stop();
}

void KvMesh::run() {
    state_->post([](State& state) { state.look_at_view(); });
    state_->thread = std::jthread([state = state_.get()] { state->context.run(); });
}

void KvMesh::stop() {
    if (!state_->thread.joinable()) return;
    state_->post([](State& state) { state.end(); });
    state_->thread.join();
    state_->verifiers.join();
}

void KvMesh::load(std::vector<kv::SegmentKey> chain, std::vector<bool> held, const kv::LoadTerms& terms, Sink sink) {
    state_->post(
        [chain = std::move(chain), held = std::move(held), terms, sink = std::move(sink)](State& state) mutable {
            const kv::LoadId id{++state.last_id};
            state.loads.emplace(id, std::move(sink));
            state.exchange.load(state.now(), id, std::move(chain), std::move(held), terms);
            state.pump();
        });
}

bool KvMesh::has_others() const {
    return state_->has_others;
}

void KvMesh::find(std::vector<kv::KnownValue> values, Found done) {
    state_->post([values = std::move(values), done = std::move(done)](State& state) mutable {
        const kv::FindId id{++state.last_id};
        state.finds.emplace(id, std::move(done));
        state.exchange.find(state.now(), id, std::move(values));
        state.pump();
    });
}

void KvMesh::fetch(const kv::Item& item, std::vector<PeerId> holders, Fetched done) {
    state_->post([item, holders = std::move(holders), done = std::move(done)](State& state) mutable {
        const kv::LoadId id{++state.last_id};
        // At most one segment, then the end; whatever comes first is the answer.
        state.loads.emplace(id, [done = std::move(done)](Arrival arrival) {
            done(std::move(arrival.segment));
            return false;
        });
        state.exchange.fetch(state.now(), id, item, std::move(holders));
        state.pump();
    });
}

void KvMesh::handle_stored(const kv::SegmentHead& head, kv::SealedSegment segment) {
    const kv::Item item{head.key, head.stamp, static_cast<std::uint32_t>(segment->size())};
    ++state_->handed;
    state_->post([item](State& state) {
        state.exchange.add(state.now(), item);
        state.pump();
        --state.handed;
    });
}

void KvMesh::recover(const kv::SegmentKey& key) {
    state_->post([key](State& state) {
        state.exchange.recover(state.now(), key);
        state.pump();
    });
}

void KvMesh::move(PeerId to, std::vector<kv::SegmentKey> keys, Moved done) {
    state_->post([to, keys = std::move(keys), done = std::move(done)](State& state) {
        if (to == state.parts.identity.peer || !state.exchange.placement().in_reach(to)) return done(std::nullopt);
        std::size_t queued = 0;
        for (const kv::SegmentKey& key : keys) {
            const auto item = state.holdings.find(key);
            // Values stay with their owners: another one's disk gives them up as soon as these have them.
            if (item && item->stamp == 0 && state.exchange.move(state.now(), to, *item)) ++queued;
        }
        state.pump();
        done(queued);
    });
}

std::shared_ptr<ReplyReader> KvMesh::answer(const wire::Open& open, PeerId from,
                                            const asio::any_io_executor& executor) {
    auto question = kv::decode_question(open.body);
    if (!question) return reply_of({wire::End{wire::EndCode::failed, question.error().message()}});
    switch (question.value().kind) {
        case kv::QuestionKind::look:
            return answer_look(state_->parts.service, question.value());
        case kv::QuestionKind::fetch:
            return answer_fetch(state_->parts.service, std::move(question).value(), executor);
        case kv::QuestionKind::offer:
        case kv::QuestionKind::move:
            break;
    }
    const kv::Item& latest = std::ranges::max(question.value().items, {}, &kv::Item::stamp);
    if (latest.stamp != 0) state_->parts.service.observe(latest.stamp);
    const kv::OfferId id{++state_->last_id};
    const auto begin = [&](OutcomesSink sink) {
        state_->post([id, from, question = std::move(question).value(), sink = std::move(sink)](State& state) mutable {
            state.offers.emplace(id, std::move(sink));
            state.exchange.handle_offer(state.now(), id, from, question);
            state.pump();
        });
    };
    return answer_offer(executor, begin, [state = state_, id] {
        state->post([id](State& there) {
            if (there.offers.erase(id) > 0) there.exchange.forget_offer(id);
        });
    });
}

void KvMesh::set_keys(std::shared_ptr<const LinkKeys> keys) {
    state_->post([keys = std::move(keys)](State& state) { state.links.set_keys(keys); });
}

KvPeersStats KvMesh::stats() const {
    // In this order: what is not counted here, the rest counts.
    const auto view = state_->parts.view.load();
    const kv::Placement due = view ? node::kv_placement(*view->members) : kv::Placement();
    const std::uint64_t handed = state_->handed;
    const std::lock_guard lock(state_->stats_mutex);
    KvPeersStats stats = state_->stats;
    stats.await(handed);
    // Owners have changed, and the exchange has not heard of it yet.
    if (due.holders() != state_->placed->holders()) stats.settled = stats.given_away = false;
    return stats;
}

}  // namespace exa::app
