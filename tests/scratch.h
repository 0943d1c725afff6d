// Scratch: a directory of a test's own, gone with it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace exa::test {

struct Scratch {
    Scratch() {
        std::string name = std::filesystem::temp_directory_path() / "exaserve-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory for a test: " + name);
        path = name;
    }
    ~Scratch() { std::filesystem::remove_all(path); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    // Its path.
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return path / name;
    }

    std::filesystem::path path;
};

}  // namespace exa::test
