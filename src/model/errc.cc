#include "model/errc.h"

#include "base/errc_category.h"

namespace exa::model {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::file_unreadable:
            return "the file cannot be read";
        case errc::gguf_truncated:
            return "the GGUF file is truncated";
        case errc::gguf_invalid:
            return "not a valid GGUF file";
        case errc::gguf_unsupported:
            return "this kind of GGUF file is not supported";
        case errc::metadata_missing:
            return "the model file lacks needed metadata";
        case errc::architecture_unsupported:
            return "this model architecture is not supported";
        case errc::tensor_missing:
            return "the model file lacks a tensor";
        case errc::tensor_mismatch:
            return "a tensor does not fit the model's metadata";
        case errc::tokenizer_invalid:
            return "the model file's tokenizer is not valid";
        case errc::tokenizer_unsupported:
            return "the model file's kind of tokenizer is not supported";
        case errc::template_unsupported:
            return "the model file's chat template is not supported";
        case errc::message_invalid:
            return "the chat messages do not fit the model's template";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("model", message_of);
    return category(code);
}

}  // namespace exa::model
