#include "app/resp/key_scan.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "support/print.h"
#include "unit/app/resp/parts.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::resp;
using namespace exa::app::shared;
using namespace exa::app::test;

namespace {

struct Fixture : RespPartsFixture {
    explicit Fixture(io::store::SegmentStore* disk = nullptr)
        : RespPartsFixture(disk), versions(deps, cache, guard, counters), scan(deps, cache, versions) {}

    // Every key by pages of so many; none comes twice.
    std::set<std::string> all(std::uint32_t count, const std::string& pattern = {}, std::uint64_t tag = 3) {
        std::set<std::string> found;
        exa::resp::Operation operation;
        operation.verb = exa::resp::Verb::scan;
        operation.count = count;
        operation.pattern = pattern;
        do {
            const exa::resp::Outcome page = scan.scan(operation, tag);
            for (const std::string& key : page.keys) BOOST_TEST(found.insert(key).second, key);
            operation.cursor = page.cursor;
        } while (operation.cursor != 0);
        return found;
    }

    CallbackGuard guard;
    RespVersionSearch versions;
    RespKeyScan scan;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_key_scan)

BOOST_AUTO_TEST_CASE(every_live_key_of_disk_and_memory_is_listed_once) {
    FakeDisk disk;
    Fixture f(&disk);
    for (int i = 0; i < 20; ++i) disk.keep(f.sealed_parts("disk " + std::to_string(i), {"v"}, 5).front());
    for (const auto& part : f.sealed_parts("large", {"1", "2", "3"}, 5)) disk.keep(part);
    for (int i = 0; i < 5; ++i) f.write("memory " + std::to_string(i), "v");
    f.write("disk 1", "newer");
    f.cache.remove(user_key_of("disk 2"), 3, 5);
    f.write("expired", "v", f.now_us / 1000);
    const auto keys = f.all(4);
    BOOST_TEST(keys.size() == 25u);
    BOOST_TEST(!keys.contains("disk 2"));
    BOOST_TEST(!keys.contains("expired"));
    BOOST_TEST(keys.contains("large"));
    BOOST_TEST(f.all(1000).size() == 25u);
}

BOOST_AUTO_TEST_CASE(a_pattern_and_the_tenant_choose) {
    FakeDisk disk;
    Fixture f(&disk);
    for (const char* key : {"a1", "a2", "b1"}) disk.keep(f.sealed_parts(key, {"v"}, 5).front());
    BOOST_TEST(f.all(1, "a*") == (std::set<std::string>{"a1", "a2"}));
    BOOST_TEST(f.all(10, {}, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_value_and_its_twin_are_in_one_page) {
    FakeDisk disk;
    Fixture f(&disk);
    for (const char* key : {"chunk@kv_bytes", "chunk@metadata"}) disk.keep(f.sealed_parts(key, {"v"}, 5).front());
    exa::resp::Operation operation;
    operation.count = 1;
    for (operation.cursor = 0;;) {
        const exa::resp::Outcome page = f.scan.scan(operation, 3);
        BOOST_TEST((page.keys.empty() || page.keys.size() == 2), page.keys.size());
        operation.cursor = page.cursor;
        if (operation.cursor == 0) break;
    }
    BOOST_TEST(f.all(1).size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_a_disk_memory_is_listed) {
    Fixture f;
    f.write("a", "1");
    BOOST_TEST(f.all(10) == std::set<std::string>{"a"});
}

BOOST_AUTO_TEST_SUITE_END()
