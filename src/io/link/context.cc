#include "io/link/context.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "io/errc.h"

namespace exa::io::link {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

LinkContext::LinkContext(LinkConfig settings, LinkIdentity self, Log& sink, LinkEncryption with)
    : config(std::move(settings)),
      identity(std::move(self)),
      log(sink),
      crypto(with.crypto),
      keys(std::make_shared<const LinkKeys>()) {
    set_keys(std::move(with.keys));
}

void LinkContext::set_keys(std::shared_ptr<const LinkKeys> next) {
    if (!next) return;
    keys = std::move(next);
    if (keys->empty() || tls) return;
    EXA_CHECK(crypto != nullptr);
    tls = std::make_shared<const TlsContext>();
}

Result<Digest> LinkContext::find_psk(const PskIdentity& claimed) const {
    if (claimed.acceptor != identity.peer)
        return error(errc::wrong_peer, "a link for peer " + to_string(claimed.acceptor));
    if (claimed.initiator == identity.peer) return error(errc::wrong_peer, "a link that claims to be from this peer");
    const ClusterKey* const key = keys->find(claimed.key);
    if (key == nullptr) return error(errc::wrong_key, "key " + to_string(claimed.key) + " is not held here");
    return derive_psk(*crypto, key->secret, identity.cluster, claimed);
}

std::unique_ptr<Transport> LinkContext::transport_to(asio::ip::tcp::socket socket, PeerId acceptor, KeyId key) const {
    if (!is_encrypted()) return make_tcp_transport(std::move(socket));
    const ClusterKey* const held = keys->find(key);
    EXA_CHECK(held != nullptr);
    const PskIdentity claimed{key, identity.peer, acceptor};
    return make_tls_transport(
        std::move(socket), TlsSession::dial(tls, claimed, derive_psk(*crypto, held->secret, identity.cluster, claimed)),
        config.rekey_records);
}

std::unique_ptr<Transport> LinkContext::transport_from(asio::ip::tcp::socket socket) const {
    if (!is_encrypted()) return make_tcp_transport(std::move(socket));
    // The context outlives its links, and a link its transport.
    auto find = [this](const PskIdentity& claimed) { return find_psk(claimed); };
    return make_tls_transport(std::move(socket), TlsSession::accept(tls, find), config.rekey_records);
}

void LinkContext::count_refusal(const Error& why) {
    if (why.code == errc::malformed) ++stats.malformed;
    if (why.code == errc::encryption_mismatch) ++stats.refused_encryption;
    if (why.code == errc::wrong_key) ++stats.refused_key;
    if (why.code == errc::encryption_mismatch || why.code == errc::wrong_key || why.code == errc::wrong_peer)
        ++stats.links_refused;
}

void LinkContext::warn_of_unknown(std::string_view message, const Endpoint& remote, const Error& why) {
    const auto now = Clock::now();
    Warning& last = warnings_[why.code];
    if (last.at != Clock::time_point{} && now - last.at < std::chrono::seconds(1)) {
        ++last.unsaid;
        return;
    }
    last.at = now;
    log.warn("link", message,
             {{"remote", to_string(remote)},
              {"reason", why.message()},
              {"refused", std::to_string(stats.links_refused)},
              {"malformed", std::to_string(stats.malformed)},
              {"not_logged", std::to_string(std::exchange(last.unsaid, 0))}});
}

}  // namespace exa::io::link
