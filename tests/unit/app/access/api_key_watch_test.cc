#include "app/access/api_key_watch.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "app/shared/errc.h"
#include "app/shared/text_file.h"
#include "scratch.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::access;
using namespace exa::app::shared;

namespace {

struct Scratch : exa::test::Scratch {
    void write(const std::string& text) const { BOOST_TEST_REQUIRE(replace_text_file(file, text).has_value()); }
    const std::string file = path / "keys";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(api_key_watch)

BOOST_AUTO_TEST_CASE(a_file_is_read_once_for_every_change) {
    const Scratch scratch;
    scratch.write("[tenants.a]\n");
    ApiKeyWatch watch(scratch.file);
    BOOST_TEST(watch.poll().value().value().tenants.size() == 1U);
    BOOST_TEST(!watch.poll().has_value());
    scratch.write("[tenants.b]\n");
    BOOST_TEST(watch.poll().value().value().tenants.at(0).name == "b");
    BOOST_TEST(!watch.poll().has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_bad_or_gone_is_told_once_and_read_when_it_is_mended) {
    const Scratch scratch;
    ApiKeyWatch watch(scratch.file);
    BOOST_TEST(watch.poll().value().error().code == errc::data_dir);
    BOOST_TEST(!watch.poll().has_value());
    scratch.write("[tenants.a]\nrequests = 1\n");
    const auto bad = watch.poll();
    BOOST_TEST_REQUIRE(bad.has_value());
    BOOST_TEST(bad->error().code == errc::usage);
    BOOST_TEST(bad->error().detail == scratch.file + ": line 2: unknown key 'tenants.a.requests'");
    BOOST_TEST(!watch.poll().has_value());
    scratch.write("[tenants.a]\n");
    BOOST_TEST(watch.poll().value().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
