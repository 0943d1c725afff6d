// What stands in a directory that everybody may write to: a read, a look and a list end in a value or an outcome,
// follow no link, give a file's bytes as they are, and only what was sealed verifies.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/cold/cold_files.h"
#include "io/crypto/openssl_crypto.h"
#include "kv/segment.h"

namespace {

using namespace exa;
namespace fs = std::filesystem;

enum Kind : std::uint8_t { changed, any_bytes, link, directory, pipe, kinds };

const io::crypto::OpenSslCrypto crypto;
const kv::SegmentSealer sealer(crypto, as_bytes("ours"));
const kv::SegmentKey key{crypto.sha256(as_bytes("a key"))};

void must(bool holds) {
    if (!holds) std::abort();
}

struct Directory {
    Directory() {
        std::string name = fs::temp_directory_path() / "exa-cold-fuzz-XXXXXX";
        must(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Directory() { fs::remove_all(path); }
    fs::path path;
};

Bytes sealed_segment() {
    kv::SegmentHead head;
    head.key = key;
    kv::SegmentBuffer buffer(kv::segment_header_size + 300);
    std::ranges::fill(buffer.bytes().subspan(kv::segment_header_size), std::uint8_t{7});
    sealer.seal(head, buffer);
    return {buffer.view().begin(), buffer.view().end()};
}

// What the input makes of a sealed segment: some of it changed, and cut off or longer.
Bytes over(const Bytes& sealed, std::string_view input) {
    Bytes bytes = sealed;
    for (std::size_t i = 0; i < input.size(); ++i) {
        if (i == bytes.size()) bytes.push_back(0);
        bytes[i] ^= static_cast<std::uint8_t>(input[i]);
    }
    if (!input.empty() && input.back() == 'c') bytes.resize(std::min(bytes.size(), input.size()));
    return bytes;
}

void put(const fs::path& at, Kind kind, const Bytes& bytes, const fs::path& elsewhere) {
    if (kind == link)
        must(::symlink(elsewhere.c_str(), at.c_str()) == 0);
    else if (kind == directory)
        must(::mkdir(at.c_str(), 0700) == 0);
    else if (kind == pipe)
        must(::mkfifo(at.c_str(), 0600) == 0);
    else
        std::ofstream(at, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Directory at;
    static const std::unique_ptr<io::cold::ColdFiles> files = io::cold::cold_files(at.path);
    static const Bytes sealed = sealed_segment();
    static const bool is_made = files->publish(key, sealed, false).outcome == io::cold::ColdOutcome::ok &&
                                files->remove(key).outcome == io::cold::ColdOutcome::ok;
    must(is_made);
    static const fs::path folder = fs::directory_iterator(at.path / "kv1")->path();
    // A good segment, to which a link leads.
    static const fs::path elsewhere = at.path / "elsewhere";
    if (!fs::exists(elsewhere)) put(elsewhere, changed, sealed, {});
    if (size == 0) return 0;
    const auto kind = static_cast<Kind>(data[0] % kinds);
    const std::string_view input = as_text({data + 1, size - 1});
    const Bytes bytes = kind == changed ? over(sealed, input) : Bytes(data + 1, data + size);
    put(folder / kv::to_string(key), kind, bytes, elsewhere);
    const fs::path other =
        folder / (".new-" + std::string(input.substr(0, std::min(input.find_first_of({"\0/", 2}), std::size_t{16}))));
    std::ofstream(other).put('x');

    const bool is_file = fs::symlink_status(folder / kv::to_string(key)).type() == fs::file_type::regular;
    std::shared_ptr<kv::SegmentBuffer> segment;
    const bool is_read = files->read(key, segment).outcome == io::cold::ColdOutcome::ok;
    must(is_read == (is_file && kv::is_valid_sealed_size(bytes.size())));
    if (is_read) {
        must(std::ranges::equal(segment->view(), bytes));
        must(sealer.verify(key, segment->view()).has_value() == (bytes == sealed));
    }
    std::uint64_t told = 0;
    must((files->size(key, told).outcome == io::cold::ColdOutcome::ok) == is_read);
    std::vector<kv::ColdFile> listed;
    must(files->list(kv::cold_folder(key), listed).outcome == io::cold::ColdOutcome::ok && listed.size() == 2);
    must(std::ranges::count(listed, std::optional(key), &kv::ColdFile::key) == 1);

    for (const kv::ColdFile& file : listed)
        must(files->remove(kv::cold_folder(key), file.name).outcome == io::cold::ColdOutcome::ok);
    must(fs::is_empty(folder) && files->read(key, segment).outcome == io::cold::ColdOutcome::missing);
    return 0;
}
