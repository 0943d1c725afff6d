#include "app/kv/scrubber.h"

#include <boost/test/unit_test.hpp>

#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

std::unique_ptr<KvService> make_service(std::unique_ptr<io::store::SegmentStore> disk) {
    return std::make_unique<KvService>(KvServiceConfig{}, sealer, std::move(disk), [] { return WallTime{}; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_scrubber)

BOOST_AUTO_TEST_CASE(the_whole_disk_is_read_again_and_again) {
    auto disk = std::make_unique<FakeDisk>();
    disk->keep(sealed(1));
    disk->keep(rotten(2));
    const auto service = make_service(std::move(disk));
    const KvScrubber scrubber(*service, {.bytes_per_second = 1ull << 40, .round = std::chrono::seconds(0)});
    while (service->stats().scrub_rounds < 3) std::this_thread::yield();
    BOOST_TEST(service->stats().scrub_dropped == 1U);
    BOOST_TEST(service->stats().scrubbed >= 4U);
}

BOOST_AUTO_TEST_CASE(it_ends_at_once_in_the_middle_of_a_pause) {
    auto disk = std::make_unique<FakeDisk>();
    disk->keep(sealed(1));
    const auto service = make_service(std::move(disk));
    const KvScrubber scrubber(*service, {.bytes_per_second = 1, .round = std::chrono::hours(1)});
    while (service->stats().scrubbed == 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(a_rate_of_nothing_reads_nothing) {
    auto disk = std::make_unique<FakeDisk>();
    disk->keep(rotten(1));
    const auto service = make_service(std::move(disk));
    {
        const KvScrubber scrubber(*service, {.bytes_per_second = 0});
    }
    BOOST_TEST(service->stats().scrubbed == 0U);
    {
        const KvScrubber scrubber(*make_service(nullptr), {});
    }
}

BOOST_AUTO_TEST_SUITE_END()
