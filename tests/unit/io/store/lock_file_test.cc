#include "io/store/lock_file.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <utility>

#include "io/errc.h"
#include "scratch.h"
#include "support/print.h"

using namespace exa;
using exa::io::store::LockFile;

BOOST_AUTO_TEST_SUITE(lock_file)

BOOST_AUTO_TEST_CASE(only_one_holds_a_directory_at_a_time) {
    const exa::test::Scratch scratch;
    auto first = LockFile::take(scratch.path / "lock");
    BOOST_TEST_REQUIRE(first.has_value());
    BOOST_TEST(LockFile::take(scratch.path / "lock").error().code == io::errc::store_locked);
    {
        const LockFile moved = std::move(first).value();
    }
    BOOST_TEST(LockFile::take(scratch.path / "lock").has_value());
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_cannot_be_locked) {
    const exa::test::Scratch scratch;
    BOOST_TEST(LockFile::take(scratch.path / "none" / "lock").error().code == io::errc::store_unusable);
}

BOOST_AUTO_TEST_SUITE_END()
