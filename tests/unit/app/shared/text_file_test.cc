#include "app/shared/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "app/shared/errc.h"
#include "scratch.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::shared;
using exa::test::Scratch;

namespace {

unsigned mode_of(const std::string& path) {
    struct stat status{};
    BOOST_TEST_REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 0777;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_file)

BOOST_AUTO_TEST_CASE(a_new_file_is_the_owners_and_a_replaced_one_keeps_its_mode) {
    const Scratch scratch;
    const std::string path = scratch.path / "file";
    BOOST_TEST(replace_text_file(path, "one").has_value());
    BOOST_TEST(mode_of(path) == 0600U);
    BOOST_TEST(::chmod(path.c_str(), 0644) == 0);
    BOOST_TEST(replace_text_file(path, "two\n").has_value());
    BOOST_TEST(mode_of(path) == 0644U);
    BOOST_TEST(read_text_file(path, 4).value() == "two\n");
    BOOST_TEST(!std::filesystem::exists(path + ".new"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_or_written_is_an_error_that_names_it) {
    const Scratch scratch;
    const std::string path = scratch.path / "file";
    BOOST_TEST(read_text_file(path, 10).error().code == errc::data_dir);
    BOOST_TEST(read_text_file(path, 10).error().detail.find(path) != std::string::npos);
    std::ofstream(path) << "long";
    BOOST_TEST(read_text_file(path, 3).error().code == errc::data_dir);
    BOOST_TEST(replace_text_file(scratch.path / "no" / "file", "x").error().code == errc::data_dir);
}

BOOST_AUTO_TEST_SUITE_END()
