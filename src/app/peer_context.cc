#include "app/peer_context.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "app/bind_policy.h"
#include "app/shared/errc.h"
#include "io/random.h"

namespace exa::app {

namespace {

Result<Bytes> read_root_secret(const config::PeerConfig& config) {
    if (config.root_secret_file.empty()) {
        const Digest derived =
            io::crypto::OpenSslCrypto().hkdf_sha256(as_bytes(config.cluster), as_bytes("exaserve"), as_bytes("root"));
        return Bytes(derived.begin(), derived.end());
    }
    const std::ifstream file(config.root_secret_file, std::ios::binary);
    if (!file)
        return error(shared::errc::usage, fmt::format("root_secret_file: {} cannot be read", config.root_secret_file));
    std::ostringstream text;
    text << file.rdbuf();
    const ByteView secret = as_bytes(text.view());
    if (secret.size() < 32)
        return error(shared::errc::usage, fmt::format("root_secret_file: {} holds {} bytes, 32 or more are needed",
                                                      config.root_secret_file, secret.size()));
    return Bytes(secret.begin(), secret.end());
}

}  // namespace

PeerContext::PeerContext(const config::PeerConfig& config, shared::DataDir opened, Bytes secret)
    : directory(std::move(opened)),
      key_store(directory, crypto),
      root_secret(std::move(secret)),
      tokens(crypto, root_secret),
      sealer(crypto, root_secret),
      identity{cluster_id(config.cluster), directory.peer_id(), directory.generation(), config.name} {}

Result<std::unique_ptr<const PeerContext>> PeerContext::open(const config::PeerConfig& config) {
    EXA_TRY(const Addresses listen,
            resolve_addresses(config.listen.gossip, config.listen.link, config.listen.http, "listen"));
    EXA_TRY(check_client_access(config, "listen.http", listen.http));
    std::optional<Endpoint> resp;
    if (!config.kv.resp_listen.empty()) {
        EXA_TRY(resp, resolve_address(config.kv.resp_listen, "kv.resp_listen"));
        EXA_TRY(check_client_access(config, "kv.resp_listen", *resp));
    }
    EXA_TRY(const Addresses advertise,
            resolve_addresses(config.advertise.gossip, config.advertise.link, config.advertise.http, "advertise"));
    EXA_TRY(shared::DataDir directory, shared::DataDir::open(config.data_dir, PeerId{io::random_u64()}));
    EXA_TRY(Bytes secret, read_root_secret(config));

    auto base = std::make_unique<PeerContext>(config, std::move(directory), std::move(secret));
    base->listen = listen;
    base->advertise = advertise;
    base->resp = resp;
    EXA_TRY(const auto members, base->directory.read(shared::members_file));
    if (members) base->members = membership::parse_members(*members).value_or(base->members);
    EXA_TRY(base->keys, base->key_store.load(config.security.cluster_key_file));
    EXA_TRY(check_encryption(config, base->keys, listen));
    base->encryption = {&base->crypto,
                        !base->keys.empty() ? std::make_shared<const LinkKeys>(base->keys.link_keys()) : nullptr};
    return std::unique_ptr<const PeerContext>(std::move(base));
}

}  // namespace exa::app
