#include "io/cold/cold_store.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "io/clock/system_clock.h"
#include "store_support.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::clock;
using namespace exa::io::cold;
using namespace exa::io::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// A file system in memory that fails and hangs as it is told.
class FakeFiles final : public ColdFiles {
  public:
    ColdResult check() override { return {}; }
    ColdResult size(const kv::SegmentKey& key, std::uint64_t& bytes) override {
        return call([&] {
            const auto found = segments_.find(key);
            if (found == segments_.end()) return ColdResult{ColdOutcome::missing};
            bytes = found->second->size();
            return ColdResult{};
        });
    }
    ColdResult read(const kv::SegmentKey& key, std::shared_ptr<kv::SegmentBuffer>& segment) override {
        return call([&] {
            ++reads_;
            const auto found = segments_.find(key);
            if (found == segments_.end()) return ColdResult{ColdOutcome::missing};
            segment = std::make_shared<kv::SegmentBuffer>(found->second->size());
            std::ranges::copy(found->second->view(), segment->bytes().begin());
            return ColdResult{};
        });
    }
    ColdResult publish(const kv::SegmentKey& key, ByteView sealed, bool) override {
        return call([&] {
            if (full_) return ColdResult{ColdOutcome::full, ENOSPC};
            auto segment = std::make_shared<kv::SegmentBuffer>(sealed.size());
            std::ranges::copy(sealed, segment->bytes().begin());
            return ColdResult{segments_.emplace(key, segment).second ? ColdOutcome::ok : ColdOutcome::present};
        });
    }
    ColdResult remove(const kv::SegmentKey& key) override {
        return call([&] { return ColdResult{segments_.erase(key) > 0 ? ColdOutcome::ok : ColdOutcome::missing}; });
    }
    ColdResult remove(std::uint32_t, const std::string& name) override {
        return call([&] {
            segments_.erase(*kv::parse_segment_key(name));
            return ColdResult{};
        });
    }
    ColdResult list(std::uint32_t folder, std::vector<kv::ColdFile>& files) override {
        return call([&] {
            ++lists_;
            for (const auto& [key, segment] : segments_)
                if (kv::cold_folder(key) == folder) files.push_back({kv::to_string(key), key, segment->size(), 0});
            return ColdResult{};
        });
    }

    void keep(const kv::SegmentKey& key, kv::SealedSegment segment) {
        const std::lock_guard lock(mutex_);
        segments_[key] = std::move(segment);
    }
    bool has(std::uint64_t n) {
        const std::lock_guard lock(mutex_);
        return segments_.contains(key_of(n));
    }
    void fail(int code) {
        set([&] { code_ = code; });
    }
    void fill(bool full) {
        set([&] { full_ = full; });
    }
    void hang(bool hangs) {
        set([&] { hangs_ = hangs; });
    }
    void wait_until_it_hangs(std::size_t calls = 1) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return hanging_ >= calls; });
    }
    std::size_t reads() {
        const std::lock_guard lock(mutex_);
        return reads_;
    }
    std::size_t lists() {
        const std::lock_guard lock(mutex_);
        return lists_;
    }

  private:
    template <class Work>
    ColdResult call(Work work) {
        std::unique_lock lock(mutex_);
        ++hanging_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !hangs_; });
        --hanging_;
        return code_ != 0 ? ColdResult{ColdOutcome::failed, code_} : work();
    }
    template <class Work>
    void set(Work work) {
        const std::lock_guard lock(mutex_);
        work();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<kv::SegmentKey, kv::SealedSegment> segments_;
    int code_ = 0;
    bool full_ = false;
    bool hangs_ = false;
    std::size_t hanging_ = 0;
    std::size_t reads_ = 0;
    std::size_t lists_ = 0;
};

class FakeAging final : public AgingSegments {
  public:
    explicit FakeAging(std::uint64_t count) {
        for (std::uint64_t n = 0; n < count; ++n) waiting_.push_back(n);
    }
    std::vector<kv::SegmentKey> next_to_go(std::size_t count) override {
        const std::lock_guard lock(mutex_);
        std::vector<kv::SegmentKey> keys;
        for (std::size_t i = 0; i < std::min(count, waiting_.size()); ++i) keys.push_back(key_of(waiting_[i]));
        return keys;
    }
    kv::SealedSegment peek(const kv::SegmentKey& key) override {
        const std::lock_guard lock(mutex_);
        for (const std::uint64_t n : waiting_)
            if (key_of(n) == key) return n == gone ? nullptr : segment(n, 1000);
        return nullptr;
    }
    void mark_persisted(const kv::SegmentKey& key) override {
        const std::lock_guard lock(mutex_);
        std::erase_if(waiting_, [&](std::uint64_t n) { return key_of(n) == key; });
        changed_.notify_all();
    }
    void wait_until_settled() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.empty(); });
    }
    std::size_t waiting() {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }
    std::uint64_t gone = ~0ull;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::uint64_t> waiting_;
};

ColdClock system_clock() {
    return {[] { return SystemClock().now(); }, [] { return SystemClock().wall(); }};
}

ColdConfig quick() {
    ColdConfig config;
    config.stall = milliseconds{50};
    config.full_wait = milliseconds{5};
    config.write_pause = milliseconds{1};
    config.stop_timeout = milliseconds{50};
    config.breaker = {.failures = 2, .open = milliseconds{5}, .open_max = milliseconds{5}};
    return config;
}

struct Fixture {
    explicit Fixture(const ColdConfig& config = quick()) {
        auto owned = std::make_unique<FakeFiles>();
        files = owned.get();
        store = std::make_unique<ColdStore>(config, PeerId{1}, std::move(owned), sealer, system_clock(), no_log);
    }
    ~Fixture() {
        if (store) files->hang(false);
    }

    void keep(std::uint64_t n) { files->keep(key_of(n), segment(n, 1000)); }
    std::future<kv::SealedSegment> begin_read(std::uint64_t n) {
        const auto promise = std::make_shared<std::promise<kv::SealedSegment>>();
        store->read(key_of(n), [promise](kv::SealedSegment found) { promise->set_value(std::move(found)); });
        return promise->get_future();
    }
    bool reads(std::uint64_t n) {
        const kv::SealedSegment found = begin_read(n).get();
        if (found) BOOST_TEST(equal(found, segment(n, 1000)));
        return found != nullptr;
    }
    std::vector<std::uint32_t> look(std::initializer_list<std::uint64_t> numbers, const kv::FetchTerms& terms = {}) {
        std::vector<kv::SegmentKey> keys;
        for (const std::uint64_t n : numbers) keys.push_back(key_of(n));
        std::promise<std::vector<std::uint32_t>> promise;
        store->look(keys, terms, [&](std::vector<std::uint32_t> sizes) { promise.set_value(std::move(sizes)); });
        return promise.get_future().get();
    }
    // Trying again and again, as others do.
    void wait_until_it_answers() {
        while (store->stats().is_closed_off) reads(999);
    }

    FakeFiles* files = nullptr;
    std::unique_ptr<ColdStore> store;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cold_store)

BOOST_AUTO_TEST_CASE(what_ages_is_written_and_settled_and_can_be_read) {
    Fixture f;
    FakeAging aging(30);
    aging.gone = 7;
    f.keep(3);
    f.store->begin_writing(aging);
    aging.wait_until_settled();
    for (std::uint64_t n = 0; n < 30; ++n) BOOST_TEST(f.reads(n) == (n != 7));
    f.store->stop();
    const ColdStats stats = f.store->stats();
    BOOST_TEST(stats.written == 28U);
    BOOST_TEST(stats.written_bytes == 28U * segment(1, 1000)->size());
    BOOST_TEST(stats.present == 1U);
    BOOST_TEST(stats.reads == 29U);
    BOOST_TEST(stats.missing == 1U);
    BOOST_TEST(stats.bytes_per_s > 0U);
}

BOOST_AUTO_TEST_CASE(a_look_tells_the_run_that_is_there_and_worth_its_while) {
    Fixture f;
    for (const std::uint64_t n : {1u, 2u, 4u}) f.keep(n);
    const auto bytes = static_cast<std::uint32_t>(segment(1, 1000)->size());
    BOOST_TEST(f.look({1, 2, 3, 4}) == (std::vector<std::uint32_t>{bytes, bytes, 0, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(f.reads(1));
    const auto nothing = f.look({1, 2}, {.deadline = time_never, .compute = Duration{}});
    BOOST_TEST(nothing == (std::vector<std::uint32_t>{0, 0}), boost::test_tools::per_element());
    BOOST_TEST(f.store->stats().declined == 2U);
    BOOST_TEST(f.store->stats().found == 4U);
}

BOOST_AUTO_TEST_CASE(several_that_want_one_segment_cost_one_read) {
    Fixture f;
    f.keep(1);
    f.files->hang(true);
    auto first = f.begin_read(1);
    f.files->wait_until_it_hangs();
    auto second = f.begin_read(1);
    f.files->hang(false);
    BOOST_TEST(first.get() != nullptr);
    BOOST_TEST(second.get() != nullptr);
    BOOST_TEST(f.files->reads() == 1U);
}

BOOST_AUTO_TEST_CASE(whatever_does_not_verify_is_a_miss_and_removed) {
    const auto flipped = [](std::size_t at) {
        const kv::SealedSegment good = segment(1, 1000);
        const auto bad = std::make_shared<kv::SegmentBuffer>(good->size());
        std::ranges::copy(good->view(), bad->bytes().begin());
        bad->bytes()[at] ^= 1;
        return bad;
    };
    Fixture f;
    std::vector<kv::SealedSegment> poisoned = {segment(2, 1000), value(1, 7)};
    for (const std::size_t at : {0u, 16u, 24u, 32u, 64u, 104u, 112u, 120u, 128u, 140u, 152u, 191u, 192u, 1191u})
        poisoned.push_back(flipped(at));
    const kv::SegmentSealer foreign(openssl, as_bytes("another root secret"));
    auto others = std::make_shared<kv::SegmentBuffer>(segment(1, 1000)->size());
    foreign.seal(head_of(1), *others);
    poisoned.push_back(others);
    for (const kv::SealedSegment& one : poisoned) {
        f.files->keep(key_of(1), one);
        BOOST_TEST(!f.reads(1));
        while (f.files->has(1)) std::this_thread::yield();
    }
    BOOST_TEST(f.store->stats().corrupt == poisoned.size());
    f.keep(1);
    BOOST_TEST(f.reads(1));
}

BOOST_AUTO_TEST_CASE(a_file_system_that_fails_is_closed_off_and_tried_again) {
    Fixture f;
    f.keep(1);
    for (const int code : {EIO, ESTALE, EACCES}) {
        f.files->fail(code);
        while (!f.store->stats().is_closed_off) BOOST_TEST(!f.reads(1));
        BOOST_TEST(f.store->stats().trouble == std::generic_category().message(code));
        const std::uint64_t refused = f.store->stats().refused;
        while (f.store->stats().refused == refused) BOOST_TEST(!f.reads(1));
        f.files->fail(0);
        f.wait_until_it_answers();
        BOOST_TEST(f.reads(1));
    }
    BOOST_TEST(f.store->stats().errors >= 6U);
}

BOOST_AUTO_TEST_CASE(a_segment_that_could_not_be_written_is_written_later) {
    Fixture f;
    FakeAging aging(5);
    f.files->fill(true);
    f.store->begin_writing(aging);
    while (!f.store->stats().is_full) std::this_thread::yield();
    BOOST_TEST(aging.waiting() == 5U);
    // Reading goes on.
    f.keep(100);
    BOOST_TEST(f.reads(100));
    BOOST_TEST(!f.store->stats().is_closed_off);
    f.files->fill(false);
    aging.wait_until_settled();
    while (f.store->stats().written < 5) std::this_thread::yield();
    BOOST_TEST(!f.store->stats().is_full);
    f.store->stop();
}

BOOST_AUTO_TEST_CASE(a_file_system_that_hangs_holds_up_nobody_and_is_used_again_when_it_answers) {
    Fixture f;
    for (std::uint64_t n = 0; n < 20; ++n) f.keep(n);
    f.files->hang(true);
    std::vector<std::future<kv::SealedSegment>> hanging;
    for (std::uint64_t n = 0; n < 10; ++n) hanging.push_back(f.begin_read(n));
    f.files->wait_until_it_hangs(4);
    while (!f.store->stats().is_closed_off) std::this_thread::yield();
    // At once, and those in the queue with it.
    BOOST_TEST(!f.reads(11));
    BOOST_TEST(f.look({11, 12}).front() == 0U);
    for (auto& one : hanging) BOOST_TEST(one.get() == nullptr);
    f.files->hang(false);
    while (f.store->stats().is_closed_off) std::this_thread::yield();
    for (std::uint64_t n = 0; n < 20; ++n) BOOST_TEST(f.reads(n));
}

BOOST_AUTO_TEST_CASE(a_store_can_be_stopped_while_the_file_system_hangs) {
    FakeAging aging(5);
    {
        Fixture f;
        f.keep(1);
        f.files->hang(true);
        f.store->begin_writing(aging);
        const auto never = f.begin_read(1);
        f.files->wait_until_it_hangs(2);
        f.store->stop();
        f.store->stop();
        BOOST_TEST(aging.waiting() == 5U);
        // What comes back after the end touches nothing.
        f.files->hang(false);
        f.store.reset();
    }
}

BOOST_AUTO_TEST_CASE(what_is_beyond_the_queue_is_refused_at_once) {
    ColdConfig config = quick();
    config.stall = seconds{100};
    config.waiting_max = 3;
    Fixture f(config);
    f.files->hang(true);
    std::vector<std::future<kv::SealedSegment>> waiting;
    for (std::uint64_t n = 0; n < 4; ++n) {
        waiting.push_back(f.begin_read(n));
        f.files->wait_until_it_hangs(n + 1);
    }
    for (std::uint64_t n = 4; n < 7; ++n) waiting.push_back(f.begin_read(n));
    BOOST_TEST(f.begin_read(8).get() == nullptr);
    BOOST_TEST(f.store->stats().refused == 1U);
    f.files->hang(false);
    for (auto& one : waiting) one.get();
}

BOOST_AUTO_TEST_CASE(a_peer_looks_after_its_folders_and_removes_what_is_too_much) {
    ColdConfig config = quick();
    config.capacity_bytes = 100 * segment(0, 1000)->size();
    Fixture f(config);
    for (std::uint64_t n = 0; n < 200; ++n) f.keep(n);
    f.store->set_peers({PeerId{2}});
    f.store->set_peers({PeerId{1}});
    // Round five minutes long: its first folders only.
    while (f.files->lists() < 5) std::this_thread::yield();
    BOOST_TEST(f.store->stats().share_bytes == config.capacity_bytes);
    f.store->set_peers({});
    while (f.store->stats().share_bytes != 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(two_stores_on_one_directory_share_what_either_has_written) {
    const TemporaryDirectory directory;
    ColdStore one(quick(), PeerId{1}, cold_files(directory.path()), sealer, system_clock(), no_log);
    ColdStore two(quick(), PeerId{2}, cold_files(directory.path()), sealer, system_clock(), no_log);
    FakeAging first(20);
    FakeAging second(30);
    one.begin_writing(first);
    two.begin_writing(second);
    first.wait_until_settled();
    second.wait_until_settled();
    for (ColdStore* store : {&one, &two}) {
        for (std::uint64_t n = 0; n < 30; ++n) {
            std::promise<kv::SealedSegment> promise;
            store->read(key_of(n), [&](kv::SealedSegment found) { promise.set_value(std::move(found)); });
            BOOST_TEST(equal(promise.get_future().get(), segment(n, 1000)));
        }
    }
    one.stop();
    two.stop();
    BOOST_TEST(one.stats().written + two.stats().written >= 30U);
    BOOST_TEST(one.stats().written + one.stats().present + two.stats().written + two.stats().present == 50U);
    BOOST_TEST(one.stats().corrupt + two.stats().corrupt == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
