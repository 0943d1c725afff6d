#include "app/kv/replicator_thread.h"

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

#include "app/kv/reply.h"
#include "io/link/data_sink.h"
#include "io/link/outbound_stream.h"
#include "io/link/pool.h"
#include "kv/messages.h"
#include "node/kv_placement.h"

namespace exa::app::kv {

namespace {

namespace asio = boost::asio;
using node::KvReplicator;
using Exchange = exa::kv::Exchange;

// A quarter of a millisecond a megabyte each: more than a link of 25 Gb/s brings.
constexpr std::size_t verifier_threads = 2;

exa::kv::OfferOutcome outcome_of(io::store::PutOutcome put) {
    switch (put) {
        case io::store::PutOutcome::stored:
        case io::store::PutOutcome::present:
            return exa::kv::OfferOutcome::held;
        case io::store::PutOutcome::refused_full:
        case io::store::PutOutcome::refused_quota:
            return exa::kv::OfferOutcome::refused;
        case io::store::PutOutcome::refused_broken:
            return exa::kv::OfferOutcome::failed;
    }
    return exa::kv::OfferOutcome::failed;
}

// Segments of a fetch, each in its place as soon as it is whole.
class SegmentSink final : public io::link::DataSink {
  public:
    using Take = std::function<void(std::size_t place, exa::kv::SealedSegment)>;

    // `progress` is called for all that comes.
    SegmentSink(std::size_t count, std::function<void()> progress, Take take)
        : reader_(count), progress_(std::move(progress)), take_(std::move(take)) {}

    std::span<std::uint8_t> room() override { return reader_.room(); }
    Result<void> filled(std::size_t count) override {
        progress_();
        auto filled = reader_.filled(count);
        while (auto segment = reader_.next()) take_(place_++, std::move(*segment));
        return filled;
    }
    bool is_whole() const { return reader_.whole(); }

  private:
    exa::kv::SegmentReader reader_;
    const std::function<void()> progress_;
    const Take take_;
    std::size_t place_ = 0;
};

class StoredHoldings final : public exa::kv::Holdings {
  public:
    explicit StoredHoldings(const KvService& service) : service_(service) {}
    std::optional<exa::kv::Item> find(const exa::kv::SegmentKey& key) const override {
        return service_.find_stored(key);
    }
    std::vector<exa::kv::Item> list(const std::optional<exa::kv::SegmentKey>& after, std::size_t limit) const override {
        return service_.list_stored(after, limit);
    }

  private:
    const KvService& service_;
};

}  // namespace

// Everything but `status`, `last_offer` and `has_others` belongs to the thread. Kept alive by what other threads still
// have to post to it.
struct KvReplicatorThread::State final : KvOffers, std::enable_shared_from_this<KvReplicatorThread::State> {
    State(KvReplicatorDeps given, const node::KvReplicatorConfig& config)
        : deps(std::move(given)),
          holdings(deps.service),
          config(config_of(config, deps.service)),
          replicator(deps.identity.peer, holdings, this->config),
          links(context, {}, deps.identity, deps.log, deps.encryption) {}

    static node::KvReplicatorConfig config_of(node::KvReplicatorConfig config, const KvService& service) {
        config.exchange.chain.has_cold = service.cold() != nullptr;
        return config;
    }

    // A question of this peer on its way.
    struct Question {
        std::shared_ptr<io::link::OutboundStream> stream;  // null while it is being opened
        std::shared_ptr<SegmentSink> sink;                 // of a fetch
    };

    TimePoint now() const { return deps.clock.now(); }

    // Thread-safe. Work that is still queued when the thread ends is dropped, and does not keep this state alive.
    template <class Work>
    void post(Work work) {
        asio::post(context, [weak = weak_from_this(), work = std::move(work)]() mutable {
            if (const auto self = weak.lock()) work(*self);
        });
    }
    // Likewise, and carries out what follows from it.
    template <class Event>
    void post_event(Event event) {
        post([event = std::move(event)](State& state) mutable {
            event(state.replicator, state.now());
            state.pump();
        });
    }

    // What the replicator has to say, then its timer.
    void pump() {
        while (auto action = replicator.poll_action())
            std::visit([this](auto&& one) { carry_out(std::forward<decltype(one)>(one)); }, std::move(*action));
        const TimePoint next = replicator.next_timeout();
        if (next != armed_for) {
            armed_for = next;
            timer.expires_at(io::clock::SystemClock::to_steady(next));
            timer.async_wait([this](const boost::system::error_code& cancelled) {
                if (cancelled) return;
                armed_for = time_never;
                replicator.handle_timeout(now());
                pump();
            });
        }
        has_others = replicator.has_others();
        const std::lock_guard lock(status_mutex);
        status = replicator.status();
    }

    // -- questions of this peer ------------------------------------------------------------------------------------

    void carry_out(Exchange::Send send) {
        Question& question = questions[send.id];
        if (send.question.kind == exa::kv::QuestionKind::fetch) question.sink = make_sink(send);
        asio::co_spawn(context, ask(std::move(send)), asio::detached);
    }

    void carry_out(const Exchange::Drop& drop) {
        const auto question = questions.extract(drop.id);
        if (!question.empty() && question.mapped().stream) question.mapped().stream->cancel();
    }

    asio::awaitable<void> ask(Exchange::Send send) {
        const exa::kv::AskId id = send.id;
        const membership::Member* member = deps.view.load()->members->find(send.to);
        if (member == nullptr) co_return fail(id);
        const Endpoint link = member->record->link;
        wire::Open open;
        open.kind = wire::RequestKind::kv;
        open.body = exa::kv::encode(send.question);
        auto opened = co_await links.open(link, send.to, std::move(open));
        // It may have been dropped by the time that there is a link.
        const auto question = questions.find(id);
        if (question == questions.end()) co_return;
        if (!opened) co_return fail(id);
        const std::shared_ptr<io::link::OutboundStream> stream = question->second.stream = std::move(opened).value();
        stream->set_background_priority();
        if (question->second.sink) stream->read_into(question->second.sink);
        stream->on_ready([weak = weak_from_this(), id] {
            if (const auto self = weak.lock()) self->post([id](State& state) { state.read(id); });
        });
        read(id);
    }

    void read(exa::kv::AskId id) {
        for (;;) {
            const auto question = questions.find(id);
            if (question == questions.end()) return;
            const auto frame = question->second.stream->poll();
            if (!frame) return;
            if (!*frame) return fail(id);
            if (const auto* end = std::get_if<wire::End>(&frame->value())) {
                const bool is_whole = !question->second.sink || question->second.sink->is_whole();
                if (end->code != wire::EndCode::ok || !is_whole) return fail(id);
                questions.erase(question);
                replicator.handle_end(now(), id);
                return pump();
            }
            const auto* data = std::get_if<wire::Data>(&frame->value());
            if (data == nullptr || replicator.handle_bytes(now(), id, data->bytes)) continue;
            carry_out(Exchange::Drop{id});
            return pump();
        }
    }

    void fail(exa::kv::AskId id) {
        questions.erase(id);
        replicator.handle_failed(now(), id);
        pump();
    }

    // What has come is verified by other threads while the next comes.
    std::shared_ptr<SegmentSink> make_sink(const Exchange::Send& send) {
        const auto take = [self = weak_from_this(), id = send.id, items = send.question.items](
                              std::size_t place, exa::kv::SealedSegment segment) {
            const auto state = self.lock();
            if (!state) return;
            asio::post(state->verifiers,
                       [state, id, place, item = items[place], segment = std::move(segment)]() mutable {
                           auto received = node::check_received(state->deps.sealer, item, std::move(segment));
                           state->post_received(id, place, std::move(received));
                       });
        };
        const auto progress = [self = weak_from_this(), id = send.id] {
            const auto state = self.lock();
            if (state) state->replicator.handle_progress(state->now(), id);
        };
        return std::make_shared<SegmentSink>(send.question.items.size(), progress, take);
    }

    void post_received(exa::kv::AskId id, std::size_t place, node::ReceivedSegment received) {
        post_event([id, place, received = std::move(received)](KvReplicator& it, TimePoint time) mutable {
            it.handle_segment(time, id, place, std::move(received));
        });
    }

    // -- answers to callers ----------------------------------------------------------------------------------------

    void carry_out(Exchange::Deliver deliver) {
        const auto fetch = fetches.find(deliver.id);
        if (fetch == fetches.end() || fetch->second({deliver.place, std::move(deliver.segment), deliver.is_cold}))
            return;
        fetches.erase(fetch);
        replicator.cancel(now(), deliver.id);
    }

    void carry_out(const Exchange::FetchOver& over) {
        const auto fetch = fetches.extract(over.id);
        if (!fetch.empty()) fetch.mapped()({over.prefix, nullptr});
    }

    void carry_out(Exchange::Found found) {
        const auto find = finds.extract(found.id);
        if (!find.empty()) find.mapped()(std::move(found.verdicts));
    }

    void carry_out(KvReplicator::Answer answer) {
        const auto offer = offers.extract(answer.id);
        if (!offer.empty()) offer.mapped()(std::move(answer.body));
    }

    exa::kv::OfferId begin(PeerId from, exa::kv::Question question, KvOffers::Done done) override {
        const exa::kv::OfferId id{++last_offer};
        post([id, from, question = std::move(question), done = std::move(done)](State& state) mutable {
            state.offers.emplace(id, std::move(done));
            state.replicator.handle_offer(state.now(), id, from, question);
            state.pump();
        });
        return id;
    }

    void forget(exa::kv::OfferId id) override {
        post([id](State& state) {
            if (state.offers.erase(id) > 0) state.replicator.forget_offer(id);
        });
    }

    // -- the store -------------------------------------------------------------------------------------------------

    void carry_out(Exchange::Store store) {
        const auto done = [self = shared_from_this(), item = store.item](exa::kv::OfferOutcome outcome) {
            self->post_event(
                [item, outcome](KvReplicator& it, TimePoint time) { it.handle_stored(time, item, outcome); });
        };
        const bool is_posted = deps.service.post(
            [this, done, segment = std::move(store.segment)] { done(outcome_of(deps.service.take(segment))); });
        if (!is_posted) done(exa::kv::OfferOutcome::later);
    }

    void carry_out(const Exchange::Acked&) {}
    void carry_out(const Exchange::Surplus& surplus) { deps.service.drop_surplus(surplus.item); }

    void carry_out(Exchange::LookupCold look) {
        const auto done = [self = shared_from_this(), id = look.id](std::vector<std::uint32_t> sizes) {
            self->post_event([id, sizes = std::move(sizes)](KvReplicator& it, TimePoint time) {
                it.handle_cold_sizes(time, id, sizes);
            });
        };
        deps.service.cold()->look(std::move(look.keys), look.terms, done);
    }

    void carry_out(const Exchange::ReadCold& read) {
        for (std::size_t place = 0; place < read.keys.size(); ++place) {
            const auto done = [self = shared_from_this(), id = read.id, place](exa::kv::SealedSegment segment) {
                self->post_received(id, place, {std::move(segment)});
            };
            deps.service.cold()->read(read.keys[place], done);
        }
    }

    void carry_out(KvReplicator::ColdPeers cold) { deps.service.cold()->set_peers(std::move(cold.peers)); }

    // -- the thread ------------------------------------------------------------------------------------------------

    void show_view() {
        const auto members = deps.view.load()->members;
        replicator.handle_view(now(), members);
        pump();
        if (members != placed_by) {
            placed_by = members;
            // Not before `status` says what has come of it.
            const std::lock_guard lock(status_mutex);
            placed = replicator.placement().holders();
        }
        view_timer.expires_after(config.view_period);
        view_timer.async_wait([this](const boost::system::error_code& cancelled) {
            if (!cancelled) show_view();
        });
    }

    void end() {
        for (auto& [id, sink] : std::exchange(fetches, {})) sink({0, nullptr});
        finds.clear();
        for (auto& [id, question] : std::exchange(questions, {}))
            if (question.stream) question.stream->cancel();
        links.close();
        timer.cancel();
        view_timer.cancel();
        keeps_running.reset();
        context.stop();
    }

    const KvReplicatorDeps deps;
    const StoredHoldings holdings;
    const node::KvReplicatorConfig config;
    asio::io_context context;
    asio::thread_pool verifiers{verifier_threads};
    KvReplicator replicator;
    io::link::LinkPool links;
    std::map<exa::kv::AskId, Question> questions;
    std::map<exa::kv::FetchId, Sink> fetches;
    std::map<exa::kv::FindId, Found> finds;
    std::map<exa::kv::OfferId, KvOffers::Done> offers;
    std::atomic<std::uint64_t> last_offer = 0;
    std::atomic<bool> has_others = false;
    std::shared_ptr<const membership::View> placed_by;
    TimePoint armed_for = time_never;
    asio::steady_timer timer{context};
    asio::steady_timer view_timer{context};
    asio::executor_work_guard<asio::io_context::executor_type> keeps_running = asio::make_work_guard(context);

    std::atomic<std::uint64_t> handed = 0;  // segments stored that `status` knows nothing of yet
    mutable std::mutex status_mutex;
    node::KvReplicatorStatus status;
    std::vector<exa::kv::Holder> placed;  // as of `status`
    std::jthread thread;
};

KvReplicatorThread::KvReplicatorThread(KvReplicatorDeps deps, const node::KvReplicatorConfig& config)
    : state_(std::make_shared<State>(std::move(deps), config)) {}

KvReplicatorThread::~KvReplicatorThread() {
    stop();
}

void KvReplicatorThread::run() {
    state_->post([](State& state) { state.show_view(); });
    state_->thread = std::jthread([state = state_.get()] { state->context.run(); });
}

void KvReplicatorThread::stop() {
    if (!state_->thread.joinable()) return;
    state_->post([](State& state) { state.end(); });
    state_->thread.join();
    state_->verifiers.join();
}

void KvReplicatorThread::load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool> held,
                              const exa::kv::FetchTerms& terms, Sink sink) {
    state_->post([chain = std::move(chain), held = std::move(held), terms,
                  sink = std::move(sink)](State& state) mutable {
        const exa::kv::FetchId id = state.replicator.fetch_chain(state.now(), std::move(chain), std::move(held), terms);
        state.fetches.emplace(id, std::move(sink));
        state.pump();
    });
}

bool KvReplicatorThread::has_others() const {
    return state_->has_others;
}

void KvReplicatorThread::find(std::vector<exa::kv::KnownValue> values, Found done) {
    state_->post([values = std::move(values), done = std::move(done)](State& state) mutable {
        state.finds.emplace(state.replicator.find(state.now(), values), std::move(done));
        state.pump();
    });
}

void KvReplicatorThread::fetch(const exa::kv::Item& item, std::vector<PeerId> holders, Fetched done) {
    state_->post([item, holders = std::move(holders), done = std::move(done)](State& state) mutable {
        // At most one segment, then the end; whatever comes first is the answer.
        const auto sink = [done = std::move(done)](Arrival arrival) {
            done(std::move(arrival.segment));
            return false;
        };
        state.fetches.emplace(state.replicator.fetch_value(state.now(), item, std::move(holders)), sink);
        state.pump();
    });
}

void KvReplicatorThread::handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment segment) {
    const exa::kv::Item item{head.key, head.stamp, static_cast<std::uint32_t>(segment->size())};
    ++state_->handed;
    state_->post([item](State& state) {
        state.replicator.handle_written(state.now(), item);
        state.pump();
        --state.handed;
    });
}

void KvReplicatorThread::recover(const exa::kv::SegmentKey& key) {
    state_->post_event([key](KvReplicator& it, TimePoint time) { it.handle_lost(time, key); });
}

void KvReplicatorThread::move(PeerId to, std::vector<exa::kv::SegmentKey> keys, Moved done) {
    state_->post([to, keys = std::move(keys), done = std::move(done)](State& state) {
        const auto queued = state.replicator.move(state.now(), to, keys);
        state.pump();
        done(queued);
    });
}

std::shared_ptr<replica::ReplyReader> KvReplicatorThread::answer(const wire::Open& open, PeerId from,
                                                                 const asio::any_io_executor& executor) {
    return answer_kv(open.body, from, state_->deps.service, state_, executor);
}

void KvReplicatorThread::set_keys(std::shared_ptr<const LinkKeys> keys) {
    state_->post([keys = std::move(keys)](State& state) { state.links.set_keys(keys); });
}

node::KvReplicatorStatus KvReplicatorThread::status() const {
    // In this order: what is not counted here, the rest counts.
    const auto view = state_->deps.view.load();
    const exa::kv::Placement due = view ? node::kv_placement(*view->members) : exa::kv::Placement();
    const std::uint64_t handed = state_->handed;
    const std::lock_guard lock(state_->status_mutex);
    node::KvReplicatorStatus status = state_->status;
    status.await(handed);
    // Owners have changed, and the replicator has not heard of it yet.
    if (due.holders() != state_->placed) status.converged = status.handed_over = false;
    return status;
}

}  // namespace exa::app::kv
