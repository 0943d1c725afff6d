#include "engine/page_pool.h"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace exa::engine;

namespace {

std::array<TokenId, page_tokens> page_of(TokenId first) {
    std::array<TokenId, page_tokens> tokens;
    for (TokenId& token : tokens) token = first++;
    return tokens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(page_pool)

BOOST_AUTO_TEST_CASE(every_page_is_handed_out_once) {
    PagePool pool(5);
    std::set<PageId> seen;
    for (int i = 0; i < 5; ++i) seen.insert(*pool.allocate());
    BOOST_TEST(seen.size() == 5U);
    BOOST_TEST(*seen.rbegin() == 4U);
    BOOST_TEST(!pool.allocate().has_value());
    BOOST_TEST(pool.used() == 5U);
    pool.release(3);
    BOOST_TEST(*pool.allocate() == 3U);
}

BOOST_AUTO_TEST_CASE(a_published_page_is_found_by_parent_and_tokens) {
    PagePool pool(4);
    const PageId first = *pool.allocate();
    const PageSerial serial = pool.publish(first, root_serial, page_of(1));
    const auto match = pool.find(root_serial, page_of(1));
    BOOST_TEST_REQUIRE(match.has_value());
    BOOST_TEST(match->page == first);
    BOOST_TEST(match->serial == serial);
    BOOST_TEST(!pool.find(root_serial, page_of(2)).has_value());
    BOOST_TEST(!pool.find(serial, page_of(1)).has_value());
}

BOOST_AUTO_TEST_CASE(a_page_stays_used_until_its_last_reference_goes) {
    PagePool pool(4);
    const PageId page = *pool.allocate();
    pool.publish(page, root_serial, page_of(1));
    BOOST_TEST(pool.find(root_serial, page_of(1)).has_value());
    pool.release(page);
    BOOST_TEST(pool.used() == 1U);
    pool.release(page);
    BOOST_TEST(pool.used() == 0U);
    BOOST_TEST(pool.find(root_serial, page_of(1)).has_value());
    BOOST_TEST(pool.used() == 1U);
}

BOOST_AUTO_TEST_CASE(free_pages_go_first_then_the_longest_unused) {
    PagePool pool(4);
    PageId pages[3];
    for (TokenId i = 0; i < 3; ++i) {
        pages[i] = *pool.allocate();
        pool.publish(pages[i], root_serial, page_of(i));
    }
    pool.release(pages[1]);
    pool.release(pages[2]);
    pool.release(pages[0]);
    BOOST_TEST(pool.available() == 4U);
    BOOST_TEST(*pool.allocate() == 3U);
    BOOST_TEST(*pool.allocate() == pages[1]);
    BOOST_TEST(!pool.find(root_serial, page_of(1)).has_value());
    // Found in between: it is used again and no candidate.
    BOOST_TEST(pool.find(root_serial, page_of(2)).has_value());
    BOOST_TEST(*pool.allocate() == pages[0]);
    BOOST_TEST(!pool.allocate().has_value());
}

BOOST_AUTO_TEST_CASE(an_evicted_parent_orphans_its_children) {
    PagePool pool(2);
    const PageId parent = *pool.allocate();
    const PageSerial serial = pool.publish(parent, root_serial, page_of(1));
    const PageId child = *pool.allocate();
    pool.publish(child, serial, page_of(2));
    pool.release(parent);
    const PageId reused = *pool.allocate();
    BOOST_TEST(reused == parent);
    // Other contents in the parent's page: its serial is new, so the child must not be found behind it.
    const PageSerial other = pool.publish(reused, root_serial, page_of(7));
    BOOST_TEST(other != serial);
    BOOST_TEST(!pool.find(other, page_of(2)).has_value());
}

BOOST_AUTO_TEST_CASE(a_twin_keeps_the_first_serial_and_goes_free_unpublished) {
    PagePool pool(3);
    const PageId first = *pool.allocate();
    const PageId second = *pool.allocate();
    const PageSerial serial = pool.publish(first, root_serial, page_of(1));
    BOOST_TEST(pool.publish(second, root_serial, page_of(1)) == serial);
    BOOST_TEST(pool.find(root_serial, page_of(1))->page == first);
    pool.release(second);
    BOOST_TEST(*pool.allocate() == second);
}

BOOST_AUTO_TEST_SUITE_END()
