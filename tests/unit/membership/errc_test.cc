#include "membership/errc.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(errc)

BOOST_AUTO_TEST_CASE(every_code_has_its_own_message) {
    std::set<std::string> messages;
    const int last = static_cast<int>(exa::membership::errc::not_the_sender);
    for (int code = 1; code <= last; ++code)
        messages.insert(make_error_code(static_cast<exa::membership::errc>(code)).message());
    BOOST_TEST(messages.size() == static_cast<std::size_t>(last));
    BOOST_TEST(!messages.contains(make_error_code(static_cast<exa::membership::errc>(last + 1)).message()));
}

BOOST_AUTO_TEST_SUITE_END()
