// What can go wrong at the edge of the process.
#pragma once

#include <string>
#include <system_error>

namespace exa::io {

enum class errc {
    port_taken = 1,       // bind: another socket holds the address; exit code 3 of the program
    address_unusable,     // bind: not an address of this machine, or not permitted
    system,               // a system call failed; the detail carries its own message
    name_not_resolved,    // DNS
    connect_failed,       // nothing listens, or no route; nothing was sent
    timed_out,            // the other side did not answer in time
    wrong_cluster,        // link: the listener belongs to another cluster
    wrong_version,        // link: the listener speaks another wire version
    wrong_peer,           // link: another peer listens there
    malformed,            // the other side broke the protocol; the connection is closed
    encryption_mismatch,  // link: one end encrypts and the other does not; nothing was sent
    wrong_key,            // link: encrypted with a key that the other end does not hold; nothing was sent
    bad_certificate,      // TLS: a certificate or its key cannot be used
    untrusted,       // TLS: the server's certificate is not one that this end trusts for that name; nothing was sent
    too_large,       // a message is past its bound; nothing was sent
    too_many,        // a limit on links, streams or connections; nothing was sent
    broken,          // the connection ended underneath; what was sent may or may not have arrived
    cancelled,       // the caller's other end gave the work up
    closed,          // this side was closed before; nothing was sent
    bad_address,     // not the text of a URL or of host:port
    store_locked,    // store: another process has the directory
    store_unusable,  // store: the directory cannot be written, or its index cannot be opened
    store_config     // store: these limits cannot hold
};

std::error_code make_error_code(errc code);

}  // namespace exa::io

template <>
struct std::is_error_code_enum<exa::io::errc> : std::true_type {};
