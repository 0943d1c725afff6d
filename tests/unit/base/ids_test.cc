#include "base/ids.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(ids)

BOOST_AUTO_TEST_CASE(replica_id_survives_text_and_back) {
    const exa::ReplicaId id{exa::PeerId{0x0123456789abcdef}, exa::deployment_id("chat"), 11};
    BOOST_TEST(exa::parse_replica_id(to_string(id)) == id);
}

BOOST_AUTO_TEST_CASE(malformed_ids_are_refused) {
    for (const char* text : {"", "0", "0123456789abcde", "0123456789abcdeg", "+123456789abcdef", "0123456789abcdef0"})
        BOOST_TEST(!exa::parse_peer_id(text).has_value(), text);
    BOOST_TEST(!exa::parse_replica_id("0123456789abcdef.0123456789abcdef.").has_value());
    BOOST_TEST(!exa::parse_replica_id("0123456789abcdef.0123456789abcdef.65536").has_value());
    BOOST_TEST(!exa::parse_replica_id("0123456789abcdef:0123456789abcdef.1").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
