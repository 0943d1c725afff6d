#include "openai/models.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(models)

BOOST_AUTO_TEST_CASE(a_list_keeps_the_order_given) {
    const std::vector<exa::openai::Model> models = {{"zeta", 5, 2048}, {"alpha", 6, 0}};
    const auto list = boost::json::parse(exa::openai::models_json(models));
    BOOST_TEST(list.at("object") == "list");
    BOOST_TEST(list.at("data").as_array().size() == 2u);
    BOOST_TEST(list.at("data").at(0).at("id") == "zeta");
    BOOST_TEST(list.at("data").at(0).at("max_model_len") == 2048);
    BOOST_TEST(list.at("data").at(1).at("id") == "alpha");
    BOOST_TEST(!list.at("data").at(1).as_object().contains("max_model_len"));
}

BOOST_AUTO_TEST_CASE(an_empty_list_is_a_list) {
    BOOST_TEST(exa::openai::models_json({}) == R"({"object":"list","data":[]})");
}

BOOST_AUTO_TEST_CASE(one_model_has_what_clients_require) {
    const auto model = boost::json::parse(exa::openai::model_json({"m", 7, 0}));
    BOOST_TEST(
        (model == boost::json::value{{"id", "m"}, {"object", "model"}, {"created", 7}, {"owned_by", "exaserve"}}));
}

BOOST_AUTO_TEST_SUITE_END()
