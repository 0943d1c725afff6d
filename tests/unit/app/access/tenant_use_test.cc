#include "app/access/tenant_use.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa::app;
using namespace exa::app::access;

BOOST_AUTO_TEST_SUITE(tenant_use)

BOOST_AUTO_TEST_CASE(use_reads_as_it_was_written_without_those_who_used_nothing) {
    const TenantUse acme{"acme", {20'423, 18'000}};
    const TenantUse beta{"beta.two", {20'424, UINT64_MAX}};
    const std::string text = format_tenant_use({acme, {"idle", {}}, beta});
    BOOST_TEST(parse_tenant_use(text) == (std::vector{acme, beta}));
    BOOST_TEST(parse_tenant_use(format_tenant_use({})) == std::vector<TenantUse>{});
}

BOOST_AUTO_TEST_CASE(what_is_damaged_is_not_read_by_halves) {
    const std::string text = format_tenant_use({{"acme", {20'423, 18'000}}, {"beta", {20'423, 1}}});
    for (std::size_t size = 0; size < text.size(); ++size) {
        const auto use = parse_tenant_use(text.substr(0, size));
        if (size == 0 || text[size - 1] != '\n') BOOST_TEST(!use.has_value(), size);
    }
    for (const char* line :
         {"acme\n", "acme 1\n", "acme 1 x\n", "acme x 1\n", "acme 1 -1\n", " 1 1\n", "acme 1 1 1\n", "\n"})
        BOOST_TEST(!parse_tenant_use("exaserve-tenant-use 1\n" + std::string(line)).has_value(), line);
    BOOST_TEST(!parse_tenant_use("exaserve-tenant-use 2\n").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
