// LinkContext: what the links of one owner share: settings, keys, counters and the owner's handlers.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "io/link/config.h"
#include "io/link/tls_session.h"
#include "io/link/transport.h"
#include "wire/link_messages.h"

namespace exa::io::link {

class LinkConnection;
class InboundStream;

// Outlives its links. The owner clears the handlers when it goes.
struct LinkContext {
    LinkContext(LinkConfig settings, LinkIdentity self, Log& sink, LinkEncryption with);

    // From now on. Whoever encrypts goes on to: without any key it makes no link.
    void set_keys(std::shared_ptr<const LinkKeys> next);
    bool is_encrypted() const { return tls != nullptr; }
    // A link made with `key`, or with none, may live on.
    bool is_welcome(KeyId key) const { return is_encrypted() ? keys->find(key) != nullptr : key == KeyId{}; }

    // `key` names one of the keys on an encrypted peer.
    std::unique_ptr<Transport> transport_to(boost::asio::ip::tcp::socket socket, PeerId acceptor, KeyId key) const;
    std::unique_ptr<Transport> transport_from(boost::asio::ip::tcp::socket socket) const;

    // A warning about an unknown sender, at most one per second for each code of `why`: nobody must be able to fill a
    // disk, or to hide an operator's mistake in noise.
    void warn_of_unknown(std::string_view message, const Endpoint& remote, const Error& why);
    void count_refusal(const Error& why);

    LinkConfig config;
    LinkIdentity identity;
    Log& log;
    const Crypto* const crypto;
    std::shared_ptr<const TlsContext> tls;  // of an encrypted peer
    std::shared_ptr<const LinkKeys> keys;   // never null; as they are now
    LinkStats stats;
    std::function<void(std::shared_ptr<InboundStream>, wire::Open)> on_open;
    std::function<void(PeerId, Endpoint, Bytes)> on_sync;
    // `broken`: it ended after the hello without a goodbye from either side.
    std::function<void(const std::shared_ptr<LinkConnection>&, bool broken)> on_finished;

  private:
    Result<Digest> find_psk(const PskIdentity& identity) const;

    struct Warning {
        std::chrono::steady_clock::time_point at{};
        std::uint64_t unsaid = 0;  // since
    };
    std::map<std::error_code, Warning> warnings_;
};

}  // namespace exa::io::link
