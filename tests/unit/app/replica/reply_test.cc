#include "app/replica/reply.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <variant>

#include "io/errc.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(reply)

using namespace exa::app;
using namespace exa::app::replica;
using namespace exa;

namespace {

wire::Data data(std::string bytes) {
    return {0, {}, std::move(bytes)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_known_answer_is_read_without_waiting_and_closed_behind_its_end) {
    const auto known = reply_of({wire::Head{400, "application/json"}, data("{}"), wire::End{}});
    BOOST_TEST(std::get<wire::Head>(known->poll()->value()).status == 400);
    BOOST_TEST(std::get<wire::Data>(known->poll()->value()).bytes == "{}");
    BOOST_TEST(std::get<wire::End>(known->poll()->value()) == wire::End{});
    BOOST_TEST(known->poll()->error().code == io::errc::closed);
    known->cancel();
    BOOST_TEST(known->poll()->error().code == io::errc::cancelled);
}

BOOST_AUTO_TEST_SUITE_END()
