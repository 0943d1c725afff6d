#include "app/config/secret_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

namespace exa::app::config {

namespace {

struct SecretFile {
    std::string_view key;
    const std::string& path;
    Secrecy secrecy;
};

std::array<SecretFile, 5> secret_files(const PeerConfig& config) {
    return {{{"security.cluster_key_file", config.security.cluster_key_file, Secrecy::secret},
             {"root_secret_file", config.root_secret_file, Secrecy::secret},
             {"http.key_file", config.http.key_file, Secrecy::secret},
             {"attach.api_key_file", config.attach.api_key_file, Secrecy::secret},
             {"security.api_keys_file", config.security.api_keys_file, Secrecy::hashes}}};
}

// As a word of a shell's command, whatever is in it.
std::string quoted(const std::string& path) {
    std::string word = "'";
    for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

}  // namespace

bool is_exposed(Secrecy secrecy, mode_t mode, uid_t owner) {
    if (secrecy == Secrecy::hashes) return (mode & 022) != 0;
    const mode_t allowed = owner == 0 ? 0040 : 0;
    return (mode & 077 & ~allowed) != 0;
}

std::vector<ExposedFile> find_exposed_files(const PeerConfig& config) {
    std::vector<ExposedFile> exposed;
    for (const SecretFile& file : secret_files(config)) {
        const std::string& path = file.path;
        struct stat facts{};
        if (path.empty() || ::stat(path.c_str(), &facts) != 0) continue;
        if (!is_exposed(file.secrecy, facts.st_mode, facts.st_uid)) continue;
        const char* const change = file.secrecy == Secrecy::hashes ? "chmod go-w " : "chmod 600 ";
        exposed.push_back(
            {std::string(file.key), path, fmt::format("{:04o}", facts.st_mode & 07777), change + quoted(path)});
    }
    return exposed;
}

void warn_of_exposed_files(const PeerConfig& config, Log& log) {
    for (const ExposedFile& file : find_exposed_files(config))
        log.warn("peer",
                 file.key == "security.api_keys_file" ? "others can write a file of keys"
                                                      : "others can read or write a file with a secret",
                 {{"key", file.key}, {"file", file.path}, {"mode", file.mode}, {"fix", file.fix}});
}

}  // namespace exa::app::config
