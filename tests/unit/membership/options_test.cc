#include "membership/options.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

using namespace exa;
using namespace exa::membership;

BOOST_AUTO_TEST_SUITE(options_of_config)

BOOST_AUTO_TEST_CASE(a_value_on_either_side_of_its_range_is_named_with_the_range) {
    for (const Option& option : options()) {
        const auto refuse = [&](const auto& field, auto value) {
            Config config;
            config.*field.member = value;
            const auto result = validate(config);
            BOOST_REQUIRE_MESSAGE(result.has_error(), option.name);
            BOOST_TEST(result.error().detail.starts_with(std::string(option.name) + " = "), result.error().detail);
            BOOST_TEST(result.error().detail.find(" .. ") != std::string::npos, result.error().detail);
        };
        const auto try_both = [&](const auto& field) {
            using T = std::remove_cvref_t<decltype(field.min)>;
            refuse(field, static_cast<T>(field.max + T{1}));
            if (field.min > T{}) refuse(field, static_cast<T>(field.min - T{1}));
        };
        std::visit(try_both, option.field);
    }
}

BOOST_AUTO_TEST_CASE(every_default_lies_in_its_range_and_every_option_says_what_it_is) {
    std::set<std::string_view> names;
    for (const Option& option : options()) {
        const auto is_in_range = [](const auto& field) {
            return Config{}.*field.member >= field.min && Config{}.*field.member <= field.max;
        };
        BOOST_TEST(std::visit(is_in_range, option.field), option.name);
        BOOST_TEST(option.help.ends_with('.'), option.name);
        BOOST_TEST(names.insert(option.name).second, option.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
