#include "io/tls/memory_bio.h"

#include <openssl/err.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace exa::io::tls {

namespace {

TlsWire& wire_of(BIO* bio) {
    return *static_cast<TlsWire*>(BIO_get_data(bio));
}

int read(BIO* bio, char* into, std::size_t size, std::size_t* taken) {
    BIO_clear_retry_flags(bio);
    TlsWire& wire = wire_of(bio);
    *taken = std::min(size, wire.in.size());
    if (*taken == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    std::memcpy(into, wire.in.data(), *taken);
    wire.in = wire.in.subspan(*taken);
    return 1;
}

int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
    BIO_clear_retry_flags(bio);
    TlsWire& wire = wire_of(bio);
    // As the vector's own type: a range of char would be copied byte by byte.
    const auto* const from = reinterpret_cast<const std::uint8_t*>(bytes);
    wire.out.insert(wire.out.end(), from, from + size);
    *written = size;
    return 1;
}

long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace

MemoryBio::MemoryBio() : method_(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "memory")) {
    EXA_CHECK(method_ != nullptr);
    EXA_CHECK(BIO_meth_set_read_ex(method_.get(), read) == 1);
    EXA_CHECK(BIO_meth_set_write_ex(method_.get(), write) == 1);
    EXA_CHECK(BIO_meth_set_ctrl(method_.get(), control) == 1);
}

void MemoryBio::attach(SSL* ssl, TlsWire& wire) const {
    BIO* const bio = BIO_new(method_.get());
    EXA_CHECK(ssl != nullptr && bio != nullptr);
    BIO_set_data(bio, &wire);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
}

std::string take_tls_reason() {
    const unsigned long code = ERR_peek_error();
    const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
    std::string reason = text == nullptr ? "unknown" : text;
    ERR_clear_error();
    return reason;
}

}  // namespace exa::io::tls
