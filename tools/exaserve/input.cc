#include "exaserve/input.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "exaserve/exit_code.h"

namespace exa::cli {

namespace {

constexpr std::size_t bytes_max = 8 * 1024 * 1024;

}  // namespace

Outcome<std::string> read_input(const std::string& path) {
    std::string text;
    if (path == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
        std::ifstream file(path, std::ios::binary);
        std::error_code unknown;
        if (!file || std::filesystem::is_directory(path, unknown)) return Failure{exit_usage, path + " cannot be read"};
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    if (text.size() > bytes_max) return Failure{exit_usage, path + " is larger than 8 MiB"};
    return text;
}

}  // namespace exa::cli
