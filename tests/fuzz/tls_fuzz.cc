// Bytes from anyone at either end of a sealed link, before, during and after the handshake: an error, never a crash,
// and nobody is let in who does not hold the key.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "io/errc.h"
#include "io/link/tls_session.h"

namespace {

using namespace exa;
using io::link::TlsSession;

constexpr io::link::PskIdentity pair{KeyId{5}, PeerId{0xa}, PeerId{0xb}};
const Digest secret{1, 2, 3};

const auto& context() {
    static const auto shared = std::make_shared<const io::link::TlsContext>();
    return shared;
}

std::unique_ptr<TlsSession> acceptor() {
    return TlsSession::accept(context(), [](const io::link::PskIdentity& claimed) -> Result<Digest> {
        if (claimed != pair) return error(io::errc::wrong_key);
        return secret;
    });
}

void give(TlsSession& to, ByteView bytes) {
    const auto room = to.prepare();
    const std::size_t size = std::min(room.size(), bytes.size());
    std::copy_n(bytes.begin(), size, room.begin());
    to.commit(size);
}

// In pieces, while the other side still listens; true when it thinks that the handshake is done.
bool shake(TlsSession& with, ByteView bytes, std::size_t piece) {
    while (!bytes.empty()) {
        const std::size_t size = std::min({bytes.size(), piece, with.prepare().size()});
        give(with, bytes.first(size));
        bytes = bytes.subspan(size);
        const auto step = with.handshake();
        (void)with.take_output();
        if (!step) return false;
        if (step.value()) return true;
    }
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const ByteView bytes(data + 2, size - 2);
    const std::size_t piece = data[1] % 64 == 0 ? 4096 : data[1];
    if (piece == 0) return 0;
    if (data[0] % 4 == 0) {
        EXA_CHECK(!shake(*acceptor(), bytes, piece));
        return 0;
    }
    const auto dialler = TlsSession::dial(context(), pair, secret);
    EXA_CHECK(dialler->handshake().has_value());
    Bytes hello = dialler->take_output();
    if (data[0] % 4 == 1) {
        EXA_CHECK(!shake(*dialler, bytes, piece));
        return 0;
    }
    const auto other = acceptor();
    if (data[0] % 4 == 2) {
        // A ClientHello of ours with some bytes changed, then whatever follows.
        std::size_t at = 0;
        for (; at + 2 < bytes.size() && at < 24; at += 3)
            hello[(bytes[at] * 256U + bytes[at + 1]) % hello.size()] ^= bytes[at + 2];
        hello.insert(hello.end(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size())), bytes.end());
        EXA_CHECK(!shake(*other, hello, piece));
        return 0;
    }
    give(*other, hello);
    EXA_CHECK(other->handshake().has_value());
    give(*dialler, other->take_output());
    EXA_CHECK(dialler->handshake().value());
    give(*other, dialler->take_output());
    EXA_CHECK(other->handshake().value());
    give(*other, bytes);
    std::array<std::uint8_t, 256> plain;
    const auto read = other->read(plain);
    EXA_CHECK(!read || read.value() == 0);
    return 0;
}
