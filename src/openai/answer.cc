#include "openai/answer.h"

#include "base/bytes.h"

namespace exa::openai {

std::string error_event(const ApiError& error) {
    return "data: " + error.body() + "\n\n";
}

std::string random_id(std::string_view prefix, std::uint64_t random_high, std::uint64_t random_low) {
    std::string id;
    id.reserve(prefix.size() + 32);
    id.append(prefix);
    append_hex(id, random_high);
    append_hex(id, random_low);
    return id;
}

std::string answer_id(Shape shape, std::uint64_t random_high, std::uint64_t random_low) {
    return random_id(shape == Shape::chat ? "chatcmpl-" : "cmpl-", random_high, random_low);
}

}  // namespace exa::openai
