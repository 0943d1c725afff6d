#include "app/resp/value_cache.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/app/resp/parts.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::resp;
using namespace exa::app::test;

BOOST_AUTO_TEST_SUITE(resp_value_cache)

BOOST_AUTO_TEST_CASE(a_write_is_later_than_all_that_is_known_of) {
    RespPartsFixture f;
    const auto first = f.write("a", "1");
    f.now_us -= 60'000'000;
    const auto second = f.write("a", "2");
    BOOST_TEST(second.stamp > first.stamp);
    f.cache.observe(second.stamp + 1000);
    const auto third = f.write("b", "3");
    BOOST_TEST(third.stamp > second.stamp + 1000);
    const auto removal = f.cache.remove(user_key_of("b"), 3, third.stamp + 5000);
    BOOST_TEST(removal.stamp > third.stamp + 5000);
    BOOST_TEST(first.keys.at(0) == user_key_of("a"));
}

BOOST_AUTO_TEST_CASE(a_version_older_than_the_one_asked_for_is_no_hit) {
    RespPartsFixture f;
    const auto written = f.write("a", "1");
    BOOST_TEST(text_of(f.cache.find_value(user_key_of("a"), written.stamp).value) == "1");
    BOOST_TEST(!f.cache.find_value(user_key_of("a"), written.stamp + 1).is_here);
    BOOST_TEST(!f.cache.find_version(user_key_of("a"), written.stamp + 1).has_value());
    BOOST_TEST(!f.cache.find_value(user_key_of("b"), 0).is_here);
}

BOOST_AUTO_TEST_CASE(what_has_expired_is_here_without_a_value) {
    RespPartsFixture f;
    f.write("a", "1", f.now_us / 1000 + 10);
    f.now_us += 9'000;
    BOOST_TEST(f.cache.find_value(user_key_of("a"), 0).value.has_value());
    f.now_us += 1'000;
    const auto hit = f.cache.find_value(user_key_of("a"), 0);
    BOOST_TEST(hit.is_here);
    BOOST_TEST(!hit.value.has_value());
    BOOST_TEST(f.cache.find_item(user_key_of("a"))->bytes == 0u);
}

BOOST_AUTO_TEST_CASE(buffers_count_until_the_last_holder_drops_them) {
    RespPartsFixture f(nullptr, nullptr, 1000);
    auto first = f.cache.try_make_buffer(1500);
    BOOST_TEST(first != nullptr);
    BOOST_TEST(f.cache.try_make_buffer(600) == nullptr);
    BOOST_TEST(f.cache.reserve(600) == nullptr);
    BOOST_TEST(f.counters.refused == 2u);
    auto reserved = f.cache.reserve(500);
    BOOST_TEST(reserved != nullptr);
    first.reset();
    BOOST_TEST(f.cache.try_make_buffer(1500) != nullptr);
    reserved.reset();
    BOOST_TEST(f.cache.try_make_buffer(2000) != nullptr);
}

BOOST_AUTO_TEST_CASE(values_that_may_go_make_room_and_those_that_wait_do_not) {
    FakeDisk disk;
    RespPartsFixture f(&disk, nullptr, 100'000);
    const auto waits = f.write("a", std::string(90'000, 'x'));
    const std::uint64_t stamp = f.write("b", std::string(90'000, 'x')).stamp;
    f.cache.handle_stored(user_key_of("b"), stamp, true);
    BOOST_TEST(f.cache.try_make_buffer(100'000) != nullptr);
    BOOST_TEST(!f.cache.find_version(user_key_of("b"), stamp).has_value());
    BOOST_TEST(f.cache.find_version(user_key_of("a"), waits.stamp).has_value());
    BOOST_TEST(f.cache.try_make_buffer(150'000) == nullptr);
}

BOOST_AUTO_TEST_CASE(what_was_read_does_not_replace_what_was_written_meanwhile) {
    FakeDisk disk;
    RespPartsFixture f(&disk);
    const auto written = f.write("a", "new");
    RespVersion read = written;
    read.stamp = written.stamp + 1;
    f.cache.remember(user_key_of("a"), read);
    BOOST_TEST(!f.cache.find_version(user_key_of("a"), written.stamp + 1).has_value());
    f.cache.handle_stored(user_key_of("a"), written.stamp, true);
    f.cache.remember(user_key_of("a"), read);
    BOOST_TEST(f.cache.find_version(user_key_of("a"), written.stamp + 1).has_value());
}

BOOST_AUTO_TEST_CASE(a_later_version_elsewhere_drops_the_one_in_memory) {
    RespPartsFixture f;
    const auto written = f.write("a", "1");
    exa::kv::ValueVerdict verdict;
    verdict.stamp = written.stamp;
    f.cache.apply(user_key_of("a"), verdict);
    BOOST_TEST(f.cache.find_item(user_key_of("a")).has_value());
    verdict.stamp = written.stamp + 100;
    f.cache.apply(user_key_of("a"), verdict);
    BOOST_TEST(!f.cache.find_item(user_key_of("a")).has_value());
    BOOST_TEST(f.write("b", "2").stamp > verdict.stamp);
}

BOOST_AUTO_TEST_CASE(the_later_of_disk_and_memory_is_known) {
    RespPartsFixture f;
    const auto written = f.write("a", "1");
    const exa::kv::SegmentKey key = user_key_of("a");
    const auto older = f.cache.known({{key, written.stamp - 1, 500}, true});
    BOOST_TEST(older.item.stamp == written.stamp);
    const exa::kv::KnownValue later{{key, written.stamp + 1, 500}, true};
    BOOST_TEST(f.cache.known(later) == later);
    BOOST_TEST(!f.cache.find_item(key).has_value());
}

BOOST_AUTO_TEST_CASE(own_keys_are_listed_for_their_tenant_until_owners_have_them) {
    FakeDisk disk;
    FakeKvPeers peers;
    RespPartsFixture f(&disk, &peers);
    const auto written = f.write("a", "1");
    exa::kv::SegmentKey last;
    last.bytes.fill(0xff);
    BOOST_TEST(f.cache.list_own(3, {}, last) == std::vector{user_key_of("a")});
    BOOST_TEST(f.cache.list_own(4, {}, last).empty());
    f.cache.handle_stored(written.keys[0], written.stamp, true);
    BOOST_TEST(f.cache.list_own(3, {}, last).size() == 1u);
    f.cache.handle_acked({written.keys[0], written.stamp, 1});
    BOOST_TEST(f.cache.list_own(3, {}, last).empty());
}

BOOST_AUTO_TEST_SUITE_END()
