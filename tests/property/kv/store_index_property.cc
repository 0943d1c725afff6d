// A store's index under any commands, beside a plain model of what it must hold.
#include "kv/store_index.h"

#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <map>

using namespace exa;
using namespace exa::kv;

namespace {

constexpr std::uint64_t capacity = 64 * segment_block;

struct Step {
    int command;
    std::uint32_t key;
    std::uint64_t tenant;
    std::uint32_t bytes;
    std::int64_t after_us;
};

SegmentKey key(std::uint32_t n) {
    SegmentKey key;
    // Keys that meet in a slot, so that probing and removal are worked.
    key.bytes[0] = static_cast<std::uint8_t>(n % 5);
    key.bytes[31] = static_cast<std::uint8_t>(n);
    return key;
}

StoreLimits limits() {
    StoreLimits limits;
    limits.capacity_bytes = capacity;
    limits.tenant_quota_bytes = capacity / 2;
    limits.ttl_s = 60;
    limits.leases_per_tenant_max = 4;
    return limits;
}

void check_bounds(const StoreIndex& index, const std::map<SegmentKey, StoreEntry>& model) {
    RC_ASSERT(index.physical_bytes() <= capacity);
    RC_ASSERT(index.size() == model.size());
    RC_ASSERT(index.leases() <= 3 * limits().leases_per_tenant_max);
    std::map<std::uint64_t, std::uint64_t> tenants;
    std::uint64_t bytes = 0, sealed = 0;
    for (const auto& [name, entry] : model) {
        RC_ASSERT(index.stands(name, entry.place));
        tenants[entry.tenant] += entry.physical();
        bytes += entry.physical();
        sealed += entry.bytes;
    }
    RC_ASSERT(index.entry_bytes() == bytes);
    RC_ASSERT(index.sealed_bytes() == sealed);
    for (std::uint64_t tenant = 0; tenant < 3; ++tenant) {
        RC_ASSERT(index.tenant_bytes(tenant) == tenants[tenant]);
        RC_ASSERT(tenants[tenant] <= limits().tenant_quota_bytes);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_index_property)

BOOST_AUTO_TEST_CASE(never_over_the_cap_or_a_quota_and_never_unlike_the_model) {
    const auto step = rc::gen::construct<Step>(
        rc::gen::inRange(0, 6), rc::gen::inRange<std::uint32_t>(0, 60), rc::gen::inRange<std::uint64_t>(0, 3),
        rc::gen::inRange<std::uint32_t>(1, 9 * segment_block), rc::gen::inRange<std::int64_t>(0, 4'000'000));
    const bool held = rc::check([&] {
        StoreIndex index(limits());
        std::map<SegmentKey, StoreEntry> model;
        WallTime now{1'800'000'000'000'000};
        std::uint64_t place = 0;
        for (const Step& s : *rc::gen::container<std::vector<Step>>(300, step)) {
            now.unix_us += s.after_us;
            std::vector<StoreEntry> gone;
            StoreEntry entry;
            entry.key = key(s.key);
            entry.tenant = s.tenant;
            entry.place = ++place;
            entry.bytes = s.bytes;
            entry.last_use_s = static_cast<std::uint32_t>(now.unix_seconds());
            if (s.command <= 2) {
                entry.kind = s.key % 2 == 0 ? SegmentKind::segment : SegmentKind::value;
                entry.stamp = s.key % 2 == 0 ? 0 : place;
                const Admission admission = index.admit(now, entry, gone);
                for (const StoreEntry& one : gone) {
                    RC_ASSERT(model.at(one.key).place == one.place);
                    model.erase(one.key);
                }
                if (admission == Admission::admitted) {
                    RC_ASSERT(index.physical_bytes() <= capacity);
                    if (s.after_us % 7 == 0) {
                        index.abort(entry);
                    } else {
                        const auto replaced = index.commit(entry);
                        RC_ASSERT(replaced.has_value() == model.contains(entry.key));
                        model[entry.key] = entry;
                    }
                } else if (admission == Admission::present) {
                    RC_ASSERT(model.contains(entry.key));
                }
            } else if (s.command == 3) {
                const auto used = index.use(now, entry.key);
                if (used) RC_ASSERT(model.at(entry.key).place == used->place);
            } else if (s.command == 4) {
                index.lease(now, entry.key);
            } else {
                RC_ASSERT(index.erase(entry.key).has_value() == (model.erase(entry.key) == 1));
                index.make_room(now, 3, gone);
                for (const StoreEntry& one : gone) model.erase(one.key);
            }
            check_bounds(index, model);
        }
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
