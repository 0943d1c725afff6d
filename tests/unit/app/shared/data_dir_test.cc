#include "app/shared/data_dir.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/shared/errc.h"
#include "scratch.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(data_dir)

using exa::Generation;
using exa::PeerId;
using exa::app::shared::DataDir;
using exa::test::Scratch;

BOOST_AUTO_TEST_CASE(identity_stays_and_generation_grows_with_every_boot) {
    const Scratch scratch;
    for (std::uint64_t boot = 1; boot <= 3; ++boot) {
        const auto directory = DataDir::open(scratch.path, PeerId{100 + boot});
        BOOST_REQUIRE(directory.has_value());
        BOOST_TEST(directory.value().peer_id() == PeerId{101});
        BOOST_TEST(directory.value().generation() == Generation{boot});
    }
}

BOOST_AUTO_TEST_CASE(second_opener_is_refused_and_counts_nothing_up) {
    const Scratch scratch;
    {
        const auto first = DataDir::open(scratch.path, PeerId{1});
        BOOST_REQUIRE(first.has_value());
        const auto second = DataDir::open(scratch.path, PeerId{2});
        BOOST_REQUIRE(!second.has_value());
        BOOST_TEST(second.error().code == exa::app::shared::errc::data_dir_locked);
    }
    BOOST_TEST(DataDir::open(scratch.path, PeerId{3}).value().generation() == Generation{2});
}

BOOST_AUTO_TEST_CASE(damaged_identity_is_an_error_and_left_as_it_is) {
    const Scratch scratch;
    {
        BOOST_REQUIRE(DataDir::open(scratch.path, PeerId{1}).has_value());
    }
    for (const std::string damage :
         {"", "exaserve-identity 1\n", "exaserve-identity 1\n0000000000000001 x\n",
          "exaserve-identity 1\n0000000000000000 7\n", "exaserve-identity 1\n000000000000000"}) {
        std::ofstream(scratch.path / "identity", std::ios::trunc) << damage;
        const auto opened = DataDir::open(scratch.path, PeerId{2});
        BOOST_REQUIRE(!opened.has_value());
        BOOST_TEST(opened.error().code == exa::app::shared::errc::data_dir);
        BOOST_TEST(std::filesystem::file_size(scratch.path / "identity") == damage.size());
    }
}

BOOST_AUTO_TEST_SUITE_END()
