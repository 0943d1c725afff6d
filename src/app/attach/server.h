// AttachServer: an OpenAI-compatible server that runs already, and what it is asked for the requests of clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/http/message.h"
#include "wire/link_messages.h"

namespace exa::app::attach {

struct AttachServer {
    // Of a body that is sent in one piece with its head, for which the head has room.
    static constexpr std::size_t joined_bytes_max = 4 * 1024;

    std::string url;   // as the operator wrote it
    std::string host;  // a name or an address, IPv6 without brackets
    std::uint16_t port = 0;
    std::string prefix;   // what stands before the API's paths; often nothing
    std::string api_key;  // what it wants as bearer token; empty: none

    // "http://host:port" with or without a path, which must not be one of the API. errc::usage.
    static Result<AttachServer> parse(std::string_view url);
    // Another spelling of the same URL; names are not looked up.
    bool is_same(const AttachServer& other) const;

    // The head of the request that a client's becomes: its path, its own fields, its id; the server's key in place of
    // the client's.
    std::string request_head(const wire::Open& open) const;
};

// What of a message's fields is passed on to the other side: not those of the connection, of framing, or secrets, nor
// the few that are `open`'s or the server's own; within the bounds of a message.
struct PassedFields {
    std::vector<wire::HeaderField> fields;
    std::size_t left_out = 0;  // would have been passed on, were they smaller or fewer
};
PassedFields passed_fields(const io::http::HttpHeaders& headers);

}  // namespace exa::app::attach
