#include "app/builtin/answer_writer.h"

#include <utility>

#include "base/check.h"

namespace exa::app::builtin {

AnswerWriter::AnswerWriter(openai::AnswerHead head, const std::vector<std::string>& stops)
    : is_stream_(head.stream), choices_(head.choices), writer_(openai::AnswerStream(std::move(head), stops)) {}

AnswerWriter::AnswerWriter(openai::ResponseHead head)
    : is_stream_(head.stream), choices_(1), writer_(Response{openai::ResponsesStream(std::move(head))}) {}

bool AnswerWriter::stopped(std::uint32_t choice) const {
    const auto* answer = std::get_if<openai::AnswerStream>(&writer_);
    return answer != nullptr && answer->stopped(choice);
}

bool AnswerWriter::finished(std::uint32_t choice) const {
    if (const auto* response = std::get_if<Response>(&writer_)) return response->finish.has_value();
    return std::get<openai::AnswerStream>(writer_).finished(choice);
}

bool AnswerWriter::all_finished() const {
    if (const auto* response = std::get_if<Response>(&writer_)) return response->finish.has_value();
    return std::get<openai::AnswerStream>(writer_).all_finished();
}

std::uint32_t AnswerWriter::tokens(std::uint32_t choice) const {
    if (const auto* response = std::get_if<Response>(&writer_)) return response->stream.tokens();
    return std::get<openai::AnswerStream>(writer_).tokens(choice);
}

std::uint32_t AnswerWriter::completion_tokens() const {
    if (const auto* response = std::get_if<Response>(&writer_)) return response->stream.tokens();
    return std::get<openai::AnswerStream>(writer_).completion_tokens();
}

void AnswerWriter::replay(std::uint32_t choice, std::string_view bytes) {
    const std::uint32_t offset = tokens(choice);
    if (auto* response = std::get_if<Response>(&writer_))
        response->stream.replay(offset, bytes);
    else
        std::get<openai::AnswerStream>(writer_).replay(choice, offset, bytes);
}

void AnswerWriter::replay_finish(std::uint32_t choice, openai::Finish reason) {
    if (auto* response = std::get_if<Response>(&writer_))
        response->finish = reason;
    else
        std::get<openai::AnswerStream>(writer_).replay_finish(choice, reason);
}

void AnswerWriter::echo_logprobs(std::uint32_t choice, std::span<const openai::EchoedToken> tokens) {
    // Responses echo nothing.
    if (auto* answer = std::get_if<openai::AnswerStream>(&writer_)) answer->echo_logprobs(choice, tokens);
}

std::string AnswerWriter::token(std::uint32_t choice, std::string_view bytes, bool is_stop_token,
                                const openai::TokenLogprobs* logprobs) {
    const std::uint32_t offset = tokens(choice);
    if (auto* response = std::get_if<Response>(&writer_))
        return response->stream.token(offset, bytes, is_stop_token, logprobs);
    return std::get<openai::AnswerStream>(writer_).token(choice, offset, bytes, is_stop_token, logprobs);
}

std::string AnswerWriter::finish(std::uint32_t choice, openai::Finish reason) {
    if (auto* response = std::get_if<Response>(&writer_)) {
        response->finish = reason;
        return {};
    }
    return std::get<openai::AnswerStream>(writer_).finish(choice, reason);
}

std::string AnswerWriter::end(const openai::PromptUsage& usage) {
    if (auto* response = std::get_if<Response>(&writer_)) {
        EXA_CHECK(response->finish.has_value());
        return response->stream.end(*response->finish, usage);
    }
    return std::get<openai::AnswerStream>(writer_).end(usage);
}

std::string AnswerWriter::error_event(const openai::ApiError& error) const {
    const auto* response = std::get_if<Response>(&writer_);
    if (response == nullptr) return openai::error_event(error);
    // Behind those of all events so far: four before the first token, and at most one a token.
    return openai::response_error_event(error, response->stream.tokens() + std::uint64_t{4});
}

}  // namespace exa::app::builtin
