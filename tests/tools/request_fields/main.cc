// The table of request fields as JSON, for the pages that are made from it (tools/lint/reference.py).
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "openai/field_table.h"

int main() {
    namespace json = boost::json;
    namespace openai = exa::openai;
    json::array rows;
    for (const openai::FieldRow& row : openai::field_rows()) {
        json::array endpoints;
        for (std::size_t i = 0; i < openai::endpoint_count; ++i)
            if (const auto endpoint = static_cast<openai::Endpoint>(i); row.is_of(endpoint))
                endpoints.emplace_back(to_string(endpoint));
        rows.push_back(json::object{{"name", row.name},
                                    {"treatment", to_string(row.treatment)},
                                    {"endpoints", std::move(endpoints)},
                                    {"type", row.type},
                                    {"range", to_string(row.range)},
                                    {"help", row.help},
                                    {"neutral", to_string(row.neutral)}});
    }
    std::cout << json::serialize(rows) << "\n";
}
