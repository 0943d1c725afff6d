#include "app/builtin/kv_restore.h"

#include <atomic>
#include <boost/test/unit_test.hpp>

#include "engine/batch_replica.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"
#include "unit/engine/chain_model.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::builtin;
using namespace exa::app::kv;
using namespace exa::app::test;
using namespace exa::engine;

namespace {

constexpr std::uint32_t vocab = 50;
constexpr std::uint32_t segment = 16;

// A replica, its restore and a clock that stands.
struct Bench {
    explicit Bench(std::shared_ptr<KvService> service) {
        auto owned = std::make_unique<engine::test::ChainModel>(vocab, 1024, 64);
        model = owned.get();
        replica = std::make_unique<BatchReplica>(std::move(owned), BatchConfig{},
                                                 BatchKvConfig{.segment_tokens = segment, .crypto = &crypto});
        restore.emplace(ReplicaId{PeerId{1}, {}, 0}, *replica->kv_port(), std::move(service), [this] {
            ++wakes;
            wakes.notify_all();
        });
    }

    engine::test::Outcome answer(GenerateRequest request) {
        request.kv_scope = KvScope{key_of(99), 5};
        request.kv_session = 7;
        EXA_CHECK(replica->submit({}, {1}, std::move(request)).has_value());
        std::map<RequestId, engine::test::Outcome> outcomes;
        while (!outcomes[{1}].finish) {
            const auto before = wakes.load();
            restore->before_step({});
            if (replica->step({})) {
                engine::test::collect(*replica, outcomes);
                restore->after_step({});
            } else if (!outcomes[{1}].finish) {
                wakes.wait(before);
            }
        }
        return outcomes.at({1});
    }

    engine::test::ChainModel* model = nullptr;
    std::unique_ptr<BatchReplica> replica;
    std::atomic<std::uint64_t> wakes = 0;
    std::optional<KvRestore> restore;
};

std::shared_ptr<KvService> make_service(std::unique_ptr<io::store::SegmentStore> disk) {
    return std::make_shared<KvService>(KvServiceConfig{}, sealer, std::move(disk), [] { return WallTime{}; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_restore)

BOOST_AUTO_TEST_CASE(what_one_replica_computed_another_has_from_the_disk) {
    const GenerateRequest request = engine::test::make_request(400, 20, 1);
    auto owned = std::make_unique<FakeDisk>();
    FakeDisk& disk = *owned;
    auto service = make_service(std::move(owned));
    const auto computed = Bench(service).answer(request);
    BOOST_TEST(service->sessions().of_session(7).size() == 419U / segment);
    BOOST_TEST(computed.cached_tokens == 0U);
    disk.wait_for_puts(419 / segment);
    // Another service, so that nothing is in memory.
    auto other = std::make_unique<FakeDisk>();
    for (const auto& key : exa::kv::segment_chain(crypto, key_of(99), request.prompt, segment)) {
        const auto stored = disk.get({}, key);
        BOOST_TEST_REQUIRE(stored != nullptr);
        const auto head = exa::kv::parse_segment(stored->view()).value();
        BOOST_TEST(head.tenant == 5U);
        BOOST_TEST(head.tokens == segment);
        other->keep(stored);
    }
    Bench restoring(make_service(std::move(other)));
    const auto restored = restoring.answer(request);
    BOOST_TEST(restored.cached_tokens == 384U);
    BOOST_TEST(restored.tokens == computed.tokens, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_value_under_a_segments_key_is_not_taken_for_one) {
    GenerateRequest request = engine::test::make_request(40, 3, 2);
    const auto keys = exa::kv::segment_chain(crypto, key_of(99), request.prompt, segment);
    auto disk = std::make_unique<FakeDisk>();
    exa::kv::SegmentHead head;
    head.key = keys.front();
    head.kind = exa::kv::SegmentKind::value;
    auto buffer = std::make_shared<exa::kv::SegmentBuffer>(exa::kv::segment_header_size + segment * 8);
    std::ranges::fill(buffer->bytes(), std::uint8_t{0});
    sealer.seal(head, *buffer);
    disk->keep(buffer);
    Bench bench(make_service(std::move(disk)));
    const auto outcome = bench.answer(request);
    BOOST_TEST(outcome.cached_tokens == 0U);
    BOOST_TEST(bench.model->imported == 0U);
    BOOST_TEST(outcome.tokens == engine::test::expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_closed_feed_hears_no_more_of_its_loads) {
    auto owned = std::make_unique<FakeDisk>();
    FakeDisk& disk = *owned;
    auto service = make_service(std::move(owned));
    GenerateRequest request = engine::test::make_request(400, 20, 3);
    auto [head, buffer] = segment_of(1);
    head.key = exa::kv::segment_chain(crypto, key_of(99), request.prompt, segment).front();
    sealer.seal(head, *buffer);
    disk.keep(buffer);
    disk.hold_reads(true);
    std::uint64_t wakes = 0;
    {
        Bench bench(service);
        request.kv_scope = KvScope{key_of(99), 5};
        BOOST_TEST_REQUIRE(bench.replica->submit({}, {1}, request).has_value());
        bench.restore->before_step({});
        disk.wait_for_gets(1);
        bench.restore->close();
        wakes = bench.wakes;
        bench.restore->close();
    }
    disk.hold_reads(false);
    service.reset();
    BOOST_TEST(wakes == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
