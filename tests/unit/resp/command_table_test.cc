#include "resp/command_table.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa::resp;

BOOST_AUTO_TEST_SUITE(command_table)

BOOST_AUTO_TEST_CASE(every_command_is_found_in_any_case_of_letters) {
    for (const Command& command : commands()) BOOST_TEST(find_command(command.name) == &command);
    BOOST_REQUIRE(find_command("getDel") != nullptr);
    BOOST_TEST((find_command("getDel")->id == CommandId::getdel));
}

BOOST_AUTO_TEST_CASE(what_only_begins_like_a_command_is_none) {
    for (const std::string& name : {std::string(), std::string("GE"), std::string("GETS"), std::string("FLUSHALL"),
                                    "GET" + std::string(1, '\0'), std::string(1'000'000, 'G')})
        BOOST_TEST(find_command(name) == nullptr);
}

BOOST_AUTO_TEST_CASE(values_are_kept_only_where_a_command_sets_one) {
    for (const Command& command : commands()) {
        const std::string name(command.name);
        const bool sets = name == "SET" || name == "SETNX" || name == "SETEX" || name == "PSETEX";
        BOOST_TEST((command.value_at != 0) == sets, name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
