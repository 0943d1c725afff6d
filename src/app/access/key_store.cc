#include "app/access/key_store.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "app/shared/errc.h"
#include "membership/key_file.h"
#include "node/key_history.h"

namespace exa::app::access {

namespace {

constexpr std::string_view name = "keys";
constexpr std::size_t key_file_bytes_max = 64 * 1024;

Result<std::string> read_key_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(key_file_bytes_max + 1, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !file.is_open())
        return error(shared::errc::usage, fmt::format("security.cluster_key_file: {} cannot be read", path));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > key_file_bytes_max)
        return error(shared::errc::usage, fmt::format("security.cluster_key_file: {} is longer than 64 KiB", path));
    return text;
}

}  // namespace

Result<membership::KeyRing> KeyStore::load(const std::string& key_file) const {
    EXA_TRY(const auto stored, directory_.read(name));
    std::vector<ClusterKey> given;
    if (!key_file.empty()) {
        EXA_TRY(const std::string text, read_key_file(key_file));
        auto keys = membership::parse_key_file(crypto_, text);
        if (!keys)
            return error(shared::errc::usage,
                         fmt::format("security.cluster_key_file: {}: {}", key_file, keys.error().message()));
        given = std::move(keys).value();
    }
    auto first = node::first_ring(crypto_, stored, given);
    if (!first)
        return error(shared::errc::data_dir, fmt::format("{}/{}: {}; restore it, or remove it to take the keys of "
                                                         "security.cluster_key_file",
                                                         directory_.path(), name, first.error().message()));
    if (first.value().file) {
        EXA_TRY(directory_.replace(name, *first.value().file));
    }
    return std::move(first).value().ring;
}

Result<void> KeyStore::store(const membership::KeyRing& ring) const {
    return directory_.replace(name, membership::format_ring(ring.state()));
}

}  // namespace exa::app::access
