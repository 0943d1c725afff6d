#include "openai/answer.h"

namespace exa::openai {

std::string error_event(const ApiError& error) {
    return "data: " + error.body() + "\n\n";
}

std::string random_id(std::string_view prefix, std::uint64_t random_high, std::uint64_t random_low) {
    std::string id(prefix);
    for (const std::uint64_t part : {random_high, random_low})
        for (int shift = 60; shift >= 0; shift -= 4) id += "0123456789abcdef"[(part >> shift) & 15];
    return id;
}

std::string answer_id(Shape shape, std::uint64_t random_high, std::uint64_t random_low) {
    return random_id(shape == Shape::chat ? "chatcmpl-" : "cmpl-", random_high, random_low);
}

}  // namespace exa::openai
