#include "openai/models.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

namespace exa::openai {

namespace {

boost::json::object to_json(const Model& model) {
    boost::json::object object;
    object["id"] = model.id;
    object["object"] = "model";
    object["created"] = model.created;
    object["owned_by"] = "exaserve";
    if (model.context_tokens > 0) object["max_model_len"] = model.context_tokens;
    return object;
}

}  // namespace

std::string models_json(std::span<const Model> models) {
    boost::json::array data;
    for (const Model& model : models) data.push_back(to_json(model));
    return boost::json::serialize(boost::json::object{{"object", "list"}, {"data", std::move(data)}});
}

std::string model_json(const Model& model) {
    return boost::json::serialize(to_json(model));
}

}  // namespace exa::openai
