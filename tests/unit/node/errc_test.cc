#include "node/errc.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(node_errc)

BOOST_AUTO_TEST_CASE(every_code_says_something_of_its_own) {
    std::set<std::string> texts;
    for (int code = 1; code <= static_cast<int>(exa::node::errc::would_cut_off); ++code)
        texts.insert(make_error_code(static_cast<exa::node::errc>(code)).message());
    BOOST_TEST(texts.size() == 5U);
    BOOST_TEST(!texts.contains("unknown node error"));
}

BOOST_AUTO_TEST_SUITE_END()
