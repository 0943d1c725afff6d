// What can go wrong with a model file. Nothing is half loaded: a call that returns one of these has changed nothing.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace exa::model {

enum class errc : std::uint8_t {
    file_unreadable = 1,       // the system refused to open, stat or map it
    gguf_truncated,            // it ends inside something it announced
    gguf_invalid,              // it contradicts the format or itself
    gguf_unsupported,          // a version or tensor type this reader does not know
    metadata_missing,          // a key the model needs is absent, of another type or out of its range
    architecture_unsupported,  // not of the family the forward pass computes
    tensor_missing,            // the detail names it
    tensor_mismatch,           // its shape or type is not what the metadata promise; the detail has both
    tokenizer_invalid,         // its vocabulary contradicts itself
    tokenizer_unsupported,
    template_unsupported,
    message_invalid,  // a chat message the template has no place for
};

std::error_code make_error_code(errc code);

// Where to turn with a file that is good, but not for the built-in engine.
inline constexpr std::string_view other_engine = "llama.cpp's server can: attach one (docs/attach.md)";

}  // namespace exa::model

template <>
struct std::is_error_code_enum<exa::model::errc> : std::true_type {};
