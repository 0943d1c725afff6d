// Addresses: the three at which a peer is reached, as it is configured, bound or advertised.
#pragma once

#include <string>
#include <string_view>

#include "base/endpoint.h"
#include "base/result.h"

namespace exa::app {

struct Addresses {
    Endpoint gossip;
    Endpoint link;
    Endpoint http;
};

// Of "HOST:PORT"; a name is looked up, for five seconds at most. errc::usage names the configuration's `key`.
Result<Endpoint> resolve_address(const std::string& text, std::string_view key);

// `table`: of the configuration, as in "listen.http".
Result<Addresses> resolve_addresses(const std::string& gossip, const std::string& link, const std::string& http,
                                    std::string_view table);

// What is advertised for a listener: the address that the operator named, with the port that the system gave if that
// was to choose one.
Endpoint advertised(Endpoint configured, const Endpoint& bound);

}  // namespace exa::app
