#include "app/kv_start.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "app/shared/errc.h"
#include "io/log/log.h"
#include "scratch.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::config;
using namespace exa::app::kv;
using namespace exa::app::test;

namespace {

struct Fixture : exa::test::Scratch {
    Fixture() {
        config.kv.enabled = true;
        config.kv.capacity_gib = 1;
        config.kv.directory = directory;
    }

    Result<std::shared_ptr<KvService>> start() const { return start_kv(config, PeerId{1}, sealer, clock, *log); }

    const std::string directory = path / "kv";
    const io::clock::SystemClock clock;
    const std::unique_ptr<Log> log = io::log::make_log({LogLevel::error, io::log::LogFormat::text, {}, {}}).value();
    PeerConfig config;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_start)

BOOST_AUTO_TEST_CASE(what_one_life_stored_the_next_one_finds) {
    const Fixture f;
    {
        const auto service = f.start().value();
        auto [head, buffer] = segment_of(1, 5'000);
        service->offer(head, std::move(buffer));
    }
    const auto service = f.start().value();
    BOOST_TEST(service->has(key_of(1)));
    const auto place = service->locate(key_of(1));
    BOOST_TEST(!place.memory);
    BOOST_TEST(place.disk.value().bytes == exa::kv::segment_header_size + 5'000);
    Basket basket;
    service->load(keys_of({1, 2}), basket.sink());
    BOOST_TEST(basket.wait() == std::vector<int>{1}, boost::test_tools::per_element());
    BOOST_TEST(service->stats().disk.value().hits == 1U);
    BOOST_TEST(service->stats().disk.value().capacity_bytes == 1ull << 30);
    BOOST_TEST(service->disk()->scrub(std::nullopt, 10).checked == 1U);
    BOOST_TEST(service->erase(key_of(1)));
    BOOST_TEST(!service->disk()->find(key_of(1)).has_value());
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_used_is_named) {
    Fixture f;
    std::ofstream(f.directory) << "a file";
    const auto refused = f.start();
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().code == app::shared::errc::data_dir);
    BOOST_TEST(refused.error().detail.find("kv.directory: " + f.directory) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_second_process_does_not_share_a_directory) {
    const Fixture f;
    const auto first = f.start();
    BOOST_TEST_REQUIRE(first.has_value());
    BOOST_TEST(f.start().error().code == app::shared::errc::data_dir);
}

BOOST_AUTO_TEST_CASE(without_room_on_disk_there_is_memory_and_off_is_nothing) {
    Fixture f;
    f.config.kv.capacity_gib = 0;
    BOOST_TEST(!f.start().value()->stats().disk.has_value());
    BOOST_TEST(!std::filesystem::exists(f.directory));
    f.config.kv.enabled = false;
    BOOST_TEST(f.start().value() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
