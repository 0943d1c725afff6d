#include "membership/pull_requests.h"

#include <boost/test/unit_test.hpp>

#include "parts.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;

BOOST_AUTO_TEST_SUITE(pull_requests)

BOOST_AUTO_TEST_CASE(requests_leave_together_one_message_a_peer_with_the_version_that_we_hold) {
    Bench bench(3);
    PullRequests pulls;
    pulls.add(bench.step(), PeerId{102}, PeerId{101});
    pulls.add(bench.step(), PeerId{102}, PeerId{200});
    pulls.add(bench.step(), PeerId{103}, PeerId{201});
    BOOST_TEST(pulls.waiting() == 2U);
    const std::vector<SyncOut> out = pulls.take();
    BOOST_TEST_REQUIRE(out.size() == 2U);
    BOOST_TEST(out[0].to == PeerId{102});
    BOOST_TEST(out[0].sync.kind == wire::SyncKind::updates);
    BOOST_TEST(out[0].sync.pulls ==
               (std::vector{wire::Pull{PeerId{101}, Generation{1}, 1}, wire::Pull{PeerId{200}, Generation{}, 0}}));
    BOOST_TEST(out[1].to == PeerId{103});
    BOOST_TEST(pulls.take().empty());
}

BOOST_AUTO_TEST_CASE(a_record_is_asked_for_again_after_the_timeout_or_once_it_came) {
    Bench bench(2);
    PullRequests pulls;
    pulls.add(bench.step(), PeerId{101}, PeerId{200});
    pulls.take();
    pulls.add(bench.step(), PeerId{102}, PeerId{200});
    BOOST_TEST(pulls.take().empty());
    bench.now += bench.config.pull_timeout;
    pulls.add(bench.step(), PeerId{102}, PeerId{200});
    BOOST_TEST(pulls.take().size() == 1U);
    pulls.arrived(PeerId{200});
    pulls.add(bench.step(), PeerId{101}, PeerId{200});
    BOOST_TEST(pulls.take().size() == 1U);
}

BOOST_AUTO_TEST_CASE(neither_an_unknown_sender_nor_ourselves_is_asked) {
    Bench bench(1);
    PullRequests pulls;
    pulls.add(bench.step(), PeerId{300}, PeerId{200});
    pulls.add(bench.step(), me, PeerId{200});
    BOOST_TEST(pulls.asked() == 0U);
    BOOST_TEST(pulls.take().empty());
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_is_bounded) {
    Bench bench(1);
    PullRequests pulls;
    for (std::uint64_t id = 1000; id < 10000; ++id) pulls.add(bench.step(), PeerId{101}, PeerId{id});
    BOOST_TEST(pulls.asked() <= 4096U);
    BOOST_TEST(pulls.take().at(0).sync.pulls.size() == wire::digest_entries_max);
}

BOOST_AUTO_TEST_SUITE_END()
