#include "io/errc.h"

#include "base/errc_category.h"

namespace exa::io {

namespace {

const char* message_of(errc code) {
    switch (code) {
        case errc::port_taken:
            return "the port is taken by another process";
        case errc::address_unusable:
            return "the address cannot be bound here";
        case errc::system:
            return "a system call failed";
        case errc::name_not_resolved:
            return "the name could not be resolved";
        case errc::bad_address:
            return "not an address";
        case errc::connect_failed:
            return "no connection could be made";
        case errc::timed_out:
            return "no answer in time";
        case errc::wrong_cluster:
            return "the listener belongs to another cluster";
        case errc::wrong_version:
            return "the listener speaks another wire version";
        case errc::wrong_peer:
            return "another peer listens there";
        case errc::malformed:
            return "the other side broke the protocol";
        case errc::encryption_mismatch:
            return "one end of the link encrypts and the other does not";
        case errc::wrong_key:
            return "the other end does not hold the key";
        case errc::bad_certificate:
            return "the certificate cannot be used";
        case errc::untrusted:
            return "the server's certificate is not trusted";
        case errc::too_large:
            return "the message is too large";
        case errc::too_many:
            return "too many are open already";
        case errc::broken:
            return "the connection broke";
        case errc::cancelled:
            return "the other side gave up";
        case errc::closed:
            return "closed on this side";
        case errc::store_locked:
            return "another process uses this store";
        case errc::store_unusable:
            return "the store cannot be opened";
        case errc::store_config:
            return "the store's limits cannot hold";
    }
    return nullptr;
}

}  // namespace

std::error_code make_error_code(errc code) {
    static const ErrcCategory<errc> category("io", message_of);
    return category(code);
}

}  // namespace exa::io
