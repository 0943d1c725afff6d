#include "wire/errc.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "base/result.h"

BOOST_AUTO_TEST_SUITE(errc)

BOOST_AUTO_TEST_CASE(every_code_has_its_own_message) {
    std::set<std::string> messages;
    const int last = static_cast<int>(exa::wire::errc::too_big_to_send);
    for (int code = 1; code <= last; ++code)
        messages.insert(make_error_code(static_cast<exa::wire::errc>(code)).message());
    BOOST_TEST(messages.size() == static_cast<std::size_t>(last));
    BOOST_TEST(!messages.contains(make_error_code(static_cast<exa::wire::errc>(last + 1)).message()));
}

BOOST_AUTO_TEST_CASE(an_error_of_wire_names_the_thing_before_the_message) {
    const exa::Error error = exa::error(exa::wire::errc::oversized, "name of 300 bytes, at most 64");
    BOOST_TEST(error.message() == "name of 300 bytes, at most 64: longer than allowed");
    BOOST_TEST(error.code == exa::wire::errc::oversized);
}

BOOST_AUTO_TEST_SUITE_END()
