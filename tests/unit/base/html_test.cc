#include "base/html.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(html)

BOOST_AUTO_TEST_CASE(text_cannot_leave_its_place) {
    BOOST_TEST(exa::html_escaped("a<b>&\"c\"\x01") == "a&lt;b&gt;&amp;&quot;c&quot;");
}

BOOST_AUTO_TEST_SUITE_END()
