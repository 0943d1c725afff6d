#include "io/errc.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "base/result.h"

BOOST_AUTO_TEST_SUITE(errc)

BOOST_AUTO_TEST_CASE(every_code_has_its_own_message) {
    std::set<std::string> messages;
    const int last = static_cast<int>(exa::io::errc::store_config);
    for (int code = 1; code <= last; ++code)
        messages.insert(make_error_code(static_cast<exa::io::errc>(code)).message());
    BOOST_TEST(messages.size() == static_cast<std::size_t>(last));
    BOOST_TEST(!messages.contains("unknown io error"));
}

BOOST_AUTO_TEST_CASE(an_error_names_the_thing_before_the_message) {
    const exa::Error error = exa::error(exa::io::errc::port_taken, "http address 127.0.0.1:1");
    BOOST_TEST(error.message() == "http address 127.0.0.1:1: the port is taken by another process");
}

BOOST_AUTO_TEST_SUITE_END()
