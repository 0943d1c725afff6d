#include "exaserve/key.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/base64.h"
#include "exaserve/exit_code.h"
#include "io/crypto/openssl_crypto.h"
#include "io/random.h"
#include "membership/key_file.h"

namespace exa::cli {

namespace {

ClusterKey random_key() {
    KeySecret secret;
    io::fill_random(secret);
    return cluster_key(io::crypto::OpenSslCrypto(), secret);
}

}  // namespace

std::string fresh_key() {
    const ClusterKey key = random_key();
    return "# exaserve cluster key " + to_string(key.id) + "; whoever holds it is a peer\n" +
           membership::format_key(key.secret);
}

std::string fresh_key_json() {
    const ClusterKey key = random_key();
    return boost::json::serialize(boost::json::object{{"id", to_string(key.id)}, {"secret", to_base64(key.secret)}}) +
           "\n";
}

Outcome<std::vector<ClusterKey>> read_keys(const std::string& file) {
    std::string text;
    if (file == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) return Failure{exit_usage, file + " cannot be read"};
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    auto keys = membership::parse_key_file(io::crypto::OpenSslCrypto(), text);
    if (!keys) return Failure{exit_usage, file + ": " + keys.error().message()};
    return std::move(keys).value();
}

Outcome<void> make_key_file(const std::string& file) {
    const auto failure = [&] { return Failure{exit_data_dir, file + ": " + std::strerror(errno)}; };
    const int descriptor = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno == EEXIST) return boost::outcome_v2::success();
    if (descriptor < 0) return failure();
    const std::string text = fresh_key();
    const bool done = ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const Failure why = failure();
    ::close(descriptor);
    if (!done) return why;
    return boost::outcome_v2::success();
}

}  // namespace exa::cli
