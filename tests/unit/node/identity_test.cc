#include "node/identity.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(node_identity)

using namespace exa;
using namespace exa::node;

BOOST_AUTO_TEST_CASE(a_first_instance_has_the_fresh_id_and_generation_1) {
    const auto next = next_instance(std::nullopt, PeerId{7});
    BOOST_REQUIRE(next.has_value());
    BOOST_TEST(next->identity == (Identity{PeerId{7}, Generation{1}}));
    BOOST_TEST(next->file.starts_with("exaserve-identity 2\n0000000000000007 1 "));
}

BOOST_AUTO_TEST_CASE(every_start_keeps_the_id_and_grows_the_generation) {
    std::string file = next_instance(std::nullopt, PeerId{7})->file;
    for (std::uint64_t generation = 2; generation < 100; ++generation) {
        const auto next = next_instance(file, PeerId{8});
        BOOST_TEST(next->identity == (Identity{PeerId{7}, Generation{generation}}));
        file = next->file;
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_file_starts_nothing) {
    const std::string good = next_instance(std::nullopt, PeerId{7})->file;
    for (std::size_t cut = 0; cut < good.size(); ++cut)
        BOOST_TEST(!next_instance(good.substr(0, cut), PeerId{8}).has_value());
    for (const std::string_view bad :
         {"exaserve-identity 1\n0000000000000007 1\nx", "exaserve-identity 2\n0000000000000007 1\n",
          "exaserve-identity 1\n0000000000000000 1\n", "exaserve-identity 1\n0000000000000007 -1\n"})
        BOOST_TEST(!next_instance(bad, PeerId{8}).has_value());
}

BOOST_AUTO_TEST_CASE(a_flipped_bit_is_never_another_identity) {
    const std::string good = format_identity({PeerId{7}, Generation{21}});
    for (std::size_t byte = 0; byte < good.size(); ++byte)
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string bad = good;
            bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
            BOOST_TEST(!parse_identity(bad).has_value(), bad);
        }
}

BOOST_AUTO_TEST_CASE(a_text_is_read_as_it_was_written) {
    const Identity identity{PeerId{0xfedcba9876543210}, Generation{18'446'744'073'709'551'615U}};
    BOOST_TEST(parse_identity(format_identity(identity)) == identity);
}

BOOST_AUTO_TEST_SUITE_END()
