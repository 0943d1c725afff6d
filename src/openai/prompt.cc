#include "openai/prompt.h"

#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <limits>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::string_view expected = "a string, an array of token ids, or an array of several of one of these";

ApiResult<std::vector<std::uint32_t>> ids_of(const json::array& list, const std::string& path) {
    std::vector<std::uint32_t> ids;
    ids.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto* id = list[i].if_int64();
        if (id == nullptr) return wrong_type(indexed(path, i), "a token id", kind_name(list[i]));
        if (*id < 0 || *id > std::numeric_limits<std::uint32_t>::max())
            return out_of_range(indexed(path, i), std::to_string(*id), "from 0 to 4294967295");
        ids.push_back(static_cast<std::uint32_t>(*id));
    }
    return ids;
}

// One of several, of the same kind as the first.
ApiResult<Prompt> prompt_of(const json::value& value, const json::value& first, const std::string& path) {
    if (first.is_string()) {
        BOOST_OUTCOME_TRY(auto text, as_text(value, path));
        return Prompt(std::move(text));
    }
    const auto* list = value.if_array();
    if (list == nullptr) return wrong_type(path, "an array of token ids", kind_name(value));
    if (list->empty()) return out_of_range(path, "an empty array", "not empty");
    BOOST_OUTCOME_TRY(auto ids, ids_of(*list, path));
    return Prompt(std::move(ids));
}

}  // namespace

ApiResult<std::vector<Prompt>> parse_prompts(const Fields& fields, std::string_view key, std::size_t prompts_max) {
    const std::string path = fields.path(key);
    const auto* value = fields.find(key);
    if (value == nullptr) return missing(path);
    std::vector<Prompt> prompts;
    if (value->is_string()) {
        prompts.emplace_back(std::string(value->get_string()));
        return prompts;
    }
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type(path, expected, kind_name(*value));
    if (list->empty()) return out_of_range(path, "an empty array", "not empty");
    const json::value& first = list->front();
    if (first.is_number()) {
        BOOST_OUTCOME_TRY(auto ids, ids_of(*list, path));
        prompts.emplace_back(std::move(ids));
        return prompts;
    }
    if (!first.is_string() && !first.is_array()) return wrong_type(indexed(path, 0), expected, kind_name(first));
    if (list->size() > prompts_max)
        return out_of_range(path, std::to_string(list->size()) + " of them",
                            "at most " + std::to_string(prompts_max) + " of them");
    for (std::size_t i = 0; i < list->size(); ++i) {
        BOOST_OUTCOME_TRY(auto prompt, prompt_of((*list)[i], first, indexed(path, i)));
        prompts.push_back(std::move(prompt));
    }
    return prompts;
}

ApiResult<std::vector<std::uint32_t>> parse_token_ids(const Fields& fields, std::string_view key) {
    const auto* value = fields.find(key);
    if (value == nullptr) return missing(fields.path(key));
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type(fields.path(key), "an array of token ids", kind_name(*value));
    return ids_of(*list, fields.path(key));
}

}  // namespace exa::openai
