// exa-tiny-model: writes a random-weight GGUF (model/tiny_model.h) to a file, so that other programs can read the same
// model as our tests. Flags are --name value, after the path; the names are TinyModelSpec's fields.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "model/tiny_model.h"

namespace {

constexpr const char* usage =
    "usage: exa-tiny-model PATH [--seed N] [--layers N] [--d N] [--heads N] [--kv-heads N] [--ff N] [--context N]\n"
    "                      [--vocab spm|bpe_smollm] [--type f32|f16|bf16|q8_0|q4_0|q4_1|q5_0|q5_1] [--tied yes|no]\n";

template <class T>
bool parse_number(std::string_view text, T& out) {
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), out);
    return errc == std::errc{} && end == text.data() + text.size();
}

bool parse_type(std::string_view text, exa::model::TensorType& out) {
    using enum exa::model::TensorType;
    for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1}) {
        std::string name(to_string(type));
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (name != text) continue;
        out = type;
        return true;
    }
    return false;
}

bool set_field(std::string_view flag, std::string_view value, exa::model::TinyModelSpec& spec) {
    if (flag == "--seed") return parse_number(value, spec.seed);
    if (flag == "--layers") return parse_number(value, spec.layers);
    if (flag == "--d") return parse_number(value, spec.d);
    if (flag == "--heads") return parse_number(value, spec.heads);
    if (flag == "--kv-heads") return parse_number(value, spec.kv_heads);
    if (flag == "--ff") return parse_number(value, spec.ff);
    if (flag == "--context") return parse_number(value, spec.context);
    if (flag == "--type") return parse_type(value, spec.type);
    if (flag == "--vocab") {
        spec.vocab = value == "spm" ? exa::model::TinyVocab::spm : exa::model::TinyVocab::bpe_smollm;
        return value == "spm" || value == "bpe_smollm";
    }
    if (flag == "--tied") {
        spec.tied = value == "yes";
        return value == "yes" || value == "no";
    }
    return false;
}

}  // namespace

int main(int argc, char* argv[]) {
    exa::model::TinyModelSpec spec;
    bool understood = argc >= 2 && argc % 2 == 0;
    for (int i = 2; understood && i < argc; i += 2) {
        understood = set_field(argv[i], argv[i + 1], spec);
        if (!understood) std::fprintf(stderr, "not understood: %s %s\n", argv[i], argv[i + 1]);
    }
    if (!understood) {
        std::fputs(usage, stderr);
        return 2;
    }
    const auto model = exa::model::make_tiny_model(spec);
    if (!model) {
        std::fprintf(stderr, "%s\n", model.error().message().c_str());
        return 2;
    }
    std::ofstream file(argv[1], std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(model.value().data()), static_cast<std::streamsize>(model.value().size()));
    file.close();
    if (!file) {
        std::fprintf(stderr, "%s: cannot be written\n", argv[1]);
        return 1;
    }
    return 0;
}
