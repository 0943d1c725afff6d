#include "app/access/key_store.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "app/shared/errc.h"
#include "membership/key_file.h"

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
    membership::KeyRing ring;
    EXA_TRY(const auto stored, directory_.read(name));
    if (stored) {
        const auto keys = membership::parse_ring(*stored);
        if (!keys)
            return error(shared::errc::data_dir, fmt::format("{}/{}: {}; restore it, or remove it to take the keys of "
                                                             "security.cluster_key_file",
                                                             directory_.path(), name, keys.error().message()));
        ring = membership::KeyRing(crypto_, keys.value());
    }
    if (key_file.empty()) return ring;
    EXA_TRY(const std::string text, read_key_file(key_file));
    const auto keys = membership::parse_key_file(crypto_, text);
    if (!keys)
        return error(shared::errc::usage,
                     fmt::format("security.cluster_key_file: {}: {}", key_file, keys.error().message()));
    const membership::KeyRing before = ring;
    ring.add_first(keys.value());
    if (!(ring == before)) {
        EXA_TRY(store(ring));
    }
    return ring;
}

Result<void> KeyStore::store(const membership::KeyRing& ring) const {
    return directory_.replace(name, membership::format_ring(ring.state()));
}

}  // namespace exa::app::access
