#include "io/tls/memory_bio.h"

#include <boost/test/unit_test.hpp>

using namespace exa::io;
using namespace exa::io::tls;

BOOST_AUTO_TEST_SUITE(memory_bio)

BOOST_AUTO_TEST_CASE(what_openssl_writes_is_out_and_what_is_in_is_read_once) {
    const std::unique_ptr<SSL_CTX, FreeSsl> context(SSL_CTX_new(TLS_client_method()));
    const MemoryBio method;
    TlsWire wire;
    const std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
    method.attach(ssl.get(), wire);
    SSL_set_connect_state(ssl.get());
    // Nothing in yet: it says hello and waits.
    BOOST_TEST(SSL_get_error(ssl.get(), SSL_do_handshake(ssl.get())) == SSL_ERROR_WANT_READ);
    BOOST_TEST_REQUIRE(!wire.out.empty());
    BOOST_TEST(wire.out.front() == 22);  // a handshake record
    const exa::Bytes noise(64, 0xff);
    wire.in = noise;
    BOOST_TEST(SSL_get_error(ssl.get(), SSL_do_handshake(ssl.get())) == SSL_ERROR_SSL);
    BOOST_TEST(wire.in.size() < noise.size());
    BOOST_TEST(take_tls_reason() != "unknown");
    BOOST_TEST(take_tls_reason() == "unknown");
}

BOOST_AUTO_TEST_SUITE_END()
