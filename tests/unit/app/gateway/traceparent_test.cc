#include "app/gateway/traceparent.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa;
using namespace exa::app;
using namespace exa::app::gateway;

namespace {

const std::string valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

}  // namespace

BOOST_AUTO_TEST_SUITE(traceparent)

BOOST_AUTO_TEST_CASE(valid_one_names_its_trace) {
    BOOST_TEST(trace_id(valid) == "4bf92f3577b34da6a3ce929d0e0e4736");
    BOOST_TEST(trace_id("cc" + valid.substr(2) + "-what-the-future-will-be-like").has_value());
    BOOST_TEST(trace_id("cc" + valid.substr(2)).has_value());
}

BOOST_AUTO_TEST_CASE(anything_else_is_none) {
    for (std::size_t size = 0; size < valid.size(); ++size) BOOST_TEST(!trace_id(valid.substr(0, size)), size);
    for (std::size_t at = 0; at < valid.size(); ++at) {
        std::string changed = valid;
        changed[at] = 'G';
        BOOST_TEST(!trace_id(changed), at);
    }
    for (const std::string& text : {valid + "-", valid + "0", "ff" + valid.substr(2), "cc" + valid.substr(2) + ".x",
                                    std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
                                    std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
                                    std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")})
        BOOST_TEST(!trace_id(text), text);
}

BOOST_AUTO_TEST_CASE(two_parents_are_none) {
    io::http::HttpHeaders headers{{"traceparent", valid}, {"Traceparent", valid}};
    BOOST_TEST(!trace_id(headers).has_value());
    BOOST_TEST(trace_fields(headers).empty());
}

BOOST_AUTO_TEST_CASE(state_goes_with_its_parent_only) {
    BOOST_TEST(trace_fields({{"tracestate", "a=b"}}).empty());
    BOOST_TEST(trace_fields({{"traceparent", "00-x"}, {"tracestate", "a=b"}}).empty());
    const auto fields = trace_fields({{"TraceParent", valid}, {"tracestate", "a=b"}, {"TraceState", "c=d"}});
    BOOST_TEST_REQUIRE(fields.size() == 2U);
    BOOST_TEST(fields[0] == (wire::HeaderField{"traceparent", valid}));
    BOOST_TEST(fields[1] == (wire::HeaderField{"tracestate", "a=b,c=d"}));
    BOOST_TEST(trace_fields({{"traceparent", valid}, {"tracestate", std::string(513, 'a')}}).size() == 1U);
    BOOST_TEST(trace_fields({{"traceparent", valid}, {"tracestate", "a=\x80"}}).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
